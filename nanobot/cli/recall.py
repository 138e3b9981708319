"""`nanobot recall`: search everything that was ever said or written down."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from nanobot.cli.settings import config_of, language_here
from nanobot.commands.memory import source_of
from nanobot.config import Config
from nanobot.errors import WorkspaceError
from nanobot.i18n import Language, say
from nanobot.memory.recall.index.indexer import open_recall
from nanobot.memory.recall.index.vectors import embedder_named
from nanobot.memory.recall.ports import Hit, RecallIndex, RecallKeeper
from nanobot.memory.recall.search import LocalRecall
from nanobot.memory.recall.service import written_reader
from nanobot.nlp.words import words_of
from nanobot.store.documents import read_frontmatter
from nanobot.text import printable
from nanobot.workspace import Workspace

if TYPE_CHECKING:  # the index is opened only to be searched
    Search = Callable[[str, int], Sequence[Hit]]
    """The hits for a query, at most so many."""

NOTHING_FOUND = 1
_DEFAULT_HITS = 10
_BATCH = ["-"]


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    parser.description = (
        "Search all conversations, summaries, notes and remembered facts of the workspace, whoever they"
        " belong to: by words, people and dates, in English and Chinese."
    )
    parser.add_argument("words", nargs="+", metavar="WORDS", help="what to look for; with --json, - reads queries")
    parser.add_argument("-k", type=_positive, default=_DEFAULT_HITS, metavar="N", help="at most N hits (default: 10)")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a list of objects; with -, one such line for each line of standard input",
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print what was found, the best first; 1 if nothing was."""

    config = config_of(args)
    workspace, language = Workspace(config.workspace), language_here(config.language)
    if not workspace.root.is_dir():
        raise WorkspaceError(f"There is no workspace at {workspace.root} yet; `nanobot chat` makes one.")
    index, keeper = open_index(config, workspace)
    try:
        keeper.sync(_progress(language) if sys.stderr.isatty() else None)
        recall = LocalRecall(index)
        now = datetime.now().astimezone()
        found = _answer(args, lambda query, k: recall.search(query, now=now, k=k), language)
    finally:
        keeper.close()
    return 0 if found else NOTHING_FOUND


def open_index(config: Config, workspace: Workspace) -> tuple[RecallIndex, RecallKeeper]:
    """The index of everything. A gateway may be at work on it at the same time."""

    return open_recall(workspace, words_of, written_reader(read_frontmatter), embedder_named(config.memory.semantic))


def _answer(args: argparse.Namespace, search: "Search", language: Language) -> bool:
    """Print it; whether anything was found. Of a batch, each answer says that for itself."""
    if args.json and args.words == _BATCH:
        _answer_lines(lambda query: search(query, args.k))
        return True
    if args.json:
        hits = search(" ".join(args.words), args.k)
        print(_json(hits))
        return bool(hits)
    every = search(" ".join(args.words), args.k + 1)
    hits = [hit for hit in every if not hit.is_beside] or every
    _print(hits[: args.k], language)
    if len(hits) > args.k:
        print(say("shell.recall_more", language, count=args.k, more=2 * args.k))
    return bool(hits)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _answer_lines(search: Callable[[str], Sequence[Hit]]) -> None:
    """One answer for each query, as soon as it is there."""
    for line in sys.stdin.buffer:
        print(_json(search(line.decode(errors="replace").strip())), flush=True)


def _json(hits: Sequence[Hit]) -> str:

    found = [
        {
            "session": hit.said.session,
            "message": hit.said.message,
            "at": hit.said.at,
            "speaker": hit.said.speaker or hit.said.role,
            "text": hit.said.text,
            "score": hit.score,
            "source": hit.said.source,
        }
        for hit in hits
    ]
    return json.dumps(found, ensure_ascii=False)


def _print(hits: Sequence[Hit], language: Language) -> None:

    if not hits:
        print(say("shell.recall_nothing", language))
    for hit in hits:
        said = hit.said
        print(f"{said.at[:16].replace('T', ' ')} · {_line(source_of(said, language))}")
        for line in printable(said.text).splitlines():
            print(f"    {line}")
        for other in hit.related:
            kind = other.kind or say("recall.related", language)
            print(f"    → {_line(f'{kind} {other.name}: {other.text}')}")


def _line(name: str) -> str:

    return " ".join(printable(name).split())


def _progress(language: Language) -> Callable[[int, int], None]:

    def told(done: int, total: int) -> None:
        words = say("shell.recall_reading", language, share=done * 100 // max(total, 1))
        print(f"\r{words}", end="\n" if done >= total else "", file=sys.stderr, flush=True)

    return told
