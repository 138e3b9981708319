"""The agent with its tools, wired as configured."""

import os
from collections.abc import Sequence
from dataclasses import asdict

from nanobot.agent.agent import Agent, Limits
from nanobot.agent.context import Budgets, ContextBuilder
from nanobot.agent.conversation import Conversations
from nanobot.agent.questions import Questions
from nanobot.agent.skills import Skills
from nanobot.app.ground import Ground
from nanobot.app.keep import Keep
from nanobot.app.plugins import plugin_tools
from nanobot.app.recall import build_reminders
from nanobot.config import secrets_here
from nanobot.memory.tool_changes import ToolChanges
from nanobot.ops.logs import Mask
from nanobot.ports import Tool
from nanobot.store.frontmatter import read_frontmatter
from nanobot.tools.approval import Approval
from nanobot.tools.builtin import builtin_tools
from nanobot.tools.paths import Sandbox
from nanobot.tools.recall import Recall
from nanobot.tools.shell import ExecPolicy
from nanobot.tools.spill import MaskedTool
from nanobot.tools.writing import Remembering


def build_agent(ground: Ground, keep: Keep, conversations: Conversations, questions: Questions) -> Agent:
    """`questions` are asked by its tools."""
    config, workspace, clock, shelves = ground.config, ground.workspace, ground.clock, keep.memory.shelves
    context = ContextBuilder(
        workspace,
        keep.documents,
        shelves,
        Skills(workspace.skills, keep.documents, read_frontmatter),
        Budgets(**asdict(config.memory.budget)),
        clock,
        build_reminders(config, clock, keep.memories, shelves, keep.models),
    )
    return Agent(
        keep.models,
        _tools(ground, keep, questions),
        context,
        conversations,
        keep.archive,
        shelves,
        Limits(config.agent.max_steps, config.memory.compact_at),
    )


def _tools(ground: Ground, keep: Keep, questions: Questions) -> Sequence[Tool]:
    tools, memory = ground.config.tools, keep.memory
    rules = tools.exec
    changes = ToolChanges(memory.keeping, memory.proposals, read_frontmatter)
    approval, mask = Approval(questions), Mask(secrets_here(ground.config, os.environ))
    if ground.people:
        ground.people.on_standing.append(approval.take_back)
    own: Sequence[Tool] = [
        *builtin_tools(
            Sandbox(ground.workspace, tools.allowed_dirs, ground.home.closed),
            approval=approval,
            exec_policy=ExecPolicy(owner=rules.owner, member=rules.member, allow=rules.allow, timeout=rules.timeout),
            remembering=Remembering(
                changes.judge, memory.shelves.written, changes.keep, changes.propose, changes.staged
            ),
            file_lock=memory.files,
            mask=mask,
        ),
        Recall(keep.memories, mask),
    ]
    every = [*plugin_tools(ground.config.plugins, [tool.spec.name for tool in own]), *own]
    return [MaskedTool(tool, mask) for tool in every]
