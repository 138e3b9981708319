"""The kinds of values that are files or folders."""

from dataclasses import dataclass
from pathlib import Path

from nanobot.config.kinds import Schema
from nanobot.config.nodes import Node
from nanobot.config.values import text

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class FilePath:
    """A file or folder; a relative one starts where the configuration file lies."""

    words: str = "a path"
    secret: bool = False

    def read(self, node: Node) -> Path:
        typed = text(self.words).read(node)
        try:
            return Path(node.place.folder, Path(typed).expanduser()).absolute()
        except RuntimeError:
            node.fail(f"begins with ~, but that home folder is unknown; it is {node}")

    def show(self, value: Path) -> str:
        return str(value)

    def schema(self) -> Schema:
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class Weights:
    """The embedded model, or a file."""

    words: str = "embedded, or the path of a GGUF file"
    secret: bool = False

    def read(self, node: Node) -> str:
        typed = text(self.words).read(node)
        return typed if typed == EMBEDDED else str(FilePath().read(node))

    def show(self, value: str) -> str:
        return value

    def schema(self) -> Schema:
        return {"type": "string"}
