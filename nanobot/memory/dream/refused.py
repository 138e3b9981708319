"""Why an operation does not get into memory."""

from typing import Literal

RefusalKind = Literal[
    "malformed",  # it cannot be read
    "target",  # no file of this scope that Dream may write
    "missing",  # no such line or note
    "evidence",  # what it rests on does not exist, or not in this scope
    "unsupported",  # what it rests on does not say so
    "origin",  # only a person's own words may say this
    "secret",  # nothing is left of it without its secrets
    "unsafe",  # invisible characters, tokens of a chat template, marks of our own
    "size",  # too long
    "share",  # it would take away too much at once
    "full",  # there are as many notes as there may be
    "differs",  # it would put into one what differs in a number, a name, a date or a negation
    "undone",  # somebody undid it, and nothing new speaks for it
    "late",  # the file has changed meanwhile, so that it makes no sense any more
]


class Refused(Exception):  # noqa: N818  an outcome, told to the model like any other
    """An operation that is not carried out; the text tells the model what to do about it."""

    def __init__(self, kind: RefusalKind, text: str) -> None:
        super().__init__(text)
        self.kind: RefusalKind = kind
        self.text = text
