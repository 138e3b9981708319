"""What `nanobot memory forget` does: whoever is at the machine reaches everybody's memory."""

from collections.abc import Sequence

from nanobot.commands.forget import Asked, Asker, Forgetting
from nanobot.memory.forget.reach import EVERYBODY, Reach

EVERY_SCOPE = "*"
_TYPED = "nanobot memory forget"


async def forget_at_shell(forgetting: Forgetting, args: Sequence[str]) -> Asked:
    """`args`: language, scope or `*` for all, then show WORDS | yes TOKEN NUMBER | no TOKEN. Raises StoreError."""
    language, scope, action, *words = args
    reach = EVERYBODY if scope == EVERY_SCOPE else Reach(frozenset({scope}))
    asker = Asker(by="", reach=reach, language="zh" if language == "zh" else "en", typed=_TYPED)
    if action == "yes":
        return await forgetting.yes(words[0], words[1], asker)
    if action == "no":
        return await forgetting.no(words[0], asker)
    return await forgetting.show(" ".join(words), asker)
