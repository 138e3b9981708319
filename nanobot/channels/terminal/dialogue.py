"""A conversation as the person at the terminal sees it: what to print of all that the bot does."""

from collections import deque
from collections.abc import Callable, Sequence

from nanobot.channels.terminal.markdown import PrintedAnswer, ScreenPiece
from nanobot.channels.terminal.person import chosen, leaving, refusal
from nanobot.i18n import Language, leaves, say
from nanobot.messages import Address, OutboundMessage, Progress, Stats

_HEAD, _TAIL = 4, 4
"""Lines of what a command printed that are shown at once, at its beginning and its end."""

_COMMANDS = ("/", "／")


class Dialogue:
    """Turns progress and messages into pieces to print, and knows whether a turn runs or a question waits."""

    def __init__(self, address: Address, language: Callable[[], Language]) -> None:
        """`language` is that of the moment."""
        self._address = address
        self._language = language
        self._turn: str | None = None
        self._awaited = False  # something was said, and nothing has come back yet
        self._answer = PrintedAnswer()
        self._folded = ""  # the last long output of a command
        self._questions: deque[OutboundMessage] = deque()
        self._answered_after: set[str] = set()  # ids of lists below which a turn has ended

    @property
    def is_busy(self) -> bool:
        """True if there is something to stop."""
        return self._turn is not None or self._awaited

    @property
    def unfinished(self) -> str:
        """The part of the answer that has come and is not printed yet."""
        return self._answer.unfinished

    def say(self, key: str, **values: object) -> str:
        """One of the bot's own sentences about the terminal."""
        return say(f"terminal.{key}", self._language(), **values)

    def heard(self, text: str) -> None:
        """The person has said something. A list to choose from lapses, unless it is another command that they use in
        between; a turn goes on waiting for its yes.
        """
        self._awaited = True
        command = (text.split() or [""])[0] if text.startswith(_COMMANDS) else ""
        self._lists_lapse(lambda question: not command or question.buttons[0].value.split()[0] == command)

    def choose(self, text: str) -> tuple[str, str] | None:
        """The question that this text answers, and the value that was chosen; None if it answers none."""
        if not self._questions:
            return None
        buttons = self._questions[0].buttons
        button = chosen(buttons, text) or (leaving(buttons) if leaves(text) else None)
        return (self._questions.popleft().id, button.value) if button else None

    def refuse(self) -> tuple[str, str] | None:
        """The question that waits, if any, and the value that lets nothing happen: nobody can be asked."""
        question = self._questions.popleft() if self._questions else None
        return (question.id, refusal(question.buttons).value) if question else None

    def leave(self, text: str) -> bool:
        """True if the text leaves a list that only stands here by now: to the bot it is over since it has answered."""
        if not self._is_old or not leaves(text) or leaving(self._questions[0].buttons):
            return False
        self._questions.popleft()
        return True

    def misses(self, text: str) -> list[ScreenPiece]:
        """Return the sentence about a number that no open answer has; nothing for any other text."""
        if not self._questions or self._is_old or not text.strip().isdecimal():
            return []
        question = self._questions[0]
        if chosen(question.buttons, text) or (leaves(text) and not question.holds_up_a_turn):
            return []
        return [ScreenPiece(self.say("no_such_number", number=text.strip(), count=len(question.buttons)), "quiet")]

    @property
    def _is_old(self) -> bool:
        return bool(self._questions) and self._questions[0].id in self._answered_after

    def question(self) -> list[ScreenPiece]:
        """The question that waits for an answer, if any."""
        return self._show_question(self._questions[0]) if self._questions else []

    def held_up(self) -> list[ScreenPiece]:
        """The same, if a turn cannot go on without it."""
        return self.question() if self._questions and self._questions[0].holds_up_a_turn else []

    def left(self) -> list[ScreenPiece]:
        """The person leaves: what had come of an answer stays on the screen."""
        return _markdown(self._answer.step())

    def progress(self, progress: Progress) -> list[ScreenPiece]:
        """Return the printed form of a turn's progress."""
        if progress.address != self._address:
            return []
        match progress.kind:
            case "started":
                self._turn, self._awaited, self._answer = progress.turn, False, PrintedAnswer()
            case "text":
                return _markdown(self._answer.grow(progress.text))
            case "restart" if self._answer.restart():
                return [ScreenPiece(self.say("again"), "quiet")]
            case "step":
                return _markdown(self._answer.step())
            case "tool" | "output" | "notice":
                return self._activity(progress)
            case "ended":
                return self._ended()
        return []

    def message(self, message: OutboundMessage) -> list[ScreenPiece]:
        """Return the printed form of a message."""
        if message.settles:
            return self._settled(message)
        if message.address != self._address:
            return [
                ScreenPiece(self.say("elsewhere", session=message.address.session_key), "quiet"),
                ScreenPiece(message.text),
            ]
        self._awaited = False
        if message.buttons:
            if not message.holds_up_a_turn:
                self._lists_lapse(lambda _: True)
            self._questions.append(message)
            return self.question() if len(self._questions) == 1 else []
        pieces = self._words(message)
        pieces += [ScreenPiece(self.say("file", path=file.path), "quiet") for file in message.files]
        pieces += [ScreenPiece(self._footer(message.stats), "footer")] if message.stats else []
        return pieces + self._still_open()

    def _lists_lapse(self, which: Callable[[OutboundMessage], bool]) -> None:
        self._questions = deque(each for each in self._questions if each.holds_up_a_turn or not which(each))

    def _still_open(self) -> list[ScreenPiece]:
        """Return the remark that an earlier list can still be chosen from, where something else was said since."""
        if not self._questions or self._questions[0].holds_up_a_turn:
            return []
        return [ScreenPiece(self.say("still_open", count=len(self._questions[0].buttons)), "quiet")]

    def _settled(self, message: OutboundMessage) -> list[ScreenPiece]:
        """Somebody else has answered, or nobody waits any more; what was chosen here is known here."""
        left = [question for question in self._questions if question.id != message.settles]
        was_open = len(left) < len(self._questions)
        self._questions = deque(left)
        return [ScreenPiece(message.text, "quiet")] if was_open else []

    def _words(self, message: OutboundMessage) -> list[ScreenPiece]:
        if message.turn is None or message.turn != self._turn:
            return _markdown([message.text])
        if message.kind != "answer":
            return _markdown([*self._answer.step(), message.text])
        missing, contradicts = self._answer.finish(message.text)
        return [ScreenPiece(self.say("differs"), "quiet")] * contradicts + _markdown(missing)

    def _show_question(self, message: OutboundMessage) -> list[ScreenPiece]:
        choices = "\n".join(f"  {number}. {button.label}" for number, button in enumerate(message.buttons, 1))
        before = self._answer.step() if message.holds_up_a_turn else []  # below a list, what is coming goes on
        return [
            *_markdown(before),
            ScreenPiece(message.text, "question"),
            ScreenPiece(choices, "plain"),
            ScreenPiece(self.say("choose"), "quiet"),
        ]

    def whole_output(self) -> list[ScreenPiece]:
        """The last output that was shown folded, as a whole."""
        return (
            [ScreenPiece(self._folded, "plain")] if self._folded else [ScreenPiece(self.say("nothing_folded"), "quiet")]
        )

    def _output(self, text: str) -> list[ScreenPiece]:
        """Return the printed output of a command: its first and last lines."""
        lines = text.splitlines()
        if not lines:
            return []
        if len(lines) > _HEAD + _TAIL + 1:
            self._folded = text
            gap = self.say("folded", count=len(lines) - _HEAD - _TAIL)
            lines = [*lines[:_HEAD], gap, *lines[-_TAIL:]]
        return [ScreenPiece("\n".join(f"  {line}" for line in lines), "quiet")]

    def _activity(self, progress: Progress) -> list[ScreenPiece]:
        if progress.kind == "notice":
            return [ScreenPiece(progress.text, "quiet")]
        if progress.kind == "output":
            return self._output(progress.text)
        rest = self._answer.step()
        self._answer.forget()
        return [*_markdown(rest), ScreenPiece(f"· {progress.text}", "quiet")]

    def _ended(self) -> list[ScreenPiece]:
        rest = self._answer.step()
        self._turn, self._awaited, self._answer = None, False, PrintedAnswer()
        self._questions = deque(question for question in self._questions if not question.holds_up_a_turn)
        self._answered_after = {question.id for question in self._questions}
        return _markdown(rest)

    def _footer(self, stats: Stats) -> str:
        """Return the footer with the cost; nothing is made up for an endpoint that does not report it."""
        return self.say(
            "footer" if stats.input_tokens or stats.output_tokens else "footer_uncounted",
            input=f"{stats.input_tokens:,}",
            output=f"{stats.output_tokens:,}",
            seconds=f"{stats.seconds:.1f}",
            model=stats.model,
        )


def _markdown(texts: Sequence[str]) -> list[ScreenPiece]:
    return [ScreenPiece(text) for text in texts if text.strip()]
