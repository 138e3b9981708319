"""Whatever goes wrong, and wherever the process dies, each chat ends up with every message once, in order."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby

from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from nanobot.channels.delivery.deliverer import MOST_UNCONFIRMED
from nanobot.messages import Address, OutboundMessage
from tests.channels.delivery.scene import ANN, BOB, GROUP, TOPIC, Scene, progress
from tests.fakes.life import NEVER, Life
from tests.fakes.platform import LIMIT, MARK, Fault, Method, flood, lost_reply, no_connection

PLACES = (ANN, TOPIC, BOB, GROUP)
PIECE = LIMIT - len(MARK)

Move = tuple[int, str, float]
"""Where, what, and how many seconds later the next one comes."""

moves = st.lists(
    st.tuples(
        st.integers(0, len(PLACES) - 1),
        st.sampled_from(["go", "go", "go", "answer", "answer", "notice", "step", "tool", "restart", "stop"]),
        st.sampled_from([0.0, 0.0, 0.5, 1.5, 4.0, 8.0]),
    ),
    min_size=3,
    max_size=40,
)
ends = st.lists(st.integers(1, 90), max_size=3)


class Story:
    """What is said in each place, and what a person is to see of it in the end."""

    def __init__(self, scene: Scene) -> None:
        self.expected: defaultdict[Address, list[str]] = defaultdict(list)
        self.remarked: set[str] = set()  # turns of which more than the answer may stay
        self._scene = scene
        self._open: dict[Address, tuple[str, str]] = {}  # the turn that runs, and what it has said
        self._count = 0

    def move(self, at: Address, kind: str) -> None:
        turn, said = self._open.get(at, ("", ""))
        if kind == "notice":
            self._say(at, [self._piece("notice")], None)
        elif not turn:
            self._count += 1
            self._open[at] = (f"turn{self._count}", "")
            self._scene.outbox.put(progress("started", "", at, f"turn{self._count}"))
        elif kind == "answer":
            del self._open[at]
            self._say(at, [self._piece(turn) for _ in range(1 + len(turn) % 3)], turn)
            self._scene.outbox.put(progress("ended", "", at, turn))
        else:
            self._go_on(at, kind, turn, said)

    def _go_on(self, at: Address, kind: str, turn: str, said: str) -> None:
        if kind == "go":
            piece = self._piece(turn)[: PIECE // 2 + self._count % 100]
            self._open[at] = (turn, said + piece)
            self._scene.outbox.put(progress("text", piece, at, turn))
        elif kind == "tool":
            self._scene.outbox.put(progress("tool", f"{turn}: working", at, turn))
        elif kind == "restart":
            self._open[at] = (turn, "")
            self._scene.outbox.put(progress("restart", "", at, turn))
        else:
            self.remarked.add(turn)
            self._open[at] = (turn, "")
            self._scene.outbox.put(progress("step" if kind == "step" else "ended", "", at, turn))
            if kind == "stop":
                del self._open[at]

    def resume(self) -> None:
        """The turns that a crash interrupted begin again."""
        for at, (turn, said) in self._open.items():
            self._scene.outbox.put(progress("started", "", at, turn), progress("text", said, at, turn))

    def finish(self) -> None:
        for at in list(self._open):
            self.move(at, "answer")

    def _piece(self, what: str) -> str:
        self._count += 1
        return f"<{what}.{self._count}>".ljust(PIECE, ".")

    def _say(self, at: Address, pieces: Sequence[str], turn: str | None) -> None:
        self.expected[at] += pieces
        text, name = "".join(pieces), f"m{self._count}"
        self._scene.outbox.put(OutboundMessage(id=name, address=at, text=text, turn=turn))


class Luck:
    """Makes requests go wrong now and then."""

    def __init__(self, seed: int, rate: float) -> None:
        self.uncertain: Counter[Method] = Counter()
        self._random = random.Random(seed)
        self._rate = rate

    def __call__(self, method: Method, address: Address) -> Fault | None:
        if self._random.random() >= self._rate:
            return None
        faults = [
            flood(self._random.uniform(1, 30)),
            flood(5, everywhere=True),
            no_connection(),
            lost_reply(arrives=True),
            lost_reply(arrives=False),
        ]
        fault = self._random.choice(faults)
        if fault in faults[3:]:
            self.uncertain[method] += 1
        return fault

    def leave(self) -> None:
        self._rate = 0.0


async def play(scene: Scene, luck: Luck, plan: Sequence[Move], ends_at: Sequence[int]) -> Story:
    """Live through the plan in several lives; the last one ends well."""
    story, left = Story(scene), list(plan)
    scene.platform.chance = luck
    for end in [*ends_at, NEVER]:
        async with scene.running(life=(life := Life(end))):
            story.resume()
            await scene.pass_()
            while left and not life.is_over:
                place, kind, seconds = left.pop(0)
                story.move(PLACES[place], kind)
                await scene.pass_(seconds)
            if end == NEVER:
                luck.leave()
                story.finish()
                await scene.pass_(40, step=0.5)
                while scene.outbox.waiting:
                    await scene.pass_(5, step=1)
                await scene.pass_(20)
                assert len(scene.deliverer._shows) == 0
                assert scene.deliverer._answering == {}
    return story


TWICE_LOST: Sequence[Move] = [
    *((3, "go", 1.5), (0, "step", 4.0), (3, "restart", 4.0), (2, "go", 1.5), (1, "go", 0.0)),
    *((3, "go", 8.0), (3, "notice", 8.0), (3, "notice", 8.0), (2, "answer", 1.5)),
]
"""Two processes each lose a preview of one turn."""


@settings(phases=[Phase.explicit, Phase.generate])
@example(plan=TWICE_LOST, ends_at=[58], seed=423, rate=0.1)
@given(plan=moves, ends_at=ends, seed=st.integers(0, 10_000), rate=st.sampled_from([0.0, 0.1, 0.3]))
def test_where_the_chat_can_be_searched_everything_stands_there_once(
    plan: Sequence[Move], ends_at: Sequence[int], seed: int, rate: float
) -> None:
    scene = Scene(can_find=True)

    story = asyncio.run(play(scene, Luck(seed, rate), plan, ends_at))

    assert scene.outbox.reasons == {}
    for at in PLACES:
        seen = scene.platform.seen(at)
        assert [text for text in seen if not text.startswith("~")] == story.expected[at]
        assert set(scene.platform.previewed(at)) <= story.remarked


@settings(phases=[Phase.generate])
@given(plan=moves, ends_at=ends, seed=st.integers(0, 10_000), rate=st.sampled_from([0.0, 0.1, 0.3]))
def test_where_it_cannot_be_searched_only_what_is_uncertain_is_repeated_and_says_so(
    plan: Sequence[Move], ends_at: Sequence[int], seed: int, rate: float
) -> None:
    scene, luck = Scene(), Luck(seed, rate)

    story = asyncio.run(play(scene, luck, plan, ends_at))

    crashes = len(ends_at)
    repeats = previews = 0
    for at in PLACES:
        seen = scene.platform.seen(at)
        final = [text for text in seen if not text.startswith("~")]
        copies = [list(group) for _, group in groupby(final, key=lambda text: text.removeprefix(MARK))]
        missing = len(story.expected[at]) - len(copies)
        assert is_subsequence([group[-1].removeprefix(MARK) for group in copies], story.expected[at])
        assert missing == 0 or scene.outbox.reasons
        assert all(copy.startswith(MARK) for group in copies for copy in group[1:])
        repeats += sum(text.startswith(MARK) for text in final)
        previews += sum(turn not in story.remarked for turn in scene.platform.previewed(at))
    assert len(scene.outbox.reasons) <= luck.uncertain["send"] // MOST_UNCONFIRMED
    assert repeats <= luck.uncertain["send"] + luck.uncertain["send_preview"] + crashes * len(PLACES)
    assert previews <= luck.uncertain["send_preview"] + crashes * len(PLACES)


def is_subsequence(some: Sequence[str], every: Sequence[str]) -> bool:
    rest = iter(every)
    return all(each in rest for each in some)
