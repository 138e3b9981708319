"""Why somebody, or a group, was not let in or shown out."""

from typing import Literal

from nanobot.errors import NanobotError

PairingTrouble = Literal[
    "wrong_code",  # there is no such code
    "expired_code",  # there was, and its time is over
    "locked",  # too many wrong codes were tried
    "owner_by_machine",  # owners are not made and unmade over chat
    "not_paired",  # nobody of this id was let in by pairing
    "not_admitted",  # no owner has let this group in
    "link_locked",  # they typed too many wrong codes to be linked by
    "wrong_link",  # no code to be linked by is like this
    "link_owner",  # owners share one memory and have nothing to link
    "linked_already",  # they are the same person already
    "not_linked",  # they are linked to nobody
    "configured",  # the configuration says so, and pairing cannot change that
]


class PairingError(NanobotError):
    """It was not done; the kind chooses the sentence that a person reads."""

    def __init__(self, kind: PairingTrouble) -> None:
        super().__init__(kind)
        self.kind: PairingTrouble = kind
