"""The slash commands, and what the same do at the shell."""

from collections.abc import Sequence
from dataclasses import dataclass

from nanobot.agent.agent import Agent
from nanobot.app.ground import Ground
from nanobot.app.keep import Keep
from nanobot.commands.conversations import (
    Listing,
    commands_of_terminals,
    export_command,
    resume_command,
    retry_command,
    sessions_command,
)
from nanobot.commands.dream import dream_command, dream_lines
from nanobot.commands.forget import Forgetting, forget_command, forget_lines
from nanobot.commands.memory import View, memory_command, remember_command
from nanobot.commands.memory_shell import MemoryShell
from nanobot.commands.proposals import ProposalQuestions, proposal_commands, proposal_lines
from nanobot.commands.recall import recall_command, recall_lines
from nanobot.commands.router import Command, Router
from nanobot.commands.session import (
    Lines,
    all_of,
    compact_command,
    help_command,
    model_command,
    new_command,
    status_command,
    stop_command,
)
from nanobot.store.media import MediaFolder
from nanobot.store.private import save_export
from nanobot.tools.writing import change_shown


@dataclass(frozen=True, slots=True)
class Commands:
    """What is typed in a conversation, and at the shell; `about_memory` says how what is remembered is doing,
    `questions` are put about changes that wait for a yes."""

    router: Router
    shell: MemoryShell
    about_memory: Lines
    questions: ProposalQuestions


def build_commands(
    ground: Ground,
    keep: Keep,
    agent: Agent,
    forgetting: Forgetting,
    further: Sequence[Command] = (),
    status: Lines | None = None,
) -> Commands:
    """With `further` commands, and further lines for /status."""
    memory, send = keep.memory, ground.bus.send
    about_memory = all_of(
        memory.state,
        forget_lines(forgetting),
        dream_lines(keep.dream, keep.next_dream),
        recall_lines(lambda: keep.memories.trouble),
        proposal_lines(memory.proposals),
    )
    questions = ProposalQuestions(memory.proposals, change_shown, keep.sessions)
    view = View(memory.shelves, keep.documents, ground.config.memory.budget.memory, about_memory)
    listing = Listing(keep.sessions, ground.clock)
    listed = [
        new_command(agent),
        compact_command(agent),
        stop_command(keep.lanes),
        status_command(agent, keep.models, all_of(about_memory, status)),
        model_command(keep.models),
        sessions_command(listing),
        resume_command(listing, agent),
        retry_command(agent),
        export_command(keep.sessions, ground.clock, MediaFolder(ground.workspace), save_export),
        *commands_of_terminals(),
        memory_command(view),
        remember_command(memory.shelves),
        recall_command(keep.memories),
        dream_command(keep.dream, send, keep.archive.now),
        forget_command(forgetting, send),
        *proposal_commands(questions),
        *memory.commands,
        *further,
    ]
    return Commands(Router([help_command(listed), *listed]), memory.shell(view), about_memory, questions)
