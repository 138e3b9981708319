"""Commands about whole conversations: what they do to the log, and what the model reads afterwards."""

from pathlib import Path

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.commands.session import as_markdown
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, OutboundMessage, Quote, Sender
from nanobot.sessions.store import SessionManager
from nanobot.store.private import save_export
from nanobot.transcript import Message
from tests.fakes.bot import ADDRESS, Bot
from tests.fakes.llm import ScriptedLLM, calls, says
from tests.fakes.tools import Echo

GROUP = Address("telegram", "-100")
IN_GROUP = Authority(Role.MEMBER, Scope.group("telegram", "-100"), Origin.PERSON)


def asked(llm: ScriptedLLM) -> list[tuple[str, str | None]]:
    """Roles and words of the last request, without the system message."""
    return [(message.role, message.content) for message in llm.requests[-1].messages[1:]]


async def say_in_group(bot: Bot, words: str, who: str, *, to_bot: bool = True) -> None:
    message = InboundMessage(
        id=new_id(), address=GROUP, sender=Sender(who), authority=IN_GROUP, text=words, to_bot=to_bot
    )
    await bot.bus.publish(message)


async def test_a_retry_asks_the_same_again_and_the_model_does_not_see_its_earlier_answer(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("Hello."), says("Forty."), says("Forty-two."), says("Yes."))
    async with Bot(tmp_path, llm).running() as bot:
        await bot.ask("Hi")
        await bot.ask("How many?")
        answer = await bot.ask("/retry")
        assert answer.text == "Forty-two."
        assert asked(llm) == [("user", "Hi"), ("assistant", "Hello."), ("user", "How many?")]
        assert "Asked again: How many?" in [each.text for each in bot.progress if each.kind == "notice"]
        await bot.ask("Sure?")
        assert asked(llm)[2:] == [("user", "How many?"), ("assistant", "Forty-two."), ("user", "Sure?")]
        said = [message.content for message in await bot.store.messages(ADDRESS.session_key)]
    assert said == ["Hi", "Hello.", "How many?", "Forty.", "How many?", "Forty-two.", "Sure?", "Yes."]
    session = await SessionManager(bot.workspace).load(ADDRESS.session_key)  # as a new process reads it
    assert [line.content for line in session.messages] == [
        "Hi",
        "Hello.",
        "How many?",
        "Forty-two.",
        "Sure?",
        "Yes.",
    ]


async def test_a_retry_of_a_retry_leaves_one_answer_in_view(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("One."), says("Two."), says("Three."))
    async with Bot(tmp_path, llm).running() as bot:
        for words in ("Count", "/retry", "/retry"):
            answer = await bot.ask(words)
    assert answer.text == "Three."
    assert asked(llm) == [("user", "Count")]
    session = await SessionManager(bot.workspace).load(ADDRESS.session_key)
    assert [line.content for line in session.messages] == ["Count", "Three."]


async def test_a_retry_tells_the_model_what_tools_had_done(tmp_path: Path) -> None:
    write = Echo("write_it", reads_only=False)
    llm = ScriptedLLM(calls("write_it"), says("Done."), says("Done before."))
    async with Bot(tmp_path, llm, tools=[write]).running() as bot:
        await bot.ask("Write it")
        await bot.ask("/retry")
    assert len(asked(llm)) == 1
    context = llm.requests[-1].messages[-1].context or ""
    assert "what these tools had done for that answer stays done: write_it" in context


async def test_there_is_nothing_to_retry_at_first_and_nothing_of_somebody_else(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("Three."), says("Four."))
    async with Bot(tmp_path, llm).running() as bot:
        assert (await bot.ask("/retry")).failed
        await say_in_group(bot, "What is 1 + 2?", "ada")
        await bot.hear()
        await say_in_group(bot, "/retry", "bob")
        assert (await bot.hear()).text == "There is no question of yours here that I could answer again."
        await say_in_group(bot, "Lunch?", "bob", to_bot=False)
        await say_in_group(bot, "/retry", "ada")
        told = await bot.hear()
        assert (told if told.text == "Four." else await bot.hear()).text == "Four."  # it may have had to wait
    assert [content for _, content in asked(llm)] == ["Lunch?", "What is 1 + 2?"]


async def test_a_retry_that_a_process_had_begun_goes_on_as_it_was(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("One."), says("Two."))
    async with Bot(tmp_path, llm).running() as bot:
        await bot.ask("First")
        await bot.ask("Second")
        again = InboundMessage(
            id="again", address=ADDRESS, sender=Sender("local"), authority=OWNER_IN_TERMINAL, text="/retry"
        )
        once = await bot.agent.asked_last(again)
        assert once is not None
        assert once.text == "Second"
        session = await bot.store.load(ADDRESS.session_key)
        turn = session.messages[-1].turn
        assert once.retries == turn
        conversation = await bot.agent._conversations.open(ADDRESS.session_key)
        from nanobot.core.turn import user_message

        await conversation.record(user_message(once, None), "turn of the retry")
        assert (await bot.agent.asked_last(again)) == once  # not "First"


async def test_sessions_shows_first_words_and_age_and_resume_takes_its_number(tmp_path: Path) -> None:
    llm = ScriptedLLM(*[says("Fine.") for _ in range(4)])
    work = Address("cli", "work")
    async with Bot(tmp_path, llm).running() as bot:
        await bot.ask("Plan the garden", at=work)
        bot.clock.advance(3 * 3600)
        await bot.ask("What is for lunch?")
        listed = (await bot.ask("/sessions")).text
        assert listed.splitlines()[:2] == [
            "1. cli:test · just now (this one) · What is for lunch?",
            "2. cli:work · 3 hours ago · Plan the garden",
        ]
        moved = await bot.ask("/resume 2")
        assert moved.goes_to == "cli:work"
        assert "You said last: Plan the garden\n\nI said last: Fine." in moved.text
        choices = await bot.ask("/resume")
        assert [(button.label, button.value) for button in choices.buttons] == [
            ("cli:work · 3 hours ago · Plan the garden", "/resume cli:work")
        ]
        assert (await bot.ask("/resume work")).goes_to == "cli:work"
        assert (await bot.ask("/resume 3")).failed
        assert (await bot.ask("/resume nothing")).failed


async def test_first_words_are_those_since_the_last_fresh_start(tmp_path: Path) -> None:
    llm = ScriptedLLM(*[says("Fine.") for _ in range(3)])
    async with Bot(tmp_path, llm).running() as bot:
        for words in ("Old things", "/new", "New things", "More of it"):
            await bot.ask(words)
        assert (await bot.ask("/sessions")).text.splitlines()[0].endswith("(this one) · New things")


async def test_nobody_reads_the_first_words_of_another_and_no_terminal_goes_on_elsewhere(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("Fine."))
    async with Bot(tmp_path, llm).running() as bot:
        await say_in_group(bot, "Something private", "ada")
        await bot.hear()
        listed = (await bot.ask("/sessions")).text
        assert "telegram:-100" in listed
        assert "Something private" not in listed
        refused = await bot.ask("/resume telegram:-100")
        assert refused.failed
        assert not refused.goes_to
        await say_in_group(bot, "/resume cli:test", "ada")
        assert (await bot.hear()).failed


async def test_an_export_is_a_file_that_is_not_replaced_without_a_yes(tmp_path: Path) -> None:
    target = tmp_path / "out" / "talk of today.md"
    target.parent.mkdir()
    llm = ScriptedLLM(says("Hello."))
    async with Bot(tmp_path / "home", llm).running() as bot:
        assert (await bot.ask(f"/export {target}")).failed
        await bot.ask("Hi")
        assert str(target) in (await bot.ask(f"/export {target}")).text
        text_of = target.read_text(encoding="utf-8")
        assert "Hi" in text_of
        assert "Hello." in text_of
        target.write_text("mine", encoding="utf-8")
        assert (await bot.ask(f"/export {target}")).failed
        assert target.read_text(encoding="utf-8") == "mine"
        await bot.ask("yes")
        assert target.read_text(encoding="utf-8") == text_of
        inside = await bot.ask(f"/export {target.parent}")
        assert not inside.failed
        assert len(list(target.parent.iterdir())) == 2
        assert (await bot.ask(f"/export {tmp_path}/no/such/folder/x.md")).failed


async def test_an_export_is_written_where_a_link_leads(tmp_path: Path) -> None:
    notes, link, later = tmp_path / "notes.md", tmp_path / "link.md", tmp_path / "later.md"
    notes.write_text("old", encoding="utf-8")
    link.symlink_to(notes)
    later.symlink_to(tmp_path / "not-there-yet.md")
    for place in (link, later):
        assert save_export(str(place), "talk.md", "new", is_over=True) == (place, True)
        assert place.is_symlink()
        assert place.read_text(encoding="utf-8") == "new"
    assert notes.read_text(encoding="utf-8") == "new"


async def test_on_a_chat_platform_the_export_is_sent_and_no_path_is_taken(tmp_path: Path) -> None:
    llm = ScriptedLLM(says("Hello."))
    private = Address("telegram", "7")
    own = Authority(Role.MEMBER, Scope.person("telegram", "7"), Origin.PERSON)
    async with Bot(tmp_path, llm).running() as bot:

        async def said(words: str) -> OutboundMessage:
            await bot.bus.publish(
                InboundMessage(id=new_id(), address=private, sender=Sender("7"), authority=own, text=words)
            )
            return await bot.hear()

        await said("Hi")
        sent = await said(f"/export {tmp_path}/stolen.md")
        [file] = sent.files
    assert not (tmp_path / "stolen.md").exists()
    assert file.path.startswith("media/people/telegram-7/")
    assert "Hello." in (tmp_path / file.path).read_text(encoding="utf-8")


async def test_resume_shows_code_in_its_lines(tmp_path: Path) -> None:
    code = "def water(plants):\n    for plant in plants:\n        plant.drink()\n"
    llm = ScriptedLLM(says(f"Like this:\n\n```py\n{code * 10}```\n\nThat is all."), says("Fine."))
    async with Bot(tmp_path, llm).running() as bot:
        await bot.ask(code, at=Address("cli", "work"))
        await bot.ask("Hello")
        text = (await bot.ask("/resume work")).text
    shown = code.rstrip("\n")
    assert f"You said last: \n\n```\n{shown}\n```" in text
    assert f"I said last: \n\nLike this:\n\n```py\n{code}" in text
    assert text.endswith("\n…\n```")  # the block that was cut has an end
    assert len(text) < 700


def test_an_export_holds_the_words_of_others_as_theirs() -> None:
    quotes = (Quote("pay me\nnow", "Zoe [id 1]", "forward"), Quote("[contact: Ben]", how="card"))
    line = Message(role="user", content="what is this?", quotes=(*quotes, Quote("a long file", "a.txt", "file")))

    written = "".join(as_markdown("cli:test", [line], "en"))

    assert "\nwhat is this?\n\n> [forward Zoe ‹id 1›]\n> pay me\n> now\n\n> [card]\n> [contact: Ben]\n" in written
    assert "a long file" not in written


async def test_only_what_can_be_resumed_has_a_number_and_what_was_passed_on_stands_for_first_words(
    tmp_path: Path,
) -> None:
    llm = ScriptedLLM(*[says("Fine.") for _ in range(3)])
    private = Address("telegram", "1")
    async with Bot(tmp_path, llm).running() as bot:
        await bot.ask("Plan the garden", at=Address("cli", "work"))
        bot.clock.advance(60)
        forwarded = InboundMessage(
            id=new_id(),
            address=private,
            sender=Sender("1"),
            authority=OWNER_IN_TERMINAL,
            text="",
            quotes=[Quote("The rope is mine", "Mallory [owner]", "forward")],
        )
        await bot.bus.publish(forwarded)
        await bot.hear()
        await bot.ask("What is for lunch?")
        rows = (await bot.ask("/sessions")).text.splitlines()
        assert (await bot.ask("/resume 2")).goes_to == "cli:work"
        assert (await bot.ask("/resume 3")).failed
    numbered = [row for row in rows if row[:1].isdigit()]
    assert [row.split(" ")[:2] for row in numbered] == [["1.", "cli:test"], ["2.", "cli:work"]]
    [elsewhere] = [row for row in rows if row.startswith("- ")]
    assert elsewhere.startswith("- telegram:1 ")
    assert elsewhere.endswith(" · [Mallory ‹owner›] The rope is mine")
