"""Changes that the model's file tools make to the long-term files."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from nanobot.authority import least
from nanobot.memory.changes import ChangeEvidence, ChangeRequest, Commit, VersionedWriter
from nanobot.memory.facts import bare, operations, told_by, without_speaker
from nanobot.memory.markdown import without_comments, without_index
from nanobot.memory.proposals import Proposals
from nanobot.memory_files import FACT_FILES, MEMORY
from nanobot.nlp.own_words import is_said
from nanobot.nlp.secrets import refusal
from nanobot.ports import Caller, Edit, Judgement, ReadFrontmatter
from nanobot.text import canonical, decode, is_treacherous
from nanobot.workspace import is_guarded, is_remembered, scope_of

MOST = 2_000_000
"""Characters of a change: it takes a second or so to look through a hundred thousand."""


class ToolChanges:
    """Judges each, and keeps it as a version that names the messages of its turn, or as a proposal."""

    def __init__(self, writer: VersionedWriter, proposals: Proposals, read_frontmatter: ReadFrontmatter) -> None:
        self._writer = writer
        self._proposals = proposals
        self._read_frontmatter = read_frontmatter

    async def judge(self, path: PurePosixPath, edit: Edit, caller: Caller) -> Judgement:
        """Say whether a change of a file that prompts carry may be made.

        Where the model has read anything that is not the person's own words, it takes a yes: it may be the idea of a
        page or of a forward. Lines that the person says in this very turn are theirs; what they tell the bot to do
        where the model follows it takes a yes anyway.
        """
        if is_remembered(path) and (reason := await asyncio.to_thread(self._reason, path, edit)):
            return Judgement("refuse", reason)
        evidence = await self._writer.evidence(ChangeRequest.in_turn(caller))
        if evidence.others is None:
            return Judgement("write")
        if edit.after and decode(edit.after) is None:
            return Judgement("refuse", "it is no text, so that nobody could say yes to it.")
        is_own = not is_guarded(path) and await asyncio.to_thread(_only_brings, path, edit, evidence)
        return Judgement("write" if is_own else "propose")

    async def propose(self, path: PurePosixPath, edit: Edit, caller: Caller) -> str:
        """Let a change wait for a yes; why that cannot be, "" if it is done. Raises StoreError."""
        evidence = await self._writer.evidence(ChangeRequest.in_turn(caller))
        origin = least(evidence.origin, *([evidence.others] if evidence.others else []))
        return await self._proposals.stage(path, edit, caller, origin, evidence.messages)

    async def staged(self, caller: Caller) -> Mapping[str, Edit]:
        """Return the changes that the caller's turn has proposed, by path. Raises StoreError."""
        proposal = await self._proposals.of_turn(caller.turn)
        return proposal.edits if proposal else {}

    def _reason(self, path: PurePosixPath, edit: Edit) -> str | None:
        """Return the reason why a text must not be remembered, for the model that tried; None if it may."""
        if edit.after and decode(edit.after) is None:
            return "it would be no text any more. Write it as plain text."
        unseen, added = self._added(path, edit)
        if len(added) > MOST:
            return f"that is too much to be remembered at once: {len(added):,} characters, the limit is {MOST:,}."
        return objection(added, unseen=unseen)

    def _added(self, path: PurePosixPath, edit: Edit) -> tuple[bool, str]:
        """Compare what a prompt would show of the file before and after; return whether new lines hold what cannot
        be seen, and the new lines.

        A text that stood there before is not this writer's doing.
        """
        before, after = (set(_raw_lines(data)) for data in (edit.before, edit.after))
        seen = set() if edit.before is None else set(shown_lines(path, edit.before, self._read_frontmatter))
        added = [line for line in shown_lines(path, edit.after, self._read_frontmatter) if line not in seen]
        return is_treacherous("\n".join(after - before)), "\n".join(added)

    async def keep(self, path: PurePosixPath, edit: Edit, caller: Caller) -> bool:
        """Change a file, by its path in the workspace; False if that is left to the tool, as by the writer."""
        evidence = await self._writer.evidence(ChangeRequest.in_turn(caller))
        done = "New" if edit.before is None else "Changed"
        commit = Commit(
            kind="tool",
            subject=f"{done}: {path}",
            operations=operations({str(path): edit}, evidence.messages),
            scopes=(scope_of(path),),
            origin=evidence.origin,
            turn=caller.turn,
        )
        return await self._writer.keep({str(path): edit}, commit)


def _only_brings(path: PurePosixPath, edit: Edit, evidence: ChangeEvidence) -> bool:
    """True if all that a change does is to add lines that somebody has said, and to leave the others where they are."""
    old = iter(_raw_lines(edit.before))
    expected, brought = next(old, None), []
    for line in _raw_lines(edit.after):
        if line == expected:
            expected = next(old, None)
        else:
            brought.append(line)
    if expected is not None and any(line.strip() for line in (expected, *old)):
        return False
    if edit.before is None and path.name not in FACT_FILES:
        brought.append(re.sub(r"[\W_]+", " ", path.stem))  # the index of notes, and so the prompt, shows it
    return all(_is_theirs(bare(line), evidence) for line in brought if re.search(r"\w", line))


def _is_theirs(text: str, evidence: ChangeEvidence) -> bool:
    """True if a line is what somebody has said, behind their name where it must stand there."""
    words = without_speaker(text) if evidence.speaker else text
    return (not evidence.speaker or text == told_by(evidence.speaker, words)) and is_said(words, evidence.own_words)


def shown_lines(path: PurePosixPath, data: bytes | None, read_frontmatter: ReadFrontmatter) -> list[str]:
    """Return the lines of a file that prompts may carry: its name, its head as it is understood, its text."""
    text = decode(data or b"")
    if text is None:
        return []
    head = read_frontmatter(text.canonical)
    fields = (f"{key}: {value}" for key, value in head.fields.items())
    name = re.sub(r"[\W_]+", " ", canonical(path.stem))
    body = without_comments(without_index(head.body) if path.name == MEMORY else head.body)
    return [name, *(" ".join(field.split()) for field in fields), *body.split("\n")]


def _raw_lines(data: bytes | None) -> list[str]:
    text = decode(data or b"")
    return text.content.split("\n") if text else []


def objection(text: str, *, unseen: bool = False) -> str | None:
    """Say why a text must not be written where things are remembered, for the model that tried; None if it may."""
    if kind := refusal(text):
        return (
            f"it holds what looks like a secret ({kind.replace('_', ' ')}), and memory is no place for secrets. "
            "Leave it out, and tell the user that a password manager is the place for it."
        )
    if unseen or is_treacherous(text):
        return "it holds invisible control characters or tokens of a chat template. Write it without them."
    return None
