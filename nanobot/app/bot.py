"""The bot around a bus: everything between what people say and what is answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from nanobot.agent.agent import Agent
from nanobot.agent.conversation import Conversations
from nanobot.agent.languages import Languages
from nanobot.agent.patience import PatientBus, Standing
from nanobot.agent.questions import Questions
from nanobot.app.agent import build_agent
from nanobot.app.commands import build_commands
from nanobot.app.forgetting import build_forgetting
from nanobot.app.ground import Ground
from nanobot.app.keep import Keep, build_keep
from nanobot.commands.dream import dream_at_shell
from nanobot.commands.forget import Forgetting, forget_at_shell
from nanobot.commands.memory_shell import MemoryShell
from nanobot.commands.pair import Asker, Pairing
from nanobot.commands.proposals import ProposalQuestions
from nanobot.commands.router import Command, Router
from nanobot.commands.session import Lines
from nanobot.config import EMBEDDED
from nanobot.dispatcher import Dispatcher
from nanobot.i18n import Language, say
from nanobot.llm.local import is_installed
from nanobot.memory.strategies import STRATEGIES
from nanobot.messages import Address
from nanobot.ops.control import Handler, Tell
from nanobot.people.people import MACHINE
from nanobot.people.standing import as_of_now
from nanobot.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Bot:
    """The parts that a program around the bot needs."""

    workspace: Workspace
    agent: Agent
    dispatcher: Dispatcher
    router: Router
    languages: Languages
    keep: Keep
    forgetting: Forgetting
    shell: MemoryShell
    about_memory: Lines
    """How what is remembered is doing: its history, Dream."""
    questions: ProposalQuestions

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands, for completion and menus."""
        return self.router.commands

    def language(self, address: Address) -> Language:
        """The language of the bot's own sentences in a conversation."""
        return self.languages.of(address.session_key)

    def is_demo(self, address: Address) -> bool:
        """Whether it is the embedded model that answers, and can."""
        return self.keep.models.name_for(address.session_key) == EMBEDDED and is_installed()

    def greeting(self, address: Address) -> str:
        """Which model one talks to, and how to have a better one."""
        info = self.keep.models.get(address.session_key)[0].info
        if self.is_demo(address):
            return say("chat.demo_model", self.language(address))
        sentence = "model.engine" if info.preset == EMBEDDED else "chat.model"
        return say(sentence, self.language(address), name=info.preset, model=info.model)


def build_bot(
    ground: Ground,
    language: Language,
    commands: Sequence[Command] = (),
    status: Lines | None = None,
) -> Bot:
    """Wire the bot.

    Args:
        ground: what it stands on.
        language: of its own sentences until a person has written something.
        commands: further slash commands.
        status: further lines for /status.
    """
    config, clock, bus = ground.config, ground.clock, ground.bus
    keep = build_keep(ground)
    conversations = Conversations(keep.sessions, clock, STRATEGIES[config.memory.strategy])
    questions = Questions(bus, conversations, keep.lanes.aside)
    agent = build_agent(ground, keep, conversations, questions)
    forgetting = build_forgetting(ground, keep)
    said = build_commands(ground, keep, agent, forgetting, commands, status)
    languages = Languages(config.language, language)
    dispatcher = Dispatcher(
        PatientBus(bus, clock, _standing(ground)),
        keep.lanes,
        agent,
        said.router,
        questions,
        languages,
        steer=config.agent.while_busy == "steer",
    )
    return Bot(
        ground.workspace,
        agent,
        dispatcher,
        said.router,
        languages,
        keep,
        forgetting,
        said.shell,
        said.about_memory,
        said.questions,
    )


def shell_handlers(bot: Bot, pairing: Pairing) -> dict[str, Handler]:
    """The work that other commands of the same person have this process do while it has the workspace."""

    async def pair(args: Sequence[str], _: Tell) -> object:
        """The language that the person reads, then the words behind `nanobot pair`."""
        language, *words = args
        answer = await pairing.do(words, Asker(MACHINE, "zh" if language == "zh" else "en", pair="nanobot pair"))
        return {"text": answer.text, "failed": answer.failed}

    async def memory(args: Sequence[str], _: Tell) -> object:
        """The words behind `nanobot memory`, as its shell takes them."""
        return msgspec.to_builtins(await bot.shell.do(args))

    async def forget(args: Sequence[str], _: Tell) -> object:
        """The words behind `nanobot memory forget`, as its shell takes them."""
        return msgspec.to_builtins(await forget_at_shell(bot.forgetting, args))

    async def dream(args: Sequence[str], tell: Tell) -> object:
        """The language that the person reads."""
        [language] = args
        read: Language = "zh" if language == "zh" else "en"
        return msgspec.to_builtins(await dream_at_shell(bot.keep.dream, bot.keep.archive.all_now, read, tell))

    async def ready(_: Sequence[str], __: Tell) -> object:
        return None

    return {"pair": pair, "memory": memory, "forget": forget, "dream": dream, "ready": ready}


def _standing(ground: Ground) -> Standing:
    """In a gateway messages wait, and people may be shown out meanwhile; elsewhere who can run the program owns it."""
    if ground.people is None or not ground.bus.is_durable:
        return lambda message: message
    return partial(as_of_now, ground.people)
