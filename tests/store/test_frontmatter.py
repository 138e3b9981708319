import pytest

from nanobot.store.documents import read_frontmatter


def test_values_are_words_unless_they_are_true_or_false() -> None:
    head = read_frontmatter(
        "---\nname: off\nupdated: 2026-11-02\nok: true\nnot: false\nn: 012\ntime: 12:30\nyes: no\nempty:\n---\nbody\n"
    )

    assert head.fields == {
        "name": "off",
        "updated": "2026-11-02",
        "ok": True,
        "not": False,
        "n": "012",
        "time": "12:30",
        "yes": "no",
        "empty": None,
    }
    assert head.body == "body\n"
    assert head.problem == ""


def test_keys_that_nobody_knows_are_kept() -> None:
    head = read_frontmatter("---\ntags: [a, b]\nrelations: [{kind: part_of, to: garden}]\n---\n")

    assert head.fields == {"tags": ["a", "b"], "relations": [{"kind": "part_of", "to": "garden"}]}


@pytest.mark.parametrize("text", ["", "just text\n", "text\n---\na: b\n---\n", "----\na: b\n", "- --\n"])
def test_a_text_without_a_head_is_all_body(text: str) -> None:
    head = read_frontmatter(text)

    assert (head.fields, head.body, head.problem) == ({}, text, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\nname: [\n---\nbody", "line 3"),
        ("---\na: b: c\n---\nbody", "line 2"),
        ("---\n\tname: x\n---\nbody", "line 2"),
        ("---\njust words\n---\nbody", "key: value"),
        ("---\n- a\n- b\n---\nbody", "key: value"),
        ("---\na: !!python/object/apply:os.system [x]\n---\nbody", "line 2"),
        ("---\na: \x07\n---\nbody", "character"),
        ("---\n? {a: b}\n: c\n---\nbody", "line 2"),
        ("---\n" + "[" * 3000 + "\n---\nbody", "deep"),
    ],
)
def test_a_broken_head_costs_the_fields_and_says_where(text: str, problem: str) -> None:
    head = read_frontmatter(text)

    assert head.fields == {}
    assert head.body == "body"
    assert problem in head.problem


def test_a_head_that_never_ends_is_a_text_with_a_problem() -> None:
    head = read_frontmatter("---\nname: x\n")

    assert head.fields == {}
    assert head.body == "---\nname: x\n"
    assert "---" in head.problem


def test_a_head_that_would_grow_without_end_costs_the_fields() -> None:
    rows = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    head = read_frontmatter("---\n" + "\n".join(rows) + "\n---\nbody\n")

    assert (dict(head.fields), head.body) == ({}, "body\n")
    assert head.problem == "line 3: a value cannot be repeated with * here; write it out"
