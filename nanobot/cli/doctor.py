"""`nanobot doctor`: look whether all is well, and say what to do if not."""

import argparse
from typing import TYPE_CHECKING

from nanobot.cli.doctor_memory import memory_checks
from nanobot.cli.doctor_platforms import platform_checks
from nanobot.cli.settings import config_path_of, home_of, language_here, loaded_of, workspace_of, zone_findings
from nanobot.cli.telling import tell
from nanobot.errors import ConfigError

if TYPE_CHECKING:  # what looks at sockets and files is not needed for `nanobot --help`
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from nanobot.config import Loaded, ModelPreset
    from nanobot.i18n import Language
    from nanobot.ops.doctor import Check, Finding
    from nanobot.transcript import SessionInfo


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the family to the command line."""
    parser = commands.add_parser("doctor", help="look whether all is well, and say what to do if not")
    parser.add_argument(
        "what", nargs="?", choices=["memory"], metavar="memory", help="look at what is remembered, line by line"
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print every finding; 1 if one of them is a problem."""
    import logging
    from collections import Counter

    from nanobot.config import secrets_of
    from nanobot.i18n import say
    from nanobot.ops.doctor import Verdict, examine
    from nanobot.ops.logs import Mask

    logging.getLogger("nanobot").addHandler(logging.NullHandler())  # what stores would warn of, findings say
    loaded = _loaded(args)
    language = language_here("auto" if isinstance(loaded, ConfigError) else loaded.config.language)
    mask = Mask(() if isinstance(loaded, ConfigError) else secrets_of(loaded.config))  # an address may hold a password
    seen: Counter[Verdict] = Counter()
    for check, findings in examine(memory_checks(args, language) if args.what else _checks(args, loaded, language)):
        for finding in findings:
            seen[finding.verdict] += 1
            said = mask(say(finding.sentence, language, **finding.values))
            verdict = say(f"doctor.{finding.verdict}", language)
            tell(say("doctor.line", language, verdict=verdict, title=say(check.title, language), said=said))
    problems, warnings = seen[Verdict.PROBLEM], seen[Verdict.WARNING]
    summary = "some_problems" if problems else "some_warnings" if warnings else "all_well"
    tell(say(f"doctor.{summary}", language, problems=problems, warnings=warnings))
    return 1 if problems else 0


def _loaded(args: argparse.Namespace) -> "Loaded | ConfigError":
    try:
        return loaded_of(args)
    except ConfigError as error:
        return error


def _checks(args: argparse.Namespace, loaded: "Loaded | ConfigError", language: "Language") -> "list[Check]":
    """The list of all checks; whoever adds a part to nanobot adds its check here."""
    import sys

    from nanobot.ops.checks import files, machine
    from nanobot.ops.doctor import Check

    home, path = home_of(args), config_path_of(args)
    workspace = workspace_of(args) if isinstance(loaded, ConfigError) else loaded.config.workspace
    return [
        Check("doctor.python", machine.python),
        Check("doctor.terminal", lambda: machine.terminal(sys.stdout.encoding)),
        Check("doctor.config", lambda: _look_at_config(args, path, loaded)),
        Check("doctor.workspace", lambda: _look_at_workspace(workspace)),
        Check("doctor.privacy", lambda: files.privacy((home.root, workspace))),
        Check("doctor.sessions", lambda: _look_at_sessions(workspace)),
        Check("doctor.memory", lambda: _look_at_memory(workspace, language)),
        Check("doctor.disk", lambda: machine.disk(workspace)),
        Check("doctor.model", lambda: _look_at_model(args, loaded)),
        *platform_checks(args, language),
    ]


def _look_at_workspace(root: "Path") -> "Iterator[Finding]":
    from nanobot.agent.skills import Skills
    from nanobot.ops.checks import files
    from nanobot.store.documents import CachedDocuments
    from nanobot.store.frontmatter import read_frontmatter
    from nanobot.store.template import template_folder
    from nanobot.workspace import Workspace

    documents = CachedDocuments()
    yield from files.workspace(root, template_folder(), lambda path: documents.look(path).problem or _garbled(path))
    yield from files.skills(Skills(Workspace(root).skills, documents, read_frontmatter).broken())


def _garbled(path: "Path") -> str:
    """Where a text is not UTF-8; "" if it is, or says that it is UTF-16."""
    from nanobot.store.text import is_utf16

    data = path.read_bytes()
    try:
        data.decode("utf-16" if is_utf16(data) else "utf-8")
    except UnicodeDecodeError as error:
        return f"line {1 + data[: error.start].count(10)}"  # 10: a newline
    return ""


def _look_at_config(args: argparse.Namespace, path: "Path", loaded: "Loaded | ConfigError") -> "Iterator[Finding]":
    from nanobot.config.describing import literal_secrets, unset_variables
    from nanobot.ops.checks import files
    from nanobot.ops.doctor import ok, problem, warning

    if isinstance(loaded, ConfigError):
        yield problem("doctor.config_broken", error=loaded)
        return
    if not path.exists():
        yield ok("doctor.config_none", path=path)
        return
    yield ok("doctor.config_ok", path=path)
    told = tuple(f"models.{name}." for name in _in_use(args, loaded))  # with the model, and what follows from it
    if unset := [key for key in unset_variables(loaded.root) if not key.startswith(told)]:
        yield warning("doctor.config_unset", keys=", ".join(unset))
    yield from _look_at_idle_keys(loaded)
    yield from _look_at_allowed(loaded.config.tools.exec.allow)
    yield from zone_findings(loaded)
    if files.is_open(path) and (secrets := literal_secrets(loaded)):
        yield warning("doctor.config_secret", keys=", ".join(secrets), path=path)
    for name, preset in loaded.config.models.items():
        if host := _reads_key_in_plain_text(preset):
            yield warning("doctor.config_plain_http", preset=name, host=host)


def _look_at_allowed(entries: "Sequence[str]") -> "Iterator[Finding]":
    """Commands that the list names in vain."""
    from nanobot.ops.doctor import problem, warning
    from nanobot.tools.allowlist import AllowList

    try:
        asked = AllowList(entries).asked_anyway
    except ConfigError as error:
        yield problem("doctor.config_broken", error=error)
    else:
        if asked:
            yield warning("doctor.config_asked", entries=", ".join(asked), count=len(asked))


def _look_at_idle_keys(loaded: "Loaded") -> "Iterator[Finding]":
    from nanobot.config.describing import idle_keys
    from nanobot.ops.doctor import warning

    if keys := idle_keys(loaded):
        yield warning("doctor.config_idle", keys=", ".join(keys), count=len(keys))
    if "limits" in keys:
        yield warning("doctor.config_no_limits")


def _reads_key_in_plain_text(preset: "ModelPreset") -> str | None:
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    address = urlsplit(preset.base_url or "")
    host = address.hostname or ""
    if address.scheme != "http" or not preset.api_key or host == "localhost":
        return None
    try:
        return None if ip_address(host).is_loopback else host
    except ValueError:  # a name
        return host


def _look_at_sessions(workspace: "Path") -> "Iterator[Finding]":
    import asyncio

    from nanobot.ops.checks import sessions
    from nanobot.store.sessions import SessionManager
    from nanobot.workspace import Workspace

    space = Workspace(workspace)
    store = SessionManager(space)

    async def rows() -> "Sequence[SessionInfo]":
        for row in await store.list():
            await store.messages(row.key)  # a bad line is met by reading
        return await store.list()

    yield from sessions.sessions(space.sessions, asyncio.run(rows()))


def _look_at_memory(workspace: "Path", language: "Language") -> "Iterator[Finding]":
    import asyncio

    from nanobot.app.upkeep import look_at_upkeep
    from nanobot.memory.setbacks import cause
    from nanobot.ops.checks import memory
    from nanobot.ops.doctor import warning
    from nanobot.workspace import Workspace

    space = Workspace(workspace)
    if space.root.is_dir():  # else the check of the workspace says what there is to say
        seen = asyncio.run(look_at_upkeep(space))
        git_dir = space.versions_aside if space.versions_aside.is_dir() else space.versions
        yield from memory.history(seen.history, seen.detail, git_dir)
        if seen.failed_summary.kind and seen.owed:
            at, reason = seen.failed_summary.at[:16].replace("T", " "), cause(seen.failed_summary.kind, language)
            yield warning("consolidation.waits", count=seen.owed, at=at, reason=reason)
        yield from memory.upkeep(seen.bad_lines, space.history, seen.dream, is_forgetting=seen.is_forgetting)


def _look_at_model(args: argparse.Namespace, loaded: "Loaded | ConfigError") -> "Iterator[Finding]":
    from dataclasses import replace

    from nanobot.ops.doctor import Verdict, warning

    if isinstance(loaded, ConfigError):
        yield warning("doctor.later")
        return
    for number, preset in enumerate(_in_use(args, loaded).values()):
        for finding in _look_at_preset(preset):
            spare = number > 0 and finding.verdict is Verdict.PROBLEM  # the bot talks without it
            yield replace(finding, verdict=Verdict.WARNING) if spare else finding


def _in_use(args: argparse.Namespace, loaded: "Loaded") -> "dict[str, ModelPreset]":
    """The preset that is asked first, and the fallbacks."""
    from nanobot.config import chosen, presets

    home = home_of(args)
    known = presets(loaded.config, home)
    return {name: known[name] for name in (chosen(loaded.config, home), *loaded.config.fallbacks)}


def _look_at_preset(preset: "ModelPreset") -> "Iterable[Finding]":
    from pathlib import Path

    from nanobot.config import EMBEDDED
    from nanobot.config.presets import why_unasked
    from nanobot.llm.endpoint import Endpoint
    from nanobot.ops.checks import endpoint, engine
    from nanobot.ops.doctor import problem

    if unset := why_unasked(preset):
        return [problem("doctor.model_key_unset", error=unset)]
    if preset.base_url and preset.model:
        way = Endpoint(base_url=preset.base_url)
        at = endpoint.Endpoint(
            preset.base_url, preset.model, preset.api_key, preset.extra_headers, way.is_local, way.proxy_variable
        )
        return endpoint.endpoint(at)
    from nanobot.llm.local import try_weights

    return engine.engine(None if preset.gguf in (None, EMBEDDED) else Path(preset.gguf), try_weights)
