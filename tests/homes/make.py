"""Write a home as today's version leaves it, and pack it: `python -m tests.homes.make NAME`.

Homes are kept as they were written: a later version has to open each of them. Dates in them are those of their making.
"""

import asyncio
import json
import re
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from nanobot.workspace import Home
from tests.fakes.gateway import configure, nanobot
from tests.fakes.openai_answers import Answer, say
from tests.fakes.openai_server import FakeOpenAI

FOLDER = Path(__file__).parent
TALK = ("My sister is called Eva.", "I am allergic to hazelnuts.", "我喜欢喝茶。")


def remembers(body: dict[str, Any]) -> Answer:
    """A summary that says what was said; a dream that adds each line of it."""
    shown = str(body["messages"][-1]["content"])
    if "<episodes>" not in shown:
        said = re.findall(r"^#(\d+) .*?\[owner\] \w+ \(local\): (\S.*)$", shown, re.MULTILINE)
        return say("\n".join(f"- {text}\nFACT [{number}] (personal, 1.0) {text}" for number, text in said))
    facts = re.findall(r'"number": "(\d+\.\d+)", "origin": "owner", "text": "([^"]+)"', shown)
    rows = ", ".join(
        f'{{"do": "add", "file": "USER.md", "text": "{text}", "from": ["{number}"]}}' for number, text in facts
    )
    return say(f'{{"operations": [{rows}]}}')


async def make(home: Path) -> None:
    """Talk, remember, dream, take something back, edit a file by hand."""
    async with FakeOpenAI() as endpoint:
        endpoint.otherwise, endpoint.aside = (lambda _: say("I see.")), remembers
        configure(home, endpoint.base_url)
        for text in TALK:
            await _do(home, "chat", "-m", text)
        await _do(home, "chat", "-m", "hello", "--session", "work")
        await _do(home, "chat", "-m", "/remember The spare key is at the neighbour's.")
        await _do(home, "dream")
        soul = Home(home).workspace / "SOUL.md"
        soul.write_text(f"{soul.read_text(encoding='utf-8')}\n- Answer briefly.\n", encoding="utf-8")
        await _do(home, "chat", "-m", "/remember I have a red bike.")
        newest = json.loads(await _do(home, "memory", "log", "--json"))["versions"][0]["id"]
        await _do(home, "memory", "undo", newest)
        await _do(home, "chat", "-m", "The plumber comes on Friday.")
    configure(home, "http://127.0.0.1:9/v1")


async def _do(home: Path, *arguments: str) -> str:
    done = await nanobot(home, *arguments)
    print(*arguments, "->", done.code, done.out.strip()[:200], done.err.strip()[:200])
    assert done.code == 0
    return done.out


def main(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        asyncio.run(make(home))
        with tarfile.open(FOLDER / f"{name}.tar.xz", "w:xz") as packed:
            packed.add(home, "home")


if __name__ == "__main__":
    main(sys.argv[1])
