"""What every SessionStore does. A subclass gives a `store`, and says how a new process would see it."""

import asyncio
from collections.abc import Sequence

import pytest

from nanobot.authority import Origin
from nanobot.errors import StoreError
from nanobot.messages import Attachment, Sender
from nanobot.ports import SessionStore
from nanobot.transcript import Archived, Ended, Line, Message, Owed, Reset, Session, ToolCall, Usage, Window

KEY = "telegram:12345"
AT = "2026-11-30T09:00:00.000+01:00"


def says(text: str | None, name: str = "", **more: object) -> Message:
    """A message of a person with an id of its own, or this one."""
    fields: dict[str, object] = {"role": "user", "content": text, "id": name or f"id of {text}", "at": AT, "turn": "t1"}
    return Message(**(fields | more))  # type: ignore[arg-type]  # each test gives fields that fit


def texts(messages: Sequence[Message]) -> list[str | None]:
    return [message.content for message in messages]


FULL = [
    says(
        "look at this",
        origin=Origin.OWNER,
        context="<runtime>Monday</runtime>",
        sender=Sender("12345", "Ada"),
        inbound="telegram:12345:77",
        files=(Attachment("media/p.png", "image/png", "p.png"), Attachment("media/q")),
    ),
    says(
        None,
        "m2",
        role="assistant",
        origin=Origin.WEB,
        tool_calls=(ToolCall("c1", "read_file", '{"path": "a.txt"}'), ToolCall("c2", "list_dir", "{}")),
        usage=Usage(1200, 34, 1000),
        model="gpt-large",
    ),
    says("a.txt", "m3", role="tool", origin=Origin.TOOL, tool_call_id="c1"),
    says("half an ans", "m4", role="assistant", incomplete="cut"),
]


class SessionStoreContract:
    @pytest.fixture
    def store(self) -> SessionStore:
        raise NotImplementedError

    def as_a_new_process_sees(self, store: SessionStore) -> SessionStore:
        raise NotImplementedError

    async def reloaded(self, store: SessionStore, key: str = KEY) -> Session:
        return await self.as_a_new_process_sees(store).load(key)

    async def talk(self, store: SessionStore, *lines: Line, key: str = KEY) -> Session:
        session = await store.load(key)
        for line in lines:
            await store.append(session, line)
        return session

    async def test_an_unknown_key_gives_an_empty_session(self, store: SessionStore) -> None:
        assert await store.load(KEY) == Session(KEY)
        assert await store.messages(KEY) == []
        assert await store.list() == []

    async def test_what_was_appended_is_in_the_session_and_there_tomorrow(self, store: SessionStore) -> None:
        session = await self.talk(store, *FULL)
        assert session.messages == FULL
        assert (await self.reloaded(store)).messages == FULL
        assert list(await store.messages(KEY)) == FULL

    async def test_several_lines_are_added_together(self, store: SessionStore) -> None:
        await store.append(await store.load(KEY), *FULL)
        assert (await self.reloaded(store)).messages == FULL

    async def test_adding_nothing_makes_no_session(self, store: SessionStore) -> None:
        await store.append(await store.load(KEY))
        assert await store.list() == []

    async def test_a_session_is_loaded_once(self, store: SessionStore) -> None:
        session = await self.talk(store, says("one"))
        assert await store.load(KEY) is session

    async def test_a_reset_starts_afresh_and_keeps_the_old_text(self, store: SessionStore) -> None:
        session = await self.talk(store, says("old"), Reset(at=AT, through="id of old"), says("new"))
        assert texts(session.messages) == ["new"]
        assert await self.reloaded(store) == session
        assert texts(await store.messages(KEY)) == ["old", "new"]

    async def test_pieces_are_given_from_the_beginning_of_their_first_turn_on(self, store: SessionStore) -> None:
        turns = ["a", "a", "b", "b", "b", "c", "d", "d"]
        said = [says(str(number), turn=turn) for number, turn in enumerate(turns)]
        await self.talk(store, *said[:5], Reset(at=AT, through="id of 4"), *said[5:])

        async def between(*spans: tuple[str, str]) -> list[str | None]:
            return texts(await store.between(KEY, [(f"id of {first}", f"id of {last}") for first, last in spans]))

        assert await between(("3", "4")) == ["2", "3", "4"]
        assert await between(("7", "7"), ("1", "1"), ("0", "1")) == ["0", "1", "6", "7"]
        assert await between(("1", "5"), ("3", "4")) == ["0", "1", "2", "3", "4", "5"]
        assert await between(("x", "x")) == await between() == []
        assert await store.between("telegram:unknown", [("1", "2")]) == []

    async def test_a_window_leaves_out_what_stands_before_its_message(self, store: SessionStore) -> None:
        session = await self.talk(store, says("1"), says("2"), says("3"), Window(at=AT, start="id of 2"), says("4"))
        assert texts(session.messages) == ["2", "3", "4"]
        assert await self.reloaded(store) == session

    async def test_the_last_window_counts(self, store: SessionStore) -> None:
        marks: list[Line] = [Window(at=AT, start="id of 1"), says("3"), Window(at=AT, start="id of 3")]
        session = await self.talk(store, says("1"), says("2"), *marks, says("4"))
        assert texts(session.messages) == ["3", "4"]
        assert await self.reloaded(store) == session

    async def test_a_window_whose_message_is_not_there_leaves_out_nothing(self, store: SessionStore) -> None:
        session = await self.talk(store, says("1"), Window(at=AT, start="gone"), says("2"))
        assert texts(session.messages) == ["1", "2"]
        assert await self.reloaded(store) == session

    async def test_a_window_does_not_reach_back_over_a_reset(self, store: SessionStore) -> None:
        session = await self.talk(store, says("1"), Reset(at=AT), says("2"), Window(at=AT, start="id of 1"))
        assert texts(session.messages) == ["2"]
        assert await self.reloaded(store) == session

    async def test_of_messages_with_the_same_id_the_window_means_the_last(self, store: SessionStore) -> None:
        same = [says(text, "same") for text in "abc"]
        session = await self.talk(store, *same, Window(at=AT, start="same"), says("d", "same"))
        assert texts(session.messages) == ["c", "d"]
        assert await self.reloaded(store) == session

    async def test_turns_that_ended_are_known_while_their_messages_are_replayed(self, store: SessionStore) -> None:
        one, two = Ended(at=AT, turn="one", how="failed"), Ended(at=AT, turn="two", how="stopped")
        session = await self.talk(store, says("a", turn="one"), one, says("b", turn="two"), two)
        assert session.ended == {"one", "two"}
        assert await self.reloaded(store) == session
        await store.append(session, Window(at=AT, start="id of b"))
        assert session.ended == {"two"}
        assert await self.reloaded(store) == session
        await store.append(session, Reset(at=AT))
        assert session.ended == set()

    async def test_what_is_in_no_episode_is_given_by_conversations(self, store: SessionStore) -> None:
        session = await self.talk(store, says("1"), says("2"), says("3"), Reset(at=AT, through="id of 3"), says("4"))
        assert [texts(part) for part in await store.unarchived(KEY)] == [["1", "2", "3"], ["4"]]
        assert await store.owed() == [Owed(KEY, AT, is_reset=True)]
        await store.append(session, Archived(at=AT, through="id of 1", cursor=1))
        assert [texts(part) for part in await store.unarchived(KEY)] == [["2", "3"], ["4"]]
        await store.append(session, says("5"), Archived(at=AT, through="id of 3", cursor=2))
        assert [texts(part) for part in await store.unarchived(KEY)][-1] == ["4", "5"]
        assert await store.owed() == [Owed(KEY, AT, is_reset=False)]
        await store.append(session, Archived(at=AT, through="id of 5", cursor=3))
        assert [texts(part) for part in await store.unarchived(KEY)] == [[]]
        assert await store.owed() == []

    async def test_an_unknown_conversation_owes_nothing(self, store: SessionStore) -> None:
        assert [texts(part) for part in await store.unarchived("cli:nobody")] == [[]]
        assert await store.owed() == []

    async def test_an_archived_mark_changes_nothing_of_the_replay(self, store: SessionStore) -> None:
        session = await self.talk(store, says("a"), Archived(at=AT, through="id of a", cursor=42), says("b"))
        assert texts(session.messages) == ["a", "b"]
        assert await self.reloaded(store) == session

    async def test_half_a_surrogate_pair_breaks_nothing(self, store: SessionStore) -> None:
        session = await self.talk(store, says("ok \udc88 end"), says("\ud83d\ude00"), says("after"))
        assert texts(session.messages) == ["ok � end", "😀", "after"]
        assert (await self.reloaded(store)).messages == session.messages

    async def test_text_that_looks_like_lines_stays_one_message(self, store: SessionStore) -> None:
        nasty = 'a\n{"type":"reset","at":"x"}\r\nb\u2028c\u0085d\0e "tool_calls"'
        session = await self.talk(store, says(nasty))
        assert texts((await self.reloaded(store)).messages) == [nasty] == texts(session.messages)

    @pytest.mark.parametrize("key", ["", "cli:a\0b"])
    async def test_a_key_that_cannot_be_is_refused(self, store: SessionStore, key: str) -> None:
        for attempt in (
            store.load(key),
            store.append(Session(key), says("x")),
            store.messages(key),
            store.delete(key),
        ):
            with pytest.raises(StoreError, match="name of a session"):
                await attempt
        assert await store.list() == []

    async def test_sessions_are_listed_the_latest_first(self, store: SessionStore) -> None:
        await self.talk(store, says("x", at="2026-11-30T09:00:00.000+01:00"), key="cli:b")
        await self.talk(store, says("x", at="2026-11-30T09:30:00.000+02:00"), key="cli:a")
        await self.talk(store, says("x", at="2026-12-01T00:00:00.000+01:00"), key="cli:c")
        infos = await self.as_a_new_process_sees(store).list()
        assert [info.key for info in infos] == ["cli:c", "cli:b", "cli:a"]
        assert infos[0].updated == "2026-12-01T00:00:00.000+01:00"
        assert all(info.size > 0 for info in infos)

    async def test_a_deleted_session_is_gone_and_may_begin_again(self, store: SessionStore) -> None:
        await self.talk(store, says("secret"))
        assert await store.delete(KEY)
        assert not await store.delete(KEY)
        assert await store.load(KEY) == Session(KEY)
        assert await store.list() == []
        await self.talk(store, says("new"))
        assert texts(await store.messages(KEY)) == ["new"]

    async def test_sessions_do_not_mix_and_appends_keep_their_order(self, store: SessionStore) -> None:
        one, two = await store.load("cli:one"), await store.load("cli:two")
        await asyncio.gather(*(store.append(s, says(f"{s.key} {n}")) for n in range(20) for s in (one, two)))
        for session in (one, two):
            assert texts(session.messages) == [f"{session.key} {n}" for n in range(20)]
            assert (await self.reloaded(store, session.key)).messages == session.messages
