"""Who talks with the bot in the month, and where."""

from dataclasses import dataclass

from nanobot.authority import Scope
from nanobot.messages import Address, Sender


@dataclass(frozen=True, slots=True)
class Place:
    """Somebody somewhere. `memory` is whose memory is spoken to there; `group` is the group's id, "" in private."""

    address: Address
    sender: Sender
    memory: Scope
    group: str = ""


OWNER = Scope.owner()
BOB = Scope.person("telegram", "2002")
CHEN = Scope.person("discord", "501")
HIKERS = Scope.group("telegram", "-100700")
SCOPES = (OWNER, BOB, CHEN, HIKERS)

_ADA, _BOB = Sender("1001", "Ada"), Sender("2002", "Bob")
_HIKERS = Address("telegram", "-100700")

TERMINAL = Place(Address("cli", "default"), Sender("local", "ada"), OWNER)
TELEGRAM = Place(Address("telegram", "1001"), _ADA, OWNER)
DISCORD = Place(Address("discord", "9700"), Sender("700", "Ada"), OWNER)
WITH_BOB = Place(Address("telegram", "2002"), _BOB, BOB)
WITH_CHEN = Place(Address("discord", "9501"), Sender("501", "Chen"), CHEN)
HIKERS_BOB = Place(_HIKERS, _BOB, HIKERS, group="-100700")
HIKERS_ADA = Place(_HIKERS, _ADA, HIKERS, group="-100700")
HIKERS_MALLORY = Place(_HIKERS, Sender("6666", "Mallory"), HIKERS, group="-100700")
MALLORY = Place(Address("telegram", "6666"), Sender("6666", "Mallory"), Scope.person("telegram", "6666"))

HOME_OF = {OWNER: TERMINAL, BOB: WITH_BOB, CHEN: WITH_CHEN, HIKERS: HIKERS_ADA}
"""Where each memory is asked about in the end."""

CONFIG = {
    "telegram": {
        "token": "1:AAmonth",
        "owners": ["1001"],
        "members": ["2002"],
        "groups": {"-100700": "mention"},
    },
    "discord": {"token": "a.month.long", "owners": ["700"], "members": ["501"]},
    "memory": {"archive_after": "30m", "dream": {"every": "12h"}},
    "sessions": {"fsync": False},
    "language": "en",
    "timezone": "UTC",
}
"""The channels, and dreams in the night."""
