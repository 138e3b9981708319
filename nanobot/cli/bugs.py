"""What is written down of a bug that ends a command."""

import traceback
from argparse import Namespace
from datetime import UTC, datetime

from nanobot.cli.settings import config_of, home_of
from nanobot.errors import NanobotError
from nanobot.ops.logs import Hide
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER


def noted(bug: Exception, args: Namespace) -> str:
    """Put the traceback into the log; where it is, in words.

    None of the secrets of the configuration is in it, nor anything that has the form of one.
    """
    told = _hiding(args)("".join(traceback.format_exception(bug)))
    try:
        log = home_of(args).log
        log.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        log.touch(mode=PRIVATE_FILE)
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{datetime.now(UTC).isoformat()} ERROR nanobot.cli\n{told}")
    except (OSError, NanobotError) as error:
        return f"the details could not be logged ({error})"
    return f"the details are in {log}"


def _hiding(args: Namespace) -> Hide:
    """Hide what looks like a secret, and those of the configuration, if it can be read."""
    from nanobot.app.ground import hiding

    try:
        return hiding(config_of(args))
    except Exception:  # noqa: BLE001  it may be what the bug is about
        return hiding(None)
