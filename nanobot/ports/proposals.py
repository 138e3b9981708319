"""Changes of files that are made when somebody has said yes to them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from nanobot.authority import Origin
from nanobot.i18n import Language
from nanobot.messages import Address
from nanobot.ports.versions import Edit


@dataclass(frozen=True, kw_only=True)
class ProposedChange:
    """What would become of some files of one scope, and why.

    id        names these very edits: when they become others, so does it
    scope     the name of whose memory the files are of
    edits     by path in the workspace: how the file was read, and how it shall be
    source    whose idea it is: of a turn, or of Dream
    origin    the least trusted of what it rests on
    reason    free text for people, "" if nothing is to be said
    messages  what it rests on, as commits name it
    turn      the turn that it is of, "" for none
    address   where the question is asked; None: nowhere, it is listed
    person    who caused the turn, as in Sender.id, "" for nobody
    language  which they read
    at        when it was made (RFC 3339)
    is_asked  whether the question was put
    agreed    who said yes, as `channel:id`; "" until then. It is being carried out from then on.
    """

    id: str
    scope: str
    edits: Mapping[str, Edit]
    source: Literal["turn", "dream"] = "turn"
    origin: Origin | None = None
    reason: str = ""
    messages: tuple[str, ...] = ()
    turn: str = ""
    address: Address | None = None
    person: str = ""
    language: Language = "en"
    at: str = ""
    is_asked: bool = False
    agreed: str = ""


Verdict = Literal["write", "propose", "refuse"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a change of a file that prompts carry may be made, for whoever would make it.

    write    at once, or as its place demands
    propose  not before somebody has said yes
    refuse   never; `reason` says why, for the model that tried
    """

    verdict: Verdict
    reason: str = ""


class ProposalStore(Protocol):
    """Keeps them, over a restart, too. All methods raise StoreError."""

    async def read(self) -> Sequence[ProposedChange]:
        """All of them, the oldest first."""
        ...

    async def change(self, edit: Callable[[Sequence[ProposedChange]], Sequence[ProposedChange]]) -> None:
        """Put others in their place, durably, with nobody in between. What `edit` raises leaves all as it is."""
        ...
