"""An editor in a process of its own: reads a file, thinks, and saves it with one more line, at random moments."""

import random
import sys
import time
from pathlib import Path


def save(path: Path, text: str, *, in_place: bool) -> None:
    """As editors do: over the file itself, or by a new one that takes its name."""
    if in_place:
        path.write_text(text, encoding="utf-8")
        return
    temp = path.with_name(f".{path.name}.editor")
    temp.write_text(text, encoding="utf-8")
    temp.replace(path)


def main(path: Path, seed: str, where: str) -> None:
    """For each line that is given, add it at the beginning, the middle or the end, some time later."""
    chance = random.Random(seed)
    for line in sys.stdin:
        words = line.strip()
        time.sleep(chance.random() * 0.25)
        rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
        time.sleep(chance.random() * 0.02)  # somebody types
        at = {"first": 3, "middle": min(6, len(rows)), "last": len(rows)}[where]
        rows.insert(at, f"- {words}\n")
        save(path, "".join(rows), in_place=chance.random() < 0.5)
        print(words, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
