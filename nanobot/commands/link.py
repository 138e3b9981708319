"""One person on several channels: /link."""

from nanobot.commands.router import Answer, Call, Command
from nanobot.people.links import VALID
from nanobot.people.people import People
from nanobot.people.trouble import PairingError


def link_command(people: People) -> Command:
    """/link gives a code, /link CODE takes one, /link off takes it back."""

    async def handle(call: Call) -> Answer:
        message = call.message
        if message.authority.scope.is_group:
            return Answer(call.say("pairing.link_privately"), failed=True)
        try:
            return Answer(await _done(people, call, message.address.channel, message.sender.id))
        except PairingError as error:
            return Answer(call.say(f"pairing.{error.kind}"), failed=True)

    return Command("link", handle, immediate=True, once=True)


async def _done(people: People, call: Call, channel: str, user_id: str) -> str:
    if not call.argument:
        linking = await people.link_code(channel, user_id)
        return call.say("pairing.link_code", code=linking.code, minutes=round(VALID.total_seconds() / 60))
    if call.argument.casefold() == "off":
        await people.unlink(channel, user_id)
        return call.say("pairing.unlinked")
    return call.say("pairing.linked", who=":".join(await people.link(call.argument, channel, user_id)))
