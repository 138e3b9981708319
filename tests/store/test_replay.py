"""A session in memory, and the same one read backwards from its log."""

from hypothesis import given
from hypothesis import strategies as st

from nanobot.store.replay import Replay, follow
from nanobot.transcript import Archived, Ended, Line, Message, Reset, Session, Window


def gathered(log: list[Line]) -> Session:
    replay = Replay()
    for line in reversed(log):
        if not replay.take(line):
            break
    return replay.session("key")


@given(st.data(), st.lists(st.sampled_from(["message", "reset", "window", "ended", "archived"]), max_size=30))
def test_both_agree_after_every_line(data: st.DataObject, kinds: list[str]) -> None:
    session, log, turn = Session("key"), list[Line](), "0"
    for kind in kinds:
        ids = [message.id for message in session.messages] or ["gone"]
        made: dict[str, Line] = {
            "message": Message(role="user", content="x", id=data.draw(st.sampled_from("abcdef")), turn=turn),
            "reset": Reset(at="", through=ids[-1]),
            "window": Window(at="", start=data.draw(st.sampled_from(ids))),
            "ended": Ended(at="", turn=turn, how="stopped"),
            "archived": Archived(at="", through=ids[0], cursor=1),
        }
        log.append(made[kind])
        follow(session, [made[kind]])
        if kind == "ended" or data.draw(st.booleans()):
            turn += "0"  # nothing is said in a turn that has ended
        assert gathered(log) == session
