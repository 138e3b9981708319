"""/model: shows which model answers, and chooses another for this session."""

from difflib import get_close_matches

from nanobot.agent.models import Models
from nanobot.authority import Role
from nanobot.commands.router import Answer, Call, Command
from nanobot.messages import Button


def model_command(models: Models) -> Command:
    async def handle(call: Call) -> Answer:
        key = call.message.address.session_key
        if not call.argument:
            return _list(models, key, call)
        if call.argument not in models.names:
            meant = get_close_matches(call.argument, models.names, n=1)
            names = ", ".join(meant or models.names)
            return Answer(call.say("command.no_such_model", name=call.argument, names=names), failed=True)
        await models.choose(key, call.argument)
        return Answer(call.say("command.model_chosen", name=call.argument, model=models.get(key)[0].info.model))

    return Command("model", handle, immediate=True, role_in_group=Role.OWNER)


def _list(models: Models, key: str, call: Call) -> Answer:
    info = models.get(key)[0].info
    text = call.say("command.model", name=info.preset, model=info.model, window=f"{info.context_window:,}")
    others = [name for name in models.names if name != info.preset]
    if not others:
        return Answer(f"{text}\n{call.say('command.only_model')}")
    return Answer(f"{text}\n{call.say('command.other_model')}", [Button(name, f"/model {name}") for name in others])
