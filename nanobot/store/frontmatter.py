"""YAML at the head of a Markdown file."""

import re
from functools import cache
from typing import TYPE_CHECKING

from nanobot.errors import yaml_advice
from nanobot.ports import Frontmatter

if TYPE_CHECKING:
    from yaml import SafeLoader

MAX_SIZE = 64 * 1024
"""Characters. What is longer is not a head."""

_HEAD = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def read_frontmatter(text: str) -> Frontmatter:
    """The head of a text with plain newlines. Never raises: a broken head costs the fields."""
    if text.partition("\n")[0].rstrip() != "---":
        return Frontmatter({}, text)
    head = _HEAD.match(text, 0, MAX_SIZE)
    if head is None:
        return Frontmatter({}, text, "there is no second line ---")
    body = text[head.end() :]
    from yaml import YAMLError, load  # only a file with a head needs it

    try:
        fields = load(head[1], _loader())  # noqa: S506  a SafeLoader with fewer kinds of values
    except YAMLError as error:
        return Frontmatter({}, body, _explained(error))
    except RecursionError:
        return Frontmatter({}, body, "it is nested too deeply")
    if fields is None:
        return Frontmatter({}, body)
    if not isinstance(fields, dict):
        return Frontmatter({}, body, "it holds no lines of the form key: value")
    return Frontmatter({str(key): value for key, value in fields.items()}, body)


@cache
def _loader() -> "type[SafeLoader]":
    """A loader to which only true and false are booleans, and a date, a number, a merge key are words.

    It refuses aliases: a few hundred bytes of them stand for as many values as one likes.
    """
    from yaml import AliasEvent, Node, SafeLoader
    from yaml.composer import ComposerError

    class Loader(SafeLoader):
        yaml_implicit_resolvers: dict[str, list[object]] = {}  # noqa: RUF012  the name is PyYAML's

        def compose_node(self, parent: Node | None, index: int) -> Node | None:
            if self.check_event(AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # PyYAML has no types here
                raise ComposerError(None, None, "a value cannot be repeated with * here; write it out", mark)
            return super().compose_node(parent, index)

    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)$"), ["t", "f"])
    Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:null|~|)$"), ["n", "~", ""])
    return Loader


def _explained(error: Exception) -> str:
    """What is wrong, with the line in the file."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or not problem:
        return str(error).splitlines()[0]
    return f"line {mark.line + 2}: {yaml_advice(problem)}"  # the marks count from 0, below the first ---
