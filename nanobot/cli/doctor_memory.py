"""`nanobot doctor memory`: what a person should look at in what is remembered, line by line."""

import argparse
from typing import TYPE_CHECKING

from nanobot.cli.settings import config_of

if TYPE_CHECKING:  # nothing of it is needed for `nanobot --help`
    from collections.abc import Iterator

    from nanobot.i18n import Language
    from nanobot.memory.canaries import Leak
    from nanobot.memory.health import Ailment
    from nanobot.ops.checks.memory import Row
    from nanobot.ops.doctor import Check, Finding

_SHOWN = 80


def memory_checks(args: argparse.Namespace, language: "Language") -> "list[Check]":
    """Health, and that nobody sees another's memory."""
    import asyncio

    from nanobot.app.health import look_at_memory
    from nanobot.ops.checks import memory
    from nanobot.ops.doctor import Check

    looked = asyncio.run(look_at_memory(config_of(args)))

    def health() -> "Iterator[Finding]":
        return memory.health([_ailing(ailment, language) for ailment in looked.ailments], looked.lines)

    def privacy() -> "Iterator[Finding]":
        return memory.privacy([_leaking(leak) for leak in looked.leaks], looked.scopes)

    return [Check("doctor_memory.health", health), Check("doctor_memory.privacy", privacy)]


def _ailing(ailment: "Ailment", language: "Language") -> "Row":
    from nanobot.ops.checks.memory import Row

    other = ailment.other
    values = {
        "text": _short(ailment.line.text),
        "detail": _in_words(ailment, language),
        "other": other.place if other else "",
        "other_text": _short(other.text) if other else "",
    }
    return Row(ailment.kind, ailment.line.path if ailment.kind == "oversized" else ailment.line.place, values)


def _in_words(ailment: "Ailment", language: "Language") -> str:
    from nanobot.i18n import say

    match ailment.kind:
        case "secret":
            return say(f"memory.secret_{ailment.detail}", language)
        case "contradiction":
            return say(f"doctor_memory.differs_{ailment.detail}", language)
        case _:
            return ailment.detail


def _leaking(leak: "Leak") -> "Row":
    from nanobot.ops.checks.memory import Row

    return Row(f"leak_{leak.door}", leak.scope, {"other": leak.other, "text": _short(leak.line)})


def _short(text: str) -> str:
    from nanobot.channels.terminal.clean import printable

    words = printable(" ".join(text.split()))
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN].rstrip()} …"
