from nanobot.memory.markdown import MARKER, index_line, with_index, without_index

ONE = index_line("project", "greenhouse wiring", "greenhouse.md", "2026-11-02")
TWO = index_line("note", "how the report looks", "weekly-report.md", "2026-10-11")


def test_a_line_says_what_kind_what_about_where_and_when() -> None:
    assert ONE == "- project: greenhouse wiring (`greenhouse.md`) · updated 2026-11-02"


def test_the_index_comes_last_behind_a_blank_line() -> None:
    assert with_index("# Memory\n- a\n", [ONE, TWO]) == f"# Memory\n- a\n\n{MARKER}\n{ONE}\n{TWO}\n"
    assert with_index("# Memory\n- a", [ONE]) == f"# Memory\n- a\n\n{MARKER}\n{ONE}\n"
    assert with_index("", [ONE]) == f"{MARKER}\n{ONE}\n"


def test_an_old_index_is_replaced() -> None:
    old = with_index("- a\n", [ONE, TWO])

    assert with_index(old, [TWO]) == f"- a\n\n{MARKER}\n{TWO}\n"


def test_without_notes_there_is_no_index() -> None:
    assert with_index("- a\n", []) == "- a\n"
    assert MARKER not in with_index(with_index("- a\n", [ONE]), [])


def test_what_somebody_wrote_below_the_marker_moves_above_it() -> None:
    text = f"- a\n\n{MARKER}\n{ONE}\n\n- mine (`x.md`)\n{TWO}\nalso mine\n"

    assert with_index(text, [ONE]) == f"- a\n\n- mine (`x.md`)\nalso mine\n\n{MARKER}\n{ONE}\n"


def test_two_markers_from_a_merge_become_one() -> None:
    assert with_index(f"- a\n\n{MARKER}\n{ONE}\n{MARKER}\n{TWO}\n", [ONE]) == f"- a\n\n{MARKER}\n{ONE}\n"


def test_line_ends_stay_what_they_are() -> None:
    text = with_index("# Memory\r\n- a\r\n", [ONE])

    assert text == f"# Memory\r\n- a\r\n\r\n{MARKER}\r\n{ONE}\r\n"
    assert with_index(text, [ONE]) == text
    assert without_index(text) == "# Memory\r\n- a\r\n\r\n"


def test_a_byte_order_mark_stays_at_the_beginning() -> None:
    text = with_index("\ufeff", [ONE])

    assert text == f"\ufeff{MARKER}\n{ONE}\n"
    assert with_index(text, [ONE, TWO]) == f"\ufeff{MARKER}\n{ONE}\n{TWO}\n"
