"""A workspace on disk with the built-in tools, and a person who answers questions."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.errors import ToolError
from nanobot.messages import Address, Button
from nanobot.ports import Caller, ToolResult
from nanobot.tools.approval import Approval
from nanobot.tools.builtin import builtin_tools
from nanobot.tools.paths import Sandbox
from nanobot.tools.policy import ExecPolicy, ToolPolicy
from nanobot.tools.writing import Judge, Keep, OnNote, Remembering
from nanobot.workspace import Workspace

TERMINAL = Address("cli", "default")
OWNER = Caller(TERMINAL, OWNER_IN_TERMINAL, "turn-1", "en")
ADA = Caller(
    Address("telegram", "12"),
    Authority(Role.MEMBER, Scope.person("telegram", "12"), Origin.PERSON),
    "turn-2",
    "en",
)
IN_GROUP = Caller(
    Address("telegram", "-100"),
    Authority(Role.OWNER, Scope.group("telegram", "-100"), Origin.OWNER),
    "turn-3",
    "en",
)
GUEST = Caller(Address("telegram", "99"), Authority(Role.GUEST, Scope.owner(), Origin.PERSON), "turn-4", "en")
SECRET = "the-secret-that-must-not-leave"


class Person:
    """An Asker whose answers are given beforehand; remembers what was asked."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self.questions: list[str] = []
        self.choices: Sequence[Button] = ()
        self.meanwhile: Callable[[], object] = lambda: None

    async def ask(self, caller: Caller, question: str, choices: Sequence[Button]) -> str:
        self.questions.append(question)
        self.choices = choices
        self.meanwhile()
        return self.answers.pop(0)


@dataclass
class Desk:
    """Everything a test of tools needs. `outside` is a folder beside the workspace that holds the secret."""

    base: Path
    allowed_dirs: Sequence[Path] = ()
    closed: Sequence[Path] = ()
    policy: ExecPolicy = field(default_factory=ExecPolicy)
    judge: Judge | None = None
    on_note: OnNote | None = None
    keep: Keep | None = None
    person: Person = field(default_factory=Person)

    def __post_init__(self) -> None:
        self.root = self.base / "ws"
        self.outside = self.base / "ws_evil"
        for folder in (self.root / "memory", self.outside):
            folder.mkdir(parents=True, exist_ok=True)
        (self.outside / "secret.txt").write_text(SECRET)
        self.tools = {
            tool.spec.name: tool
            for tool in builtin_tools(
                Sandbox(Workspace(self.root), self.allowed_dirs, self.closed),
                policy=ToolPolicy(Approval(self.person), self.policy),
                remembering=Remembering(self.judge, self.on_note, self.keep),
            )
        }

    async def call(self, name: str, caller: Caller = OWNER, /, **arguments: object) -> ToolResult:
        return await self.tools[name].run(arguments, caller)

    async def text(self, name: str, caller: Caller = OWNER, /, **arguments: object) -> str:
        return (await self.call(name, caller, **arguments)).text

    async def refusal(self, name: str, caller: Caller = OWNER, /, **arguments: object) -> str:
        """Why a call is refused. Fails if it is not."""
        try:
            result = await self.call(name, caller, **arguments)
        except ToolError as error:
            return str(error)
        raise AssertionError(f"{name} {arguments} was done: {result.text}")

    def put(self, path: str, content: str | bytes = "") -> Path:
        """A file in the workspace, written by somebody else than the tools."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file


def checksum(*folders: Path) -> str:
    """Of everything in some folders: names, kinds, contents."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            digest.update(repr((str(path), path.is_symlink(), path.is_dir())).encode())
            if path.is_file() and not path.is_symlink():
                digest.update(path.read_bytes())
    return digest.hexdigest()
