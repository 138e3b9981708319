"""Messages on the bus: from people, and from the bot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nanobot.authority import Authority


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a conversation."""

    channel: str
    chat: str
    topic: str | None = None

    @property
    def session_key(self) -> str:
        """`channel:chat[:topic]`; the topic is everything after the second colon."""
        return ":".join(part for part in (self.channel, self.chat, self.topic) if part is not None)

    def holds(self, session_key: str) -> bool:
        """True if a session is of this chat, in whichever topic."""
        chat = f"{self.channel}:{self.chat}"
        return session_key == chat or session_key.startswith(f"{chat}:")


@dataclass(frozen=True, slots=True)
class Sender:
    """A person, by the id that the platform gives them; the name is shown, never trusted."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message or goes out with one; path is relative to the workspace."""

    path: str
    mime: str = "application/octet-stream"
    name: str = ""

    @property
    def is_picture(self) -> bool:
        return self.mime.startswith("image/")

    @property
    def is_sound(self) -> bool:
        """Of which a model reads what was spoken, as words of the message."""
        return self.mime.startswith("audio/")


@dataclass(frozen=True, slots=True)
class Button:
    """A choice offered with a message; choosing it answers with the value."""

    label: str
    value: str


QuotedHow = Literal["reply", "quote", "forward", "via", "card", "piped", "file", "command"]


@dataclass(frozen=True, slots=True)
class Quote:
    """Text of somebody else that came along with a message; it has no authority.

    how      is
    reply    the message that this one replies to
    quote    the part of it that was marked
    forward  a message that was passed on
    via      what another bot wrote in the person's name; `by` is that bot
    card     words on what was sent: a contact, a place, a poll, an embed, a sticker, the name of a file
    file     the text of a file on the person's machine; `by` is its path
    command  what a command printed that the person ran there; `by` is the command
    piped    what a file or a program gave to the question at a shell
    """

    text: str
    by: str = ""
    how: QuotedHow = "reply"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage:
    """Message of a person.

    `id` is the same for each delivery of the same message ("telegram:12345:77").
    `answers` is the id of the OutboundMessage whose button was chosen, with the value in `text`.
    `chat_title` is the group's name, "" in private: shown, never trusted.
    `quotes` are texts of others; of a message that was only forwarded, `text` is "".
    `corrects` is the id of an earlier message of which this is the new wording.
    `to_bot` is False for what a group says among itself: it is kept, not answered.
    `retries` is the turn that this one is in place of, asked again; `ran` are the tools that had run in it.
    `model` is the preset that answers this one message; "" is that of the conversation.
    `again`: it was said to a process that has ended, which may have dealt with it.
    """

    id: str
    address: Address
    sender: Sender
    authority: Authority
    text: str
    files: Sequence[Attachment] = ()
    answers: str | None = None
    chat_title: str = ""
    quotes: Sequence[Quote] = ()
    corrects: str | None = None
    to_bot: bool = True
    retries: str | None = None
    ran: Sequence[str] = ()
    model: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class Stats:
    """Cost of a turn: tokens read and written, seconds, and the preset that answered."""

    input_tokens: int
    output_tokens: int
    seconds: float
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundMessage:
    """Message of the bot: an answer, a notice in its own words, or a question with buttons.

    `failed` means that what was asked for was not done, or not to the end; the text says why.
    `settles` is the id of a question that is over: its buttons go, and the text says in a word or two what came of it.
    `clears` means that nothing is said: the previews of `turn` go, which belong to a process that has ended. Where the
    platform does not let them go, the text stands in their place.
    `goes_to` is the key of the conversation with which the terminal goes on in which that was asked for. `question`
    is the text of one that comes right after it, for who does not wait for that.
    """

    id: str
    address: Address
    text: str
    kind: Literal["answer", "notice", "question"] = "answer"
    turn: str | None = None
    reply_to: str | None = None
    files: Sequence[Attachment] = ()
    buttons: Sequence[Button] = ()
    stats: Stats | None = None
    failed: bool = False
    settles: str | None = None
    clears: bool = False
    goes_to: str = ""
    question: str = ""

    @property
    def holds_up_a_turn(self) -> bool:
        """True if a running turn waits for the answer. A list to choose from is the reply to a command."""
        return self.kind == "question" and self.reply_to is None


ProgressKind = Literal["started", "text", "restart", "step", "tool", "output", "notice", "asking", "refused", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a running turn; may be dropped without loss.

    kind     text holds
    started  the id of the InboundMessage that the turn answers: it begins
    text     the next piece of the answer
    restart  nothing: the pieces shown since the last step are void, they come again
    step     nothing: the pieces so far were a remark on the way to a tool, they are complete
    tool     what a tool is about to do, in a few words
    output   what a command printed that a tool ran, for whoever has room to show it
    notice   a sentence for the person ("The model is busy, waiting 7 s")
    asking   a sentence that says that the turn waits for a person's answer; nothing: it goes on
    refused  nothing: it goes on, and what the tool was about to do is not done
    ended    nothing: the turn is over; its answer, if any, is an OutboundMessage before this
    """

    address: Address
    turn: str
    kind: ProgressKind
    text: str = ""
