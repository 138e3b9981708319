"""Conversations with questions whose answers are known to stand in certain messages."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ADVERSARIAL = "adversarial"  # asks for what was never said; not in the headline
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: ADVERSARIAL}


@dataclass(frozen=True, slots=True)
class Turn:
    id: str
    session: str
    at: datetime
    speaker: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    turns: Sequence[Turn]
    questions: Sequence[Asked]


def conversations_in(folder: Path) -> list[Conversation]:
    """Every conversation below a folder, in the forms of LoCoMo (a list) and of our Chinese set (an object)."""
    found: list[Conversation] = []
    for path in sorted(folder.rglob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, list):
            found.extend(_locomo(sample) for sample in content)
        elif isinstance(content, dict) and "conversations" in content:
            found.extend(_chinese(conversation) for conversation in content["conversations"])
    return found


def _locomo(sample: dict[str, Any]) -> Conversation:
    talk = sample["conversation"]
    turns = list(_locomo_turns(talk))
    known = {turn.id for turn in turns}
    questions = [
        Asked(asked["question"], _CATEGORIES[asked["category"]], frozenset(_ids(asked["evidence"])) & known)
        for asked in sample["qa"]
    ]
    return Conversation(sample["sample_id"], turns, [asked for asked in questions if asked.evidence])


def _locomo_turns(talk: dict[str, Any]) -> Iterator[Turn]:
    numbers = sorted(int(key.split("_")[1]) for key in talk if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        start = datetime.strptime(talk[f"session_{number}_date_time"] + " +0000", "%I:%M %p on %d %B, %Y %z")
        for minute, turn in enumerate(talk[f"session_{number}"]):
            role = "user" if turn["speaker"] == talk["speaker_a"] else "assistant"
            at = start + timedelta(minutes=minute)
            yield Turn(turn["dia_id"], f"s{number:02}", at, turn["speaker"], role, turn["text"])


def _ids(evidence: Sequence[str]) -> list[str]:
    """Some fields hold several ids in one string."""
    return re.findall(r"D\d+:\d+", " ".join(evidence))


def _chinese(conversation: dict[str, Any]) -> Conversation:
    turns = [
        Turn(
            turn["id"],
            turn["session"].lower(),
            datetime.fromisoformat(f"{turn['date']}T09:00:00+08:00") + timedelta(minutes=minute),
            "",
            "user" if turn["speaker"] == "用户" else "assistant",
            turn["text"],
        )
        for minute, turn in enumerate(conversation["turns"])
    ]
    questions = [
        Asked(asked["question"], asked["category"], frozenset(asked["evidence"])) for asked in conversation["questions"]
    ]
    return Conversation(conversation["id"], turns, questions)
