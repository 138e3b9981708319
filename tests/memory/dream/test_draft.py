"""Operations on a draft against a plain list of facts, and what is read of any answer."""

import json
from dataclasses import dataclass
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import Scope
from nanobot.memory.dream.draft import Draft, apply
from nanobot.memory.dream.operations import Proposal, RefusedOperation, read_reply
from nanobot.memory.facts import bare, compared
from nanobot.memory.markdown import body_of, facts_of, field_of, note_text
from nanobot.ports import Reply
from nanobot.store.documents import read_frontmatter
from tests.memory.dream.bedroom import MEMORY

DAY = date(2026, 3, 2)
WORDS = ("oak", "ash", "elm", "fern", "moss")
facts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True).map(" ".join)
proposals = st.one_of(
    st.builds(
        Proposal, do=st.just("add"), file=st.just("MEMORY.md"), text=facts, section=st.sampled_from(["", "Trees"])
    ),
    st.builds(Proposal, do=st.just("replace"), file=st.just("MEMORY.md"), old=facts, text=facts),
    st.builds(Proposal, do=st.just("remove"), file=st.just("MEMORY.md"), old=facts),
)


@dataclass
class Naive:
    """The facts of one file as a list: each stands there once."""

    facts: list[str]

    def apply(self, proposal: Proposal) -> bool:
        """Whether it could be done."""
        if proposal.do == "add":
            self.facts += [] if proposal.text in self.facts else [proposal.text]
            return True
        if proposal.old not in self.facts:
            return False
        place = self.facts.index(proposal.old)
        if proposal.do == "remove" or (proposal.text in self.facts and proposal.text != proposal.old):
            del self.facts[place]
        else:
            self.facts[place] = proposal.text
        return True


@given(st.lists(facts, unique=True, max_size=4), st.lists(proposals, max_size=12))
def test_operations_do_what_they_would_to_a_list_and_nothing_to_the_rest(
    begin: list[str], wanted: list[Proposal]
) -> None:
    around = "# Memory\n<!-- oak\n- ash\n-->\n\n## Shrubs\n"
    text = around + "".join(f"- {fact}\n" for fact in begin)
    draft = Draft.of(Scope.owner(), {MEMORY: text.encode()})
    naive = Naive(list(begin))
    for proposal in wanted:
        try:
            draft = apply(proposal, draft, DAY).draft
            is_done = True
        except RefusedOperation:
            is_done = False
        assert is_done == naive.apply(proposal)

    after = draft.text(MEMORY)
    assert sorted(bare(line) for _, line in facts_of(after)) == sorted(naive.facts)
    assert after.startswith(around.rstrip("\n"))
    assert (draft.edits() == {}) == (after == text)


@given(
    st.lists(st.sampled_from(["- one", "- two", "", "## h", "text", "```", "<!--", "-->", "---"]), max_size=12), facts
)
def test_what_is_added_is_there_and_every_other_line_stays(lines: list[str], fact: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    draft = Draft.of(Scope.owner(), {MEMORY: text.encode()})

    after = apply(Proposal(do="add", file="MEMORY.md", text=fact), draft, DAY).draft.text(MEMORY)

    left = after.splitlines()
    assert all(line in left for line in lines if line)
    assert any(compared(line) == compared(fact) for line in left)


@given(
    st.text(max_size=80),
    st.text(alphabet="ab: '\"#-{}[]&*!|>%@`\\é中true1.", max_size=40),
    st.text("ab: '\"#", max_size=30),
)
def test_the_head_of_a_note_says_what_was_meant_whatever_it_is(body: str, summary: str, mine: str) -> None:
    clean = " ".join(summary.split())
    other = json.dumps(mine)  # ASCII only
    old = f"---\nmine: {other}\nlist:\n- a\n- b\nsummary: old\n---\nold\n"

    text = note_text(old, body, name="n", kind="true", summary=clean, day="2026-03-02")

    head = read_frontmatter(text)
    assert not head.problem
    assert head.fields["type"] == "true"
    assert head.fields["summary"] == clean
    assert head.fields["mine"] == json.loads(other)
    assert head.fields["list"] == ["a", "b"]
    assert body_of(text).split() == body.split()
    assert field_of(text, "updated") == "2026-03-02"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["add", "MEMORY.md", "1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["operations", "do", "file", "text", "old", "from", "note", "notes", "summary", "type", "new"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


@given(json_values.map(json.dumps) | st.text(max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_any_answer_is_read_or_is_told_to_be_none(answer: str, before: str, behind: str) -> None:
    for text in (answer, f"{before}{answer}{behind}", f"{before}\n```json\n{answer}\n```{behind}"):
        found = read_reply(Reply(text))
        assert found is None or all(proposal.do and isinstance(proposal.file, str) for proposal in found.proposals)
