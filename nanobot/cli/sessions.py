"""`nanobot sessions`: list, show, search, export and delete conversations."""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from nanobot.cli.settings import agreed, config_of, language_here
from nanobot.commands.session import Speakers, around, as_markdown, as_text, day_and_time
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.sessions import lines
from nanobot.sessions.store import SessionFiles, SessionManager
from nanobot.store.lock import WorkspaceLock
from nanobot.store.private import utf8, write_private
from nanobot.store.state import StoredSessionModels
from nanobot.text import printable
from nanobot.transcript import Message, SessionInfo
from nanobot.workspace import Workspace

NOTHING_FOUND = 1

_WIDEST = 40  # characters of the column of names; a longer name moves only its own row


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")

    listing = actions.add_parser("list", help="print all conversations, the latest first")
    listing.add_argument("--json", action="store_true", help="one JSON object a line")
    listing.set_defaults(func=list_all)

    showing = actions.add_parser("show", help="print a conversation, resets included")
    showing.add_argument("key", metavar="SESSION", help="as `nanobot sessions list` prints it")
    showing.add_argument("--json", action="store_true", help="one JSON object a line, as in the file")
    showing.set_defaults(func=show)

    searching = actions.add_parser("search", help="find messages that hold all of some words")
    searching.add_argument(
        "words",
        metavar="TEXT",
        nargs="+",
        help="in any order, capitals or not; a phrase in double quotes stays one",
    )
    searching.add_argument("--json", action="store_true", help="one JSON object a line")
    searching.set_defaults(func=search)

    exporting = actions.add_parser("export", help="write a conversation to a file")
    exporting.add_argument("key", metavar="SESSION", help="as `nanobot sessions list` prints it")
    exporting.add_argument("--format", choices=("markdown", "jsonl"), default="markdown", help="default: markdown")
    exporting.add_argument("-o", "--output", metavar="FILE", help="a new file (default: standard output)")
    exporting.set_defaults(func=export)

    deleting = actions.add_parser("delete", help="delete a conversation for good")
    deleting.add_argument("key", metavar="SESSION", help="as `nanobot sessions list` prints it")
    deleting.add_argument("--yes", action="store_true", help="do not ask")
    deleting.set_defaults(func=delete)


def list_all(args: argparse.Namespace) -> int:

    infos, language = _infos(_workspace(args)), _language(args)
    if args.json:
        _print_json({"key": info.key, "updated": info.updated, "size": info.size} for info in infos)
        return 0
    width = min(max((len(_shown(info.key)) for info in infos), default=0), _WIDEST)
    for info in infos:
        print(f"{_shown(info.key):{width}}  {day_and_time(info.updated, language)}  {_size(info.size):>9}")
    if not infos:
        print(say("shell.no_sessions", language))
    return 0


def show(args: argparse.Namespace) -> int:

    workspace = _workspace(args)
    messages = _messages(workspace, _meant(workspace, args.key, bare=True))
    if args.json:
        print(lines.encode(messages)[0].decode(), end="")
    else:
        for block in as_text(messages, _language(args)):
            print(printable(block))
    return 0


def search(args: argparse.Namespace) -> int:
    """Print every message that holds all the words; 1 if none does."""

    workspace, words = _workspace(args), _words(args.words)
    language: Language = "en" if args.json else _language(args)  # programs need not know who reads
    found = False
    for info in _infos(workspace):
        speakers = Speakers(language)
        for message in _messages(workspace, info.key):
            speaker = speakers.of(message)
            content = (message.content or "").casefold()
            if not all(word in content for word in words):
                continue
            found = True
            if args.json:
                row = {"session": info.key, "id": message.id, "at": message.at, "speaker": speaker}
                _print_json([row | {"content": message.content}])
            else:
                print(f"{_shown(info.key)}  {day_and_time(message.at, language)}  {printable(speaker)}")
                print(f"    {printable(around(message.content or '', words[0]))}")
    if not found and not args.json:
        print(say("shell.nothing_found", language))
    return 0 if found else NOTHING_FOUND


def _words(typed: Sequence[str]) -> Sequence[str]:
    """Return the search terms: words, and phrases in double quotes."""

    found = [phrase or word for phrase, word in re.findall(r'"([^"]*[^"\s][^"]*)"|(\S+)', " ".join(typed).casefold())]
    return found or [" ".join(typed).casefold()]


def export(args: argparse.Namespace) -> int:

    workspace = _workspace(args)
    data = _exported(workspace, _meant(workspace, args.key, bare=True), args.format, _language(args))
    if args.output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return 0
    path = Path(args.output).expanduser()
    if path.exists():
        raise StoreError(f"{path} exists already; name a new file.")
    write_private(path, data)
    print(say("shell.written", _language(args), path=path), file=sys.stderr)
    return 0


def delete(args: argparse.Namespace) -> int:

    workspace, language = _workspace(args), _language(args)
    key = _meant(workspace, args.key, bare=False)  # what is gone is gone: it must be named in full
    name, count = _shown(key), len(_messages(workspace, key))
    if not args.yes:
        if not sys.stdin.isatty():
            raise StoreError(f"Nothing was deleted: say --yes to delete {name} without being asked.")
        if not agreed(say("shell.delete", language, name=name, count=f"{count:,}")):
            print(say("shell.not_deleted", language))
            return 1
    with WorkspaceLock(workspace):
        asyncio.run(_delete(workspace, key))
    print(say("shell.deleted", language, name=name))
    return 0


async def _delete(workspace: Workspace, key: str) -> None:

    await SessionManager(workspace).delete(key)
    await StoredSessionModels(workspace).set(key, None)


def _exported(workspace: Workspace, key: str, form: str, language: Language) -> bytes:

    messages = _messages(workspace, key)
    if form == "markdown":
        return utf8("".join(as_markdown(key, messages, language)))
    return SessionFiles(workspace).path(key).read_bytes()  # as it is, marks and all


def _workspace(args: argparse.Namespace) -> Workspace:

    return Workspace(config_of(args).workspace)


def _language(args: argparse.Namespace) -> Language:
    return language_here(config_of(args).language)


def _infos(workspace: Workspace) -> Sequence[SessionInfo]:

    return asyncio.run(SessionManager(workspace).list())


def _messages(workspace: Workspace, key: str) -> Sequence[Message]:

    return asyncio.run(SessionManager(workspace).messages(key))


def _meant(workspace: Workspace, typed: str, *, bare: bool) -> str:
    """The key of the session that a person named. Raises StoreError if it is not exactly one.

    That is its key, the name that `list` prints, or, if `bare`, that without its channel.
    """

    if SessionFiles(workspace).path(typed).is_file():
        return typed
    known = [info.key for info in _infos(workspace)]
    fits = [key for key in known if _shown(key) == typed]
    if bare and not fits:
        fits = [key for key in known if typed in (key.partition(":")[2], _shown(key).partition(":")[2])]
    if len(fits) != 1:
        raise StoreError(_unknown(typed, known))
    return fits[0]


def _unknown(typed: str, known: Sequence[str]) -> str:

    names = [_shown(key) for key in known]
    near = dict.fromkeys([*(name for name in names if typed in name), *get_close_matches(typed, names)])
    meant = f" Did you mean {' or '.join(list(near)[:3])}?" if near else ""
    return f"There is no session {_shown(typed)}.{meant} `nanobot sessions list` shows all."


def _shown(key: str) -> str:
    """A key as one line that cannot drive the terminal."""

    return printable(key).replace("\n", "\\n").replace("\t", "\\t")


def _size(count: int) -> str:
    return f"{count:,} B" if count < 10_000 else f"{count / 1000:,.0f} kB"


def _print_json(rows: Iterable[dict[str, object]]) -> None:

    for row in rows:
        print(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace").decode())
