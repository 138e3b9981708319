"""Slash commands and buttons."""

from nanobot.channels.discord.channel import DiscordChannel
from nanobot.messages import Button, InboundMessage, OutboundMessage
from tests.channels.discord.scene import COMMANDS, Scene, answer, at
from tests.fakes.discord_rest import Fault


async def answered(channel: DiscordChannel, heard: InboundMessage, text: str) -> None:
    message = OutboundMessage(id="A", address=heard.address, text=text, reply_to=heard.id)
    await channel.send(message, channel.parts(message)[0], 0)


async def test_the_commands_are_set_once_and_again_when_they_change(scene: Scene) -> None:
    def told() -> int:
        return sum(call.method == "PUT" for call in scene.discord.calls)

    for times in (1, 1):
        async with scene.running():
            assert told() == times
    scene.commands = COMMANDS[:1]
    async with scene.running():
        assert told() == 2

    (menu,) = scene.discord.rest.commands
    assert (menu["name"], menu["description"]) == ("help", "what I can do")
    assert menu["description_localizations"]["zh-CN"] == "我会做的事"
    assert [option["required"] for option in menu["options"]] == [False]


async def test_commands_that_cannot_be_set_do_not_keep_it_from_listening(scene: Scene) -> None:
    scene.discord.fail(Fault("PUT", "/commands", status=429, body={"retry_after": 86400.0, "message": "too many"}))

    async with scene.running():
        await scene.nothing_but(0)
    async with scene.running():
        assert scene.discord.rest.commands


async def test_a_slash_command_is_confirmed_at_once_and_answered_with_a_reply(scene: Scene) -> None:
    async with scene.running() as channel:
        asked = scene.discord.slash(scene.ada, scene.general, "dream-restore", "the last one")
        heard = await scene.hears()
        await scene.discord.until(lambda: "Nano: /dream-restore the last one" in scene.discord.shown(scene.general))
        await answered(channel, heard, "Restored.")

    assert (heard.text, heard.address, heard.sender.name) == (
        "/dream-restore the last one",
        at(scene.general),
        "Ada",
    )
    assert asked.answered == {"type": 5}
    assert scene.discord.shown(scene.general) == ["Nano: /dream-restore the last one", "Nano: ↪ Restored."]


async def test_it_is_confirmed_before_anything_slow(scene: Scene) -> None:
    scene.discord.fail(Fault("GET", "/attachments/", status=None))
    own = scene.discord.dm(scene.ada)

    async with scene.running():
        scene.discord.says(scene.ada, own, "look", files=[("slow.bin", b"1", None)])
        await scene.discord.until(lambda: any("slow.bin" in call.path for call in scene.discord.calls))
        asked = scene.discord.slash(scene.ada, own, "help")
        await scene.discord.until(lambda: asked.answered)

    assert scene.heard == []


async def test_a_call_that_expired_runs_all_the_same(scene: Scene) -> None:
    own = scene.discord.dm(scene.ada)

    async with scene.running() as channel:
        scene.discord.slash(scene.ada, own, "help", late=True)
        heard = await scene.hears()
        await answered(channel, heard, "done")

    assert heard.text == "/help"
    assert scene.discord.shown(own) == ["Nano: done"]


async def test_a_call_that_is_told_twice_runs_once(scene: Scene) -> None:
    scene.discord.gateway.copies = 2
    own = scene.discord.dm(scene.ada)

    async with scene.running():
        scene.discord.slash(scene.ada, own, "help")
        await scene.hears(1)
        await scene.nothing_but(1)


async def test_strangers_get_no_answer_to_a_slash_command_in_a_group(scene: Scene) -> None:
    async with scene.running():
        scene.discord.slash(scene.eve, scene.general, "help")
        await scene.discord.until(lambda: any(call.method == "DELETE" for call in scene.discord.calls))

    assert scene.heard == []
    assert scene.discord.shown(scene.general) == []


async def test_a_button_answers_its_question_also_after_a_restart(scene: Scene) -> None:
    own, long = scene.discord.dm(scene.ada), "it is a long story " * 10
    buttons = [Button("Yes", "yes"), Button("Tell", long), Button("=", "a=b")]
    question = answer(own, "May I?", id="01QUESTION", kind="question", buttons=buttons)
    async with scene.running() as channel:
        await channel.send(question, channel.parts(question)[0], 0)
        (shown,) = scene.discord.sent(own)

    async with scene.running():
        for label in ("Yes", "Tell", "="):
            scene.discord.presses(scene.ada, own, shown, label)
        heard = [await scene.hears(number) for number in (1, 2, 3)]

    assert sorted((message.answers, message.text) for message in heard) == [
        ("01QUESTION", "a=b"),
        ("01QUESTION", long),
        ("01QUESTION", "yes"),
    ]
    assert {asked.answered["type"] for asked in scene.discord.rest.asked.values() if asked.answered} == {6}


async def test_a_stranger_presses_in_vain_and_so_does_anybody_on_a_foreign_button(scene: Scene) -> None:
    question = answer(scene.general, "May I?", kind="question", buttons=[Button("Yes", "yes")])
    async with scene.running() as channel:
        await channel.send(question, channel.parts(question)[0], 0)
        (shown,) = scene.discord.sent(scene.general)
        scene.discord.presses(scene.eve, scene.general, shown, "Yes")
        shown["components"][0]["components"][0]["custom_id"] = "somebody else's"
        scene.discord.presses(scene.ada, scene.general, shown, "Yes")
        await scene.nothing_but(0, scene.general)


async def test_in_a_thread_a_slash_command_belongs_to_the_thread(scene: Scene) -> None:
    thread = scene.discord.thread(scene.general, "ideas")

    async with scene.running():
        scene.discord.slash(scene.ada, thread, "help")
        heard = await scene.hears()

    assert heard.address == at(thread)
