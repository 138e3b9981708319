"""No text of strangers takes a parser more than a linear time: 100 kB of the worst end within a second, not hours.

The limit of processor time is a guard against hanging, far above what a slow machine needs.
"""

import multiprocessing
import resource
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path, PurePosixPath

import pytest

SIZES = (3_000, pytest.param(100_000, marks=pytest.mark.slow))
SECONDS = 60
"""Of processor time for all texts of one parser."""

WORDS = ("a", "ab ", "e", "eeed", "ing", "ational", "é", "İ", "\u0301a", "ﷺ", "你", "从现在起", "\u200b", "😀")
MARKS = ("`", "``` \n", "~~~\n", "[", "[a](", "](", "<", "<!--", "-->", "&", "|a", "|---|\n", "*", "**", "_", "> ",
         "1. ", "\\(", "$", "||", "- a\n", "\n", " ", "\t", "\r", "#")  # fmt: skip
TALK = ("if a, ", "when you ", "always ", "remember that ", "forget ", "记住", "password is ", "密码是", "eyJ", "sk-",
        "a.b@", "http://a.b/", "bearer ")  # fmt: skip
DAYS = ("on monday ", "3 days ago ", "next week ", "上周二", "下个月", "三天前", "1月", "1/", "2026-")
FENCES = ("```a\nb\n```\n\nc\n\n", "```a\nb\n", "~~~\n", "```\n{", "```" + " " * 50 + "\nx\n", "{\n", "\n", "`")
KEYS = ("-----BEGIN PRIVATE KEY-----\n", "-----BEGIN A PRIVATE KEY-----\nAb3d" + "Ef5h" * 8 + "\n", "-----END A-----\n")
BLOCKS = ("<context>", "</context>", "<context", "<episodes></context>", "<function=a", "<function=a>",
          "<invoke name='a'>", "<arg_key>", "a<arg_key>b</arg_key>", "<arg_key>a</arg_key><arg_value>b",
          "<think>", "< ", "<")  # fmt: skip
NAMES = (
    "(",
    "]",
    "\u202e",
    "a\u0301\u0301\u0301",
    "\u200d",
    "👨\u200d",
    "🏴\U000e0067",
    "\uff21",
    "\u2028",
    "<|",
    "[INST",
    "ﬁ",
)
PLACES = ("@", "@a ", "@a/b", '@"a', "@<1> ", "[[a", "[[a]]", "http://", "www.a.", "a.b/c ", "\\", "'", '"')
LINES = ("a\n", "\n", "ab\n", "a\r\n", "\r\n", "\t a\n", "~~~\n", "a b\n", "- a\n", "abab", "aB\n")
HEADS = ("[", "{", "- ", "- a\n", "? ", "a: b\n", "&a [*a, ", "'", '"', "| ", "!!a ", "key: [a, b]\n", "\t", "#")
PASTES = (
    "<", "</a>", "<a>\n", "<a href='", "<|", "[", "[]", "{", '{"a":', '["a","', '"', '\\"', '"a', "“", "„a", "„”“",
    "«»»", "> a\n", "a\n> b\n", "```", "a: b\n", "a: b\na: b\na: b\n> q\n", "a:\n", "a:\n\n", "From: a\n", "from",
    "de: a@b.c\n", "x-a: b\n", "on 1 wrote ", "on 1\n", "On 1 Ben wrote:\n", "wrote:", "1", "1:11",
    "1.1.11, 11:11 - ", "[1.1.11 ", "[1:11] a: b\n", "a, ", "a, [1:11", "a — ", "(11111) ", "a 1:11\n", "SYSTEM ",
    "system:", "-", "*_", "a@", "一", "一：一\n", "\n", " ", "\r", "\t",
)  # fmt: skip


def _frontmatter(text: str) -> object:
    from nanobot.store.documents import read_frontmatter

    return read_frontmatter(f"---\n{text[:64_000]}\n---\n")


def _words(text: str) -> object:
    from nanobot.nlp.words import words_of

    return words_of(text)


def _days(text: str) -> object:
    from nanobot.nlp.dates import days_in, without_days

    return days_in(text, date(2026, 12, 1)), without_days(text, date(2026, 12, 1))


def _secrets(text: str) -> object:
    from nanobot.nlp.secrets import redact

    return redact(text)


def _private_keys(text: str) -> object:
    from nanobot.nlp.secrets import _private_keys

    return list(_private_keys(text * 60))  # a file may be longer than what is said


def _calls(text: str) -> object:
    from nanobot.models.calls import announced_call
    from nanobot.ports import ToolSpec

    return announced_call(text * 20 + "Done.", [ToolSpec("exec", "", {})])


def _reasoning(text: str) -> object:
    from nanobot.models.wire import ExtraFields, ExtraRoom

    fields = ExtraFields(ExtraRoom())
    for index, char in enumerate(text * 3):
        fields.add({"reasoning": char, "reasoning_details": [{"index": index, "type": "t", "text": char}]}, ())
    return fields.whole()


def _wishes(text: str) -> object:
    from nanobot.nlp.wishes import forget_request, remember_request

    return remember_request(text), forget_request(text)


def _memory(text: str) -> object:
    from nanobot.memory.markdown import headings, without_comments, without_index

    return without_comments(without_index(f"{text}\n<!-- -->")), headings(text.split("\n"))


def _telegram(text: str) -> object:
    from nanobot.channels.telegram.markdown import telegram_parts

    return telegram_parts(text)


def _discord(text: str) -> object:
    from nanobot.channels.discord.markdown import discord_parts

    return discord_parts(text)


def _pasted(text: str) -> object:
    from nanobot.nlp.pasted import own_part

    return own_part(text), own_part(text.replace("\n", " ")), own_part(f'“ " [ {{ < „ {text} ” "')


def _terminal(text: str) -> object:
    from io import StringIO

    from rich.console import Console

    from nanobot.channels.terminal.markdown import Rendered

    Console(file=(shown := StringIO()), width=60).print(Rendered(text[:30_000]), crop=False)
    return shown


def _expressions(text: str) -> object:
    from nanobot.tools.search import GrepArguments, _compiled

    return _compiled(GrepArguments("(a|aa)+$|(.*)*x")).search(text)


def _names(text: str) -> object:
    from nanobot.text import as_name, as_speaker, canonical, cleaned, escaped, is_treacherous, narrow

    return [read(text) for read in (as_name, as_speaker, canonical, cleaned, escaped, is_treacherous, narrow)]


def _mentioned(text: str) -> object:
    from nanobot.channels.terminal.mentions import mentions
    from nanobot.memory.notes import make_note
    from nanobot.ports import DocumentText, Frontmatter

    note = make_note("a.md", DocumentText(text), Frontmatter({}, text, ""), None)
    return list(mentions(text, Path("/nonexistent"))), note.links


def _answers(text: str) -> object:
    from nanobot.core.commands import _COMMAND
    from nanobot.i18n import consent, leaves, picked
    from nanobot.tools.shell import AllowList

    allowed = AllowList(["ls", "git status"]).words(f"ls -{text[:8_000]}", Path("/w"), Path("/w"))
    return consent(text), leaves(text), picked(["Yes", "No"], text), _COMMAND.match(f"/{text}"), allowed


def _calls_as_text(text: str) -> object:
    from nanobot.models import calls

    forms = (calls._TAGGED, calls._INVOKED, calls._KEY_AND_VALUE)
    return [form.findall(text) for form in forms], calls._KEYED.match(text)


def _minutes(text: str) -> object:
    from nanobot.memory.episodes.transcript_text import _without_remembered

    return _without_remembered(text)


def _shown(text: str) -> object:
    from nanobot import text as shown

    return shown.fenced(text), shown.code(text), shown.one_line(text), shown.visible(text), shown.name(text)


def _edited(text: str) -> object:
    from nanobot.errors import ToolError
    from nanobot.tools.writing import replace

    half = text[: len(text) // 2]
    for old in (f"{half}x", f"{half.upper()}x\n", f" {half} ", half, text[:10], "abab" * 40 + "\n"):
        with suppress(ToolError):
            replace(text, old, "new", everywhere=True, newline="\n")
    return None


def _differences(text: str) -> object:
    from nanobot.tools.writing import _changes

    lines = text.split("\n")
    cycled = [str(number * number % 149) for number in range(len(text) // 4)]  # no line is rare, none is frequent
    return _changes(lines, lines[::-1]), _changes(cycled, cycled[7:] + lines), _changes(lines, [*lines, "x"])


def _patterns(text: str) -> object:
    from nanobot.errors import ToolError
    from nanobot.tools import schema
    from nanobot.tools.search import FindArguments, GrepArguments, matches

    with suppress(ToolError):
        wanted = schema.parse({"pattern": text}, FindArguments)
        matches(PurePosixPath("/".join(["a" * 200] * 20)), wanted.pattern)
    with suppress(ToolError):
        _ = schema.parse({"pattern": text, "files": text}, GrepArguments)
    return None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("parse", "pieces"),
    [
        (_frontmatter, HEADS),
        (_words, WORDS),
        (_days, (*DAYS, *WORDS)),
        (_secrets, (*TALK, *MARKS)),
        (_private_keys, KEYS),
        (_calls, FENCES),
        (_reasoning, ("a",)),
        (_wishes, (*TALK, *WORDS)),
        (_memory, MARKS),
        (_telegram, MARKS),
        (_discord, MARKS),
        (_pasted, (*PASTES, *MARKS, *WORDS)),
        pytest.param(_terminal, MARKS, marks=pytest.mark.slow),
        (_expressions, WORDS),
        (_names, (*NAMES, *WORDS)),
        (_mentioned, (*PLACES, *MARKS)),
        (_answers, (*WORDS, *PLACES)),
        (_calls_as_text, BLOCKS),
        (_minutes, BLOCKS),
        (_shown, (*MARKS, *NAMES)),
        (_edited, (*LINES, *FENCES)),
        (_differences, LINES),
        (_patterns, ("*", "*a", "**/", "?", "[a", "[!a]", "a/", "{a,")),
    ],
)
def test_the_worst_text_is_read_in_linear_time(
    parse: Callable[[str], object], pieces: tuple[str, ...], size: int
) -> None:
    reader = multiprocessing.get_context("fork").Process(target=_read_all, args=(parse, pieces, size))
    reader.start()
    reader.join()
    assert reader.exitcode == 0


def _read_all(parse: Callable[[str], object], pieces: tuple[str, ...], size: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))  # beyond it the process is killed
    for piece in pieces:
        parse((piece * (size // len(piece) + 1))[:size])
