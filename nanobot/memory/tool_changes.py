"""What the model's file tools change among the long-term files."""

from pathlib import PurePosixPath

from nanobot.memory.commits import Commit
from nanobot.memory.keeping import Asked, Keeping
from nanobot.memory.operations import operations
from nanobot.ports import Caller, Edit
from nanobot.workspace import scope_of


class ToolChanges:
    """Keeps each as a version that names the messages of the turn in which it was made."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping

    async def keep(self, path: PurePosixPath, edit: Edit, caller: Caller) -> bool:
        """Change a file, by its path in the workspace; False if that is left to the tool. See `Keeping.keep`."""
        grounds = await self._keeping.grounds(Asked.in_turn(caller))
        done = "New" if edit.before is None else "Changed"
        commit = Commit(
            kind="tool",
            subject=f"{done}: {path}",
            operations=operations({str(path): edit}, grounds.messages),
            scopes=(scope_of(path),),
            origin=grounds.origin,
            turn=caller.turn,
        )
        return await self._keeping.keep({str(path): edit}, commit)
