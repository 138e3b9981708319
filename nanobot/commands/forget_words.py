"""Forgetting in words: what would go, and the receipt."""

from collections.abc import Iterator, Mapping, Sequence

from nanobot.i18n import Language, say
from nanobot.memory.forget.forget import DAMAGED, LOOKING, NO_GIT, Preview, Receipt
from nanobot.ports import Meant, Piece

MOST_SHOWN = 4
MOST_OWN = 30
MOST_LEFT = 5


class Words:
    """In one language; `typed` is what the person writes in front of their words."""

    def __init__(self, language: Language, typed: str) -> None:
        self._language: Language = language
        self._typed = typed

    def say(self, sentence: str, /, **values: object) -> str:
        return say(f"forget.{sentence}", self._language, forget=self._typed, **values)

    def nothing(self, preview: Preview) -> str:
        """There is nothing to forget."""
        return "\n".join([self.say("nothing_found"), *self._left(preview.left, whole=True)])

    def preview(self, preview: Preview, *, whole: bool) -> Sequence[str]:
        """What would go, line by line: how much in each place, and what there; of much, the first, unless `whole`."""
        lines = [self.say("preview"), *self._linked(preview.meaning.meant)]
        for place, count in preview.counts.items():
            if count:
                lines += [self._place(place, count), *self._shown(preview.shown[place], count, whole=whole)]
        return [*lines, *self._left(preview.left, whole=whole)]

    def ask(self, token: str, number: int) -> Sequence[str]:
        """How to say yes to it."""
        return ["", self.say("ask_number" if number else "ask", token=token, number=number)]

    def receipt(self, receipt: Receipt, *, at_shell: bool = False) -> str:
        """What is gone, what stays, and what nobody here can reach."""
        return "\n".join(
            [
                self.say("unfinished" if receipt.is_unfinished else "done"),
                *self._places(receipt.counts),
                *(self._failed(place, why) for place, why in receipt.failed.items()),
                *self._leftovers(receipt.leftovers),
                *self._remaining(receipt.remaining),
                *self._left(receipt.left),
                "",
                self.say("beyond"),
                *([self.say("beyond_shell")] if at_shell else []),
            ]
        )

    def _places(self, counts: Mapping[str, int]) -> Iterator[str]:
        yield from (self._place(place, count) for place, count in counts.items() if count)

    def _place(self, place: str, count: int) -> str:
        return f"- {self.say('counted', place=self.say(f'place_{place}'), count=f'{count:,}')}"

    def is_cut(self, preview: Preview) -> bool:
        """Whether the preview leaves out something that could be shown."""
        return len(preview.left) > MOST_LEFT or any(
            len(_at_first(each)) < len(each) for place, each in preview.shown.items() if preview.counts.get(place)
        )

    def _shown(self, pieces: Sequence[Piece], count: int, *, whole: bool) -> Iterator[str]:
        """Each with the place where it stands: all that stands in people's own files, the first of others.

        `count` is how many there are: of some a store shows nothing by themselves.
        """
        shown = pieces if whole else _at_first(pieces)
        for piece in shown:
            where = f"{piece.where}{self.say('past') if piece.is_past else ''}"
            yield f"  - {self.say('stands', where=where, text=piece.text) if piece.text else where}"
        many = max(count, len(pieces)) if any(piece.text for piece in pieces) else len(pieces)
        if many > len(shown):
            yield f"  - {self.say('more_lines', count=many - len(shown))}"

    def _linked(self, meant: Meant) -> Iterator[str]:
        """Of somebody who is linked: under which ids all goes, and from which folders."""
        if len(meant.people) > 1:
            folders = sorted(note for note in meant.notes if note.endswith("/"))
            yield self.say("linked", who=", ".join(sorted(meant.people)), folders=", ".join(folders))

    def _left(self, places: Sequence[str], *, whole: bool = False) -> Iterator[str]:
        if places:
            yield self.say("left", places=", ".join(places) if whole else _first(places))

    def _failed(self, place: str, why: str) -> str:
        if why == NO_GIT:
            return self.say("no_git")
        if why.startswith(DAMAGED):
            return self.say("damaged", why=why.removeprefix(DAMAGED))
        if place == LOOKING:
            return self.say("not_looked", why=why)
        return self.say("failed", place=self.say(f"place_{place}"), why=why)

    def _remaining(self, places: Sequence[str]) -> Iterator[str]:
        if places:
            yield self.say("remaining", places=", ".join(self.say(f"place_{place}") for place in places))

    def _leftovers(self, files: Sequence[str]) -> Iterator[str]:
        if files:
            yield self.say("leftovers", files=_first(files))


def _first(names: Sequence[str]) -> str:
    """The first of them, and how many there are beside them."""
    more = len(names) - MOST_LEFT
    return ", ".join(names[:MOST_LEFT]) + (f", … (+{more})" if more > 0 else "")


def _at_first(pieces: Sequence[Piece]) -> Sequence[Piece]:
    own, others = ([piece for piece in pieces if piece.is_own is is_own] for is_own in (True, False))
    return [*own[:MOST_OWN], *others[:MOST_SHOWN]]
