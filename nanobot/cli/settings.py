"""The options that every subcommand has: what they stand for, and where a bug that ends one is written down."""

import os
import traceback
from argparse import Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from nanobot.config import Config, Loaded, read
from nanobot.config.describing import idle_keys
from nanobot.config.values import zone_mistake
from nanobot.errors import ConfigError, NanobotError
from nanobot.i18n import Language, consent, known_language, say
from nanobot.ops.doctor import Finding, warning
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, Home, make_private


def home_of(args: Namespace) -> Home:
    """~/.nanobot, or where NANOBOT_HOME points. Raises ConfigError if nobody knows where that is."""
    return Home(_absolute(os.environ.get("NANOBOT_HOME") or "~/.nanobot"))


def config_of(args: Namespace) -> Config:
    """The configuration that a command runs with. Raises ConfigError."""
    return loaded_of(args).config


def loaded_of(args: Namespace) -> Loaded:
    """The same, with what it was read from."""

    return read(home_of(args), _path(args.config), _path(args.workspace), os.environ)


def config_path_of(args: Namespace) -> Path:
    """The file that the configuration is read from; it may be missing."""
    return _path(args.config) or home_of(args).config


def workspace_of(args: Namespace) -> Path:
    """The workspace as far as it can be known without the configuration."""
    return _path(args.workspace) or home_of(args).workspace


def language_here(configured: str) -> Language:
    """The language in which a command answers: as configured (`language`), or that of the environment if it is auto.

    All that commands print goes by it, but for what argparse says (`--help`) and errors (`nanobot: …`): these are
    English, so that they can be searched for. Of LC_ALL, LC_MESSAGES and LANG, the first counts that is set.
    """
    if configured == "auto":
        names = ("LC_ALL", "LC_MESSAGES", "LANG")
        configured = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return known_language(configured)


def starting_words(args: Namespace, loaded: Loaded) -> list[str]:
    """Return the notices at the start, a line each: about the configuration, and about a home that others can read."""

    home, language = home_of(args).root, language_here(loaded.config.language)
    if not home.exists() or (was_done := make_private(home)) is None:
        return idle_words(loaded)
    sentence = "doctor.home_is_private" if was_done else "doctor.privacy_no_modes"
    return [*idle_words(loaded), say(sentence, language, path=home)]


def idle_words(loaded: Loaded) -> list[str]:
    """Return a line for each key that is set and has no effect yet, and for a TZ that has none."""

    keys, language = idle_keys(loaded), language_here(loaded.config.language)
    told = [say("doctor.config_idle", language, keys=", ".join(keys), count=len(keys))] if keys else []
    told += [say("doctor.config_no_limits", language)] if "limits" in keys else []
    return told + [say(finding.sentence, language, **finding.values) for finding in zone_findings(loaded)]


def zone_findings(loaded: Loaded) -> list[Finding]:
    """Return the finding that TZ is no time zone, if the time is told by it."""

    variable = os.environ.get("TZ", "")
    better = "" if loaded.config.timezone else zone_mistake(variable)
    return [warning("doctor.timezone_unknown", variable=variable, better=better)] if better else []


def agreed(question: str) -> bool:
    """Ask at the terminal; only a yes is one, in either language."""

    try:
        return consent(input(question)) is True
    except EOFError:
        return False


def _path(option: str | None) -> Path | None:
    return None if option is None else _absolute(option)


def _absolute(typed: str) -> Path:
    try:
        return Path(typed).expanduser().absolute()
    except RuntimeError as error:  # a container may run us as a user without a home
        raise ConfigError(f"{typed}: that home folder is unknown; set NANOBOT_HOME, or write the whole path") from error


def note_bug(bug: Exception, args: Namespace) -> str:
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


def _hiding(args: Namespace) -> Callable[[str], str]:
    """Hide what looks like a secret, and those of the configuration, if it can be read."""
    from nanobot.app.context import hiding

    try:
        return hiding(config_of(args))
    except Exception:  # noqa: BLE001  it may be what the bug is about
        return hiding(None)
