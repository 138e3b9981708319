"""Tombstones: records of claims undone or forgotten, so that the same words do not bring them back."""

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from nanobot.memory.changes import Operation
from nanobot.memory_files import NOTES_FOLDER
from nanobot.nlp.words import overlap
from nanobot.text import parse_time

FOLDER = f"{NOTES_FOLDER}/tombstones"
"""Relative to the workspace; those of all scopes lie here."""

Undone = Literal["add", "remove", "merge"]

_UNDONE: tuple[Undone, ...] = get_args(Undone)
_ALIKE = 0.5
"""From the same words even a claim that is only half the same one does not come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """Claim that is not to come back, and the evidence that it rested on.

    undone   the claim is
    add      what had been added; of a note its summary and its lines, a line each
    remove   what had been taken away, and stands there again
    merge    the names of notes that had been merged, a line each

    `scope` is whose memory it was in, `evidence` are ids of messages and `episode:42`, `at` is when it was undone
    (RFC 3339). After a forget there is only a salted hash of the claim, and of each piece of evidence.
    """

    scope: str
    undone: Undone
    at: str
    claim: str = ""
    evidence: tuple[str, ...] = ()
    salt: str = ""
    claim_hash: str = ""
    evidence_hashes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """File name without its ending; two that say the same were made at different times."""
        return hashlib.sha256(encode(self)).hexdigest()[:16]

    @property
    def path(self) -> str:
        """Path of the file, relative to the workspace."""
        return path_of(self.name)

    def is_about(self, undone: Undone, claim: str) -> bool:
        """True if this claim would bring it back."""
        if undone != self.undone:
            return False
        if self.salt:
            return self.claim_hash == _hash(self.salt, _plain(claim))
        if undone == "merge":
            return len(set(self.claim.split("\n")) & set(claim.split("\n"))) > 1
        return any(overlap(mine, other) >= _ALIKE for mine in _lines(self.claim) for other in _lines(claim))

    def covers(self, evidence: Iterable[Collection[str]]) -> bool:
        """True if all of this evidence is the old one. Each piece comes with every name that it goes by."""
        return all(any(map(self._knows, names)) for names in evidence)

    def is_before(self, at: str) -> bool:
        """True if something was said after this was undone: not in the same second, and not if a time is unreadable."""
        mine, other = parse_time(self.at), parse_time(at)
        return mine is not None and other is not None and mine < other.replace(microsecond=0)

    def forgotten(self) -> "Tombstone":
        """Return the tombstone as it remains after a forget."""
        salt = secrets.token_hex(16)
        return replace(
            self,
            claim="",
            evidence=(),
            salt=salt,
            claim_hash=_hash(salt, _plain(self.claim)),
            evidence_hashes=tuple(_hash(salt, one) for one in self.evidence),
        )

    def _knows(self, name: str) -> bool:
        return _hash(self.salt, name) in self.evidence_hashes if self.salt else name in self.evidence


def path_of(name: str) -> str:
    """Return the path of the tombstone of this name, relative to the workspace."""
    return f"{FOLDER}/{name}.json"


def bury(operation: Operation, *, scope: str, at: str, lines: Collection[str] = ()) -> Iterator[Tombstone]:
    """The tombstones for an operation that is undone; `lines` are those that it had brought into a note."""

    def of(undone: Undone, claim: str) -> Tombstone:
        return Tombstone(scope=scope, undone=undone, at=at, claim=claim, evidence=operation.messages)

    if operation.verb in ("add", "replace", "write"):
        yield of("add", "\n".join(filter(None, [operation.text, *lines])))
    if operation.verb == "replace":
        yield of("remove", operation.before)
    if operation.verb in ("remove", "delete"):
        yield of("remove", operation.text or operation.file)
    if operation.verb == "merge":
        yield of("merge", "\n".join(sorted(operation.merged)))


def all_names(messages: Collection[str]) -> tuple[str, ...]:
    """Messages by each name that they go by: `session#id`, and the id alone, as an episode of that session has it."""
    return tuple(dict.fromkeys(name for message in messages for name in (message, message.rpartition("#")[2])))


def encode(tombstone: Tombstone) -> bytes:
    """Content of the file of a tombstone."""
    fields = {name: getattr(tombstone, name) for name in Tombstone.__slots__}
    text = json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False, indent=1)
    return text.encode("utf-8", "replace") + b"\n"


def decode(data: bytes) -> Tombstone | None:
    """Decode a file; None if it is no tombstone."""
    try:
        row = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or row.get("undone") not in _UNDONE:
        return None
    return Tombstone(
        scope=str(row.get("scope", "")),
        undone=row["undone"],
        at=str(row.get("at", "")),
        claim=str(row.get("claim", "")),
        evidence=_texts(row.get("evidence")),
        salt=str(row.get("salt", "")),
        claim_hash=str(row.get("claim_hash", "")),
        evidence_hashes=_texts(row.get("evidence_hashes")),
    )


def read(files: Mapping[str, bytes]) -> Mapping[str, Tombstone]:
    """The tombstones among these files, by path."""
    inside = {path: decode(data) for path, data in files.items() if path.startswith(f"{FOLDER}/")}
    return {path: found for path, found in inside.items() if found is not None}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _lines(claim: str) -> list[str]:
    return [line for line in claim.split("\n") if line.strip()]


def _plain(claim: str) -> str:
    return " ".join(claim.casefold().split()).rstrip(".。!！")


def _hash(salt: str, text: str) -> str:
    return hashlib.sha256(f"{salt}\0{text}".encode("utf-8", "replace")).hexdigest()
