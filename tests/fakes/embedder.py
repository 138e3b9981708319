"""An Embedder whose idea of meaning is a list of subjects."""

from collections.abc import Mapping, Sequence

from nanobot.errors import EmbedderError

SUBJECTS: Mapping[str, Sequence[str]] = {
    "health": ("dentist", "tooth", "doctor", "clinic"),
    "travel": ("train", "flight", "ferry", "voyage"),
    "food": ("soup", "dumplings", "supper", "meal"),
}


class SubjectEmbedder:
    """A text points to the subjects of which it has words; `broken` fails."""

    def __init__(self, name: str = "subjects", *, broken: bool = False) -> None:
        self.name = name
        self.broken = broken
        self.read: list[str] = []

    def of_text(self, text: str) -> bytes:
        self.read.append(text)
        return self.of_question(text)

    def of_question(self, text: str) -> bytes:
        if self.broken:
            raise EmbedderError("the weights are gone")
        words = text.casefold()
        return bytes([*(100 * any(word in words for word in known) for known in SUBJECTS.values()), 1])
