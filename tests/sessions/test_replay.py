"""A session in memory, and the same one read backwards from its log."""

from hypothesis import given
from hypothesis import strategies as st

from nanobot.sessions.replay import Replay, follow
from nanobot.transcript import Archived, Ended, Line, Message, Reset, Session, Window


def gathered(log: list[Line]) -> Session:
    replay = Replay()
    for line in reversed(log):
        if not replay.take(line):
            break
    return replay.session("key")


@given(st.data(), st.lists(st.sampled_from(["message", "reset", "window", "ended", "archived", "retry"]), max_size=30))
def test_both_agree_after_every_line(data: st.DataObject, kinds: list[str]) -> None:
    session, log, turn = Session("key"), list[Line](), "0"
    for kind in kinds:
        whole = session.messages[session.kept :]
        if kind == "retry":
            turn += "0"  # asked again in a turn of its own
        ids = [message.id for message in whole] or ["gone"]
        turns = [message.turn for message in whole]
        made: dict[str, Line] = {
            "message": Message(role="user", content="x", id=data.draw(st.sampled_from("abcdef")), turn=turn),
            "retry": Message(
                role="user", content="x", id=f"again {len(log)}", turn=turn, retries=whole[-1].turn if whole else "gone"
            ),
            "reset": Reset(at="", through=ids[-1]),
            "window": Window(
                at="",
                start=data.draw(st.sampled_from(ids)),
                kept=[turn for turn in dict.fromkeys(turns) if data.draw(st.booleans())],
                brief=data.draw(st.sampled_from([None, *ids])),
                episodes=data.draw(st.none() | st.integers(1, 9)),
            ),
            "ended": Ended(at="", turn=turn, how="stopped"),
            "archived": Archived(at="", through=ids[0], cursor=len(log)),
        }
        log.append(made[kind])
        follow(session, [made[kind]])
        if kind == "ended" or data.draw(st.booleans()):
            turn += "0"  # nothing is said in a turn that has ended
        assert gathered(log) == session
