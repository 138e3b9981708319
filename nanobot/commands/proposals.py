"""Changes that wait for a yes: the question about one, and /accept /reject /proposals."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from nanobot.authority import Scope
from nanobot.commands.session import Lines
from nanobot.core.commands import Command, CommandAnswer, CommandCall, FollowUp
from nanobot.errors import NanobotError, StoreError
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.memory.proposals import Decision, Proposals
from nanobot.messages import Address, Button, InboundMessage, OutboundMessage
from nanobot.ports import Edit, ProposedChange, SessionStore
from nanobot.text import code_block
from nanobot.transcript import Session

log = logging.getLogger(__name__)

ACCEPT, REJECT, LIST = "/accept", "/reject", "/proposals"

Send = Callable[[OutboundMessage], Awaitable[None]]

Show = Callable[[Mapping[str, Edit], Language], tuple[str, str]]
"""Gives changes of files as people read them: all, and of what is long the beginning and the end, "" of what is not."""


@dataclass(frozen=True, slots=True)
class ProposalQuestions:
    """Puts a proposal before those who may decide, and says what came of it."""

    proposals: Proposals
    show: Show
    sessions: SessionStore

    async def after(self, turn: str, person: str) -> FollowUp | None:
        """The question that follows on the answer of a turn which somebody caused; None if there is none."""
        proposal = await self.proposals.of_turn(turn)
        if proposal is None or proposal.is_asked or proposal.address is None:
            return None
        return self._follow_up(proposal, typed=person == proposal.person and not Scope(proposal.scope).is_group)

    async def go_on(self, send: Send, reaches: Callable[[Address], bool], *, tells: bool) -> None:
        """Finish what an ended process left: changes that somebody said yes to, and questions that it did not put.

        The questions of turns that go on come after these. `tells` says what was made, where no command that is dealt
        with again does. Whatever goes wrong is no reason not to start: /proposals lists what waits.
        """
        try:
            for decision in await self.proposals.resume():
                if (notice := _of_decision(decision, tells=tells)) and reaches(notice.address):
                    await send(notice)
            for one in await self.proposals.unasked():
                if one.address and reaches(one.address) and await self._is_over(one.turn, one.address.session_key):
                    follow_up = self._follow_up(one, typed=False)
                    await send(follow_up.message)
                    await follow_up.sent()
        except NanobotError as error:
            log.warning("what waits for a yes was not gone on with: %s", error)

    def _follow_up(self, proposal: ProposedChange, *, typed: bool) -> FollowUp:
        assert proposal.address is not None  # noqa: S101  both callers have looked
        answer = self.question(proposal, proposal.language, typed=typed)
        name = f"proposal:{proposal.id}:{proposal.at}"
        message = OutboundMessage(
            id=name, address=proposal.address, text=answer.text, kind="question", reply_to=name, buttons=answer.buttons
        )
        return FollowUp(message, answer, partial(self.proposals.asked, proposal.id))

    async def _is_over(self, turn: str, key: str) -> bool:
        """True if nobody goes on with a turn: it is answered, or was ended, or is out of view."""
        session = await self.sessions.load(key)
        return not turn or turn in session.ended or not _is_open(turn, session)

    def question(
        self, proposal: ProposedChange, language: Language, *, whole: bool = False, typed: bool = True
    ) -> CommandAnswer:
        """Return the question about a proposal: of long texts the ends first, since a yes needs all of it read.

        `typed`: whether a bare yes or no of whoever reads it is one to this.
        """
        accept, reject, every = (f"{command} {proposal.id}" for command in (ACCEPT, REJECT, LIST))
        text, ends = self.show(proposal.edits, language)
        is_cut = bool(ends) and not whole
        reason = say("proposals.why_dream" if proposal.source == "dream" else "proposals.why_turn", language)
        how = "how_cut" if is_cut else "how_group" if Scope(proposal.scope).is_group else "how"
        parts = [
            say("proposals.ask", language, reason=" ".join(filter(None, [reason, proposal.reason]))),
            ends if is_cut else text,
            say(f"proposals.{how}", language, accept=accept, reject=reject, all=every),
        ]
        first = Button(say("tools.all", language), every) if is_cut else Button(say("proposals.keep", language), accept)
        return CommandAnswer(
            "\n\n".join(parts),
            [first, Button(say("proposals.leave", language), reject)],
            yes=accept if typed and not is_cut else "",
            no=reject if typed else "",
        )

    async def decide(self, call: CommandCall, decide: Callable[[str], Awaitable[Decision]]) -> CommandAnswer:
        """Carry out what the argument names, or the only one that waits."""
        waiting = await self.proposals.waiting(call.message.authority.scope)
        name = call.argument.upper() or (waiting[0].id if len(waiting) == 1 else "")
        if not name:
            return await self.listed(call)
        return await self._told(call, name, await decide(name))

    async def listed(self, call: CommandCall) -> CommandAnswer:
        """Return the proposals that wait in the requester's scope, or all of one that the argument names."""
        waiting = await self.proposals.waiting(call.message.authority.scope)
        if call.argument:
            named = next((one for one in waiting if one.id == call.argument.upper()), None)
            if named is None:
                return CommandAnswer(call.say("proposals.over", id=call.argument.upper(), all=LIST), failed=True)
            return self.question(named, call.language, whole=True)
        if len(waiting) < 2:
            return self.question(waiting[0], call.language) if waiting else CommandAnswer(call.say("proposals.none"))
        rows = [f"- **{one.id}** · {', '.join(one.edits)} · {one.at[:16].replace('T', ' ')}" for one in waiting]
        buttons = [Button(one.id, f"{LIST} {one.id}") for one in waiting]
        return CommandAnswer("\n".join([call.say("proposals.several", count=len(waiting)), *rows]), buttons)

    async def _told(self, call: CommandCall, name: str, decision: Decision) -> CommandAnswer:
        proposal = decision.proposal
        if decision.outcome == "made_before":
            return CommandAnswer(call.say("proposals.made_before", id=name))
        if proposal is None or decision.outcome == "over":
            return CommandAnswer(call.say("proposals.over", id=name, all=LIST), failed=True)
        files = ", ".join(proposal.edits)
        if decision.outcome != "unfit":
            is_failed = decision.outcome == "not_yours"
            return CommandAnswer(call.say(f"proposals.{decision.outcome}", files=files), failed=is_failed)
        text = _unfit(decision, call.language)
        if decision.anew is None:
            return CommandAnswer(text, failed=True)
        await self.proposals.asked(decision.anew.id)
        asked = self.question(decision.anew, call.language)
        return CommandAnswer(f"{text}\n\n{asked.text}", asked.buttons, failed=True, yes=asked.yes, no=asked.no)


def proposal_commands(questions: ProposalQuestions) -> Sequence[Command]:
    """Slash commands about proposals. A turn is followed by the question about what it proposes."""
    proposals = questions.proposals
    known: set[str] = set()  # proposals that people know of from this process

    async def accept(call: CommandCall) -> CommandAnswer:
        message = call.message
        by = f"{message.address.channel}:{message.sender.id}"
        return await questions.decide(call, lambda name: proposals.accept(name, message.authority, by))

    async def reject(call: CommandCall) -> CommandAnswer:
        return await questions.decide(call, lambda name: proposals.reject(name, call.message.authority))

    async def after_turn(turn: str, message: InboundMessage) -> FollowUp | None:
        follow_up = await questions.after(turn, message.sender.id)
        if follow_up:
            known.add(follow_up.answer.buttons[-1].value)
        return follow_up

    async def asked_before(message: InboundMessage) -> str:
        """The newest that was asked about there in an earlier process; each once."""
        try:
            every = await proposals.waiting(message.authority.scope)
        except StoreError as error:
            log.warning("%s: %s", message.address, error)
            return ""
        here = [one for one in every if one.is_asked and one.address == message.address]
        if not here or f"{REJECT} {here[-1].id}" in known:
            return ""
        known.add(f"{REJECT} {here[-1].id}")
        return f"{ACCEPT} {here[-1].id}"

    return [
        Command("accept", accept, immediate=True, asked_before=asked_before, after_turn=after_turn),
        Command("reject", reject, immediate=True),
        Command("proposals", questions.listed, immediate=True),
    ]


def proposal_lines(proposals: Proposals) -> Lines:
    """Line of /status with the number of proposals that wait for a yes in the caller's scope."""

    async def lines(call: CommandCall) -> Sequence[str]:
        count = len(await proposals.waiting(call.message.authority.scope))
        return [call.say("proposals.status", count=count, all=LIST)] if count else []

    return lines


def _of_decision(decision: Decision, *, tells: bool) -> OutboundMessage | None:
    """Return the sentence about a change that was made, or not, when the process after it began."""
    proposal = decision.proposal
    if proposal is None or proposal.address is None:
        return None
    if decision.outcome == "unfit":
        text = _unfit(decision, proposal.language)
    elif tells:
        text = say("proposals.made", proposal.language, files=", ".join(proposal.edits))
    else:
        return None
    return OutboundMessage(id=new_id(), address=proposal.address, text=text, kind="notice")


def _unfit(decision: Decision, language: Language) -> str:
    rows = [line for path, lines in decision.left.items() for line in (f"=== {path} ===", *lines)]
    what = code_block("\n".join(rows), "diff")
    return say("proposals.unfit", language, files=", ".join(decision.left), what=what)


def _is_open(turn: str, session: Session) -> bool:
    last = session.messages[-1] if session.messages else None
    if last is None or last.turn != turn:
        return False
    return last.role != "assistant" or bool(last.tool_calls) or last.incomplete is not None
