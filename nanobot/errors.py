"""Every error nanobot raises on purpose, each for somebody.

NanobotError
├── ConfigError     for the person at the start: which key, what to write
├── UsageError      for the person at the start: what was asked for makes no sense, and what to write
├── WorkspaceError  for the person at the start: the workspace cannot be used (held by another, not writable)
├── StoreError      something could not be written or read; nothing that was there before is lost
├── VersionError    the history of memory could not do it; its kind chooses the sentence a person reads
├── PairingError    somebody, or a group, was not let in or shown out; its kind chooses the sentence
├── ToolError       for the model: its text becomes the tool's result
├── PromptTooBigError  the files in the prompt leave no room for the conversation; for the person who edits them
└── LLMError        the model gave no answer, after retries; its kind chooses the sentence a person reads

Anything else that is raised is a bug and is logged with its traceback.
"""

import errno
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Of an OSError: the disk, or one's share of it, is full."""

LLMErrorKind = Literal[
    "auth",  # the key is wrong, missing or not allowed to
    "unset",  # the variable that holds the key is not set here
    "model",  # no such model, or no such endpoint
    "quota",  # paid quota used up
    "rate_limit",  # too many requests; retry_after may say for how long
    "context",  # the request is longer than the model can read
    "output",  # more tokens were asked for than an answer may have
    "timeout",  # no answer, or no progress, in time
    "network",  # the endpoint cannot be reached, or the connection broke
    "proxy",  # the same, and the way leads through a proxy that the environment names
    "server",  # the endpoint failed (5xx)
    "request",  # the endpoint refused the request (other 4xx)
    "filtered",  # the provider declined to answer
    "empty",  # an answer without text and without tool calls
    "protocol",  # what came back is not an answer (HTML, broken JSON, an error as text)
    "cut",  # every attempt broke off in the middle
    "engine",  # the local engine or its weights are not installed
]


NEAR = "near"

WeightsFault = Literal["gone", "unreadable", "not_gguf", "truncated", "architecture", "memory"]

PairingTrouble = Literal[
    "wrong_code",  # there is no such code
    "expired_code",  # there was, and its time is over
    "locked",  # too many wrong codes were tried
    "owner_by_machine",  # owners are not made and unmade over chat
    "not_paired",  # nobody of this id was let in by pairing
    "not_admitted",  # no owner has let this group in
    "link_locked",  # they typed too many wrong codes to be linked by
    "wrong_link",  # no code to be linked by is like this
    "link_owner",  # owners share one memory and have nothing to link
    "linked_already",  # they are the same person already
    "not_linked",  # they are linked to nobody
    "configured",  # the configuration says so, and pairing cannot change that
]

VersionErrorKind = Literal[
    "missing",  # there is no git on this machine
    "busy",  # somebody else is at work in the history right now, or has not finished
    "conflict",  # a file is not as the change found it; nothing was changed
    "unknown",  # no such version
    "ambiguous",  # several versions begin like that
    "first",  # the first version: there is nothing before it
    "refused",  # a place that is not kept in the history, or that cannot be written safely
    "failed",  # git or the disk failed
    "damaged",  # the history cannot be read: what it consists of is damaged
]


class NanobotError(Exception):
    """Base of all errors that nanobot raises on purpose."""


def expected_in(error: BaseException) -> "NanobotError | None":
    """Return the expected error inside an exception: itself, or the first such in a group of groups.

    None if there is none.
    """
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := expected_in(inner))), None)
    return error if isinstance(error, NanobotError) else None


class UsageError(NanobotError):
    """Error: the arguments of a command make no sense; the text says what to write."""


class ConfigError(NanobotError):
    """The configuration cannot be used. The text names file, line, key and what to write instead."""


class WorkspaceError(NanobotError):
    """The workspace cannot be used. The text says why and what to do."""


class DiskFullError(WorkspaceError):
    """The workspace cannot be written for want of room; reading what is there still works."""


class StoreError(NanobotError):
    """Something could not be read or written."""


class EmbedderError(NanobotError):
    """The model that reads what texts mean cannot be used."""


class VersionError(NanobotError):
    """The history of memory could not do what it was asked to; nothing has changed, unless the call says otherwise."""

    def __init__(self, kind: VersionErrorKind, detail: str = "", *, paths: Sequence[str] = ()) -> None:
        """`detail` is for the log and for those who know git; `paths` are the files it is about."""
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind: VersionErrorKind = kind
        self.detail = detail
        self.paths = tuple(paths)


class ToolError(NanobotError):
    """A tool could not do what the model asked; the text is what the model reads."""


class PromptTooBigError(NanobotError):
    """The files in the prompt leave no room for a conversation. Sizes in tokens, as estimated."""

    def __init__(self, file: str, tokens: int, window: int) -> None:
        """`file` takes most of the prompt."""
        super().__init__(f"the prompt takes about {tokens} of {window} tokens, {file} most of it")
        self.file = file
        self.tokens = tokens
        self.window = window


class LLMError(NanobotError):
    """The model gave no answer, after all retries."""

    def __init__(
        self,
        kind: LLMErrorKind,
        detail: str = "",
        *,
        retry_after: float | None = None,
        partial: str = "",
        model: str = "",
        said: str = "",
        limit: str = "",
    ) -> None:
        """Say what happened.

        Args:
            kind: what went wrong; chooses the sentence a person reads.
            detail: for the log; never shown as it is, never stored in a session.
            retry_after: seconds after which a new attempt makes sense, where the endpoint said so.
            partial: the text that had arrived when every attempt broke off (kind "cut").
            model: the preset that failed.
            limit: the setting whose time was over (kind "timeout").
            said: the endpoint's own words, without secrets; of kind "proxy" the variable that names the proxy, of kind
                "network" NEAR if the endpoint is on this machine or in its network.
        """
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind: LLMErrorKind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.partial = partial
        self.model = model
        self.said = said
        self.limit = limit
        self.also: Sequence[LLMError] = ()
        """How the other models failed that were asked instead."""

    def reword(self, by: Callable[[str], str]) -> None:
        """Change what was said, in the log as well."""
        self.detail, self.said = by(self.detail), by(self.said)
        self.args = (f"{self.kind}: {self.detail}" if self.detail else self.kind,)


class WeightsError(LLMError):
    """The file of a local model cannot be loaded; the reason chooses the sentence a person reads."""

    def __init__(self, reason: WeightsFault, path: Path, **values: object) -> None:
        """`values` fill the sentence: sizes in bytes, the architecture, the system's words."""
        super().__init__("engine", f"{path} cannot be loaded: {reason} {values or ''}".rstrip())
        self.reason: WeightsFault = reason
        self.values = {"path": path, **{name: _in_words(value) for name, value in values.items()}}


def _in_words(value: object) -> object:
    return f"{value / 1e9:.2f} GB" if isinstance(value, int) else value


_NEVER_CLOSED = "what opens here, a quotation mark, a bracket or a brace, is never closed"
_NEIGHBOURS = "this line is not indented as its neighbours are, or text follows a closed quotation mark"
_BACKSLASH = "in double quotes a backslash is written twice (\\\\); or use single quotes"
_YAML_ADVICE = (
    (
        "mapping values are not allowed",
        'a value that holds a colon must stand in quotes, as in `key: "a: b"`, and the keys of one group must be '
        "indented alike",
    ),
    ("could not find expected ':'", "a line has no colon: write `key: value`"),
    ("cannot start any token", "a value that begins with this character must stand in quotes"),
    ("block sequence entries are not allowed", "a list begins on a line of its own below its key, each item with `- `"),
    ("expected '-' indicator", "all items of this list must begin with `- `, indented alike"),
    ("expected ',' or", "a comma is missing, or a bracket or brace is not closed"),
    ("end of stream", _NEVER_CLOSED),
    ("unexpected document", _NEVER_CLOSED),
    ("expected the node content", "a value is missing, or it must stand in quotes"),
    ("expected <document start>", "this line belongs to no key: write `key: value`, and indent keys as the others are"),
    ("expected key", _NEIGHBOURS),
    ("expected <block end>", _NEIGHBOURS),
    ("escape", _BACKSLASH),
    ("expected hexdecimal", _BACKSLASH),
    ("alphabetic or numeric", "a value that begins with * or & must stand in quotes"),
    ("tag", "a value that begins with ! must stand in quotes"),
    ("invalid leading UTF-8", "the text is not UTF-8; save the file as UTF-8"),
    ("indentation indicator", "behind | or > the text begins on the next line"),
    ("expected comment or line break", "behind | or > the text begins on the next line"),
    ("a comment or a line break", "behind | or > the text begins on the next line"),
    ("directive", "a line that begins with % must be indented or stand in quotes"),
)
"""Words of YAML parsers (libyaml, PyYAML) about a mistake, and what to write."""


def yaml_advice(problem: str) -> str:
    """Return advice in place of a YAML parser's words about a mistake; its words if the mistake is a rare one."""
    return next((advice for words, advice in _YAML_ADVICE if words in problem), problem)


class PairingError(NanobotError):
    """Error: a pairing action was not done; the kind chooses the sentence for people."""

    def __init__(self, kind: PairingTrouble) -> None:
        super().__init__(kind)
        self.kind: PairingTrouble = kind
