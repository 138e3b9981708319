"""What a command inherits: nothing that could be a secret."""

import os
from collections.abc import Mapping

_INHERITED = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LOGNAME", "SHELL", "TMPDIR", "TZ", "USER"}
)
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

# The model can write files that git takes for a bare repository, with a configuration that names programs to run.
_GIT = {"safe.bareRepository": "explicit", "core.fsmonitor": "false"}


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a command: what is on a short list, and what makes it harmless.

    TERM says that nobody paints here.
    """
    folders = environment.get("PATH", _USUAL_PATH).split(os.pathsep)
    clean = {name: value for name, value in environment.items() if name in _INHERITED}
    # A relative folder on the PATH would be one in the workspace, where the model can write programs.
    clean["PATH"] = os.pathsep.join(filter(os.path.isabs, folders)) or _USUAL_PATH
    clean["TERM"] = "dumb"
    clean["GIT_CONFIG_COUNT"] = str(len(_GIT))
    for number, (key, value) in enumerate(_GIT.items()):
        clean[f"GIT_CONFIG_KEY_{number}"], clean[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return clean
