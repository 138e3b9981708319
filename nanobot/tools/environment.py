"""What a command inherits: nothing that could be a secret."""

import os
from collections.abc import Mapping

_INHERITED = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LOGNAME", "SHELL", "TMPDIR", "TZ", "USER"}
)
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a command: a short list, not everything but a list; TERM says that nobody paints here."""
    folders = environment.get("PATH", _USUAL_PATH).split(os.pathsep)
    kept = {name: value for name, value in environment.items() if name in _INHERITED}
    # A relative folder on the PATH would be one in the workspace, where the model can write programs.
    return kept | {"PATH": os.pathsep.join(filter(os.path.isabs, folders)) or _USUAL_PATH, "TERM": "dumb"}
