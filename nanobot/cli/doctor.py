"""`nanobot doctor`: look whether all is well, and say what to do if not."""

import argparse
import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from nanobot import __version__
from nanobot.app.health import look_at_memory, look_at_upkeep
from nanobot.app.plugins import ConfiguredChannel, configured_channels, has_channels
from nanobot.authority import Scope
from nanobot.channels.platform import obstacle_of
from nanobot.channels.registry import BUILT_IN
from nanobot.cli.settings import (
    config_of,
    config_path_of,
    home_of,
    language_here,
    loaded_of,
    workspace_of,
    zone_findings,
)
from nanobot.cli.telling import tell
from nanobot.commands.admin import channel_line
from nanobot.config import EMBEDDED, Config, Loaded, ModelPreset, chosen, presets, secrets_of
from nanobot.config.describing import idle_keys, literal_secrets, unset_variables
from nanobot.config.presets import why_unasked
from nanobot.core.prompt import Skills
from nanobot.errors import ConfigError, NanobotError
from nanobot.i18n import Language, say
from nanobot.memory.episodes.retries import cause
from nanobot.memory.health import Ailment, Leak
from nanobot.models.endpoint import Endpoint
from nanobot.models.local import try_weights
from nanobot.ops import doctor, doctor_models
from nanobot.ops.doctor import Check, Finding, Row, Verdict, examine, ok, problem, warning
from nanobot.ops.doctor_models import platform
from nanobot.ops.logs import Mask
from nanobot.ops.socket import NoGatewayError, ask
from nanobot.ports.gateway import GatewayState
from nanobot.sessions.store import SessionManager
from nanobot.store.documents import CachedDocuments, read_frontmatter
from nanobot.store.template import template_folder
from nanobot.text import is_utf16, printable
from nanobot.tools.shell import AllowList
from nanobot.transcript import SessionInfo
from nanobot.workspace import Workspace

# Chat platforms: tokens, and the gateway.


def platform_checks(args: argparse.Namespace, language: Language) -> list[Check]:
    """One for each platform that is configured, and one for the gateway; none if the configuration cannot be used."""

    try:
        config = config_of(args)
    except ConfigError:
        return []
    gateway = Check("doctor.gateway", partial(_look_at_gateway, config, language))
    try:
        channels = configured_channels(config)
    except ConfigError:
        return [gateway]  # which says why
    return [
        *(
            Check("doctor.channel", partial(_look_at_channel, channel, language), {"title": channel.type.title})
            for channel in channels
        ),
        gateway,
    ]


def _look_at_channel(channel: "ConfiguredChannel", language: Language) -> Iterator[Finding]:

    if channel.type.account is None:
        channel.settings()
        yield ok("doctor.channel_unasked")
        return
    try:
        settings = channel.usable_settings()
    except ConfigError:
        channel.settings()
        yield warning("doctor.platform_unset")
    else:
        yield from platform(
            channel.type.account(settings), lambda error: say(f"trouble.{obstacle_of(error)}", language)
        )


def _look_at_gateway(config: Config, language: Language) -> Iterator[Finding]:

    try:
        told = asyncio.run(ask(Workspace(config.workspace), __version__, "status"))
    except NoGatewayError:
        is_wanted = has_channels(config)
        yield warning("doctor.gateway_none") if is_wanted else ok("doctor.gateway_unneeded")
    except NanobotError as error:
        yield problem("doctor.gateway_deaf", error=error)
    else:
        yield from _judge(msgspec.convert(told, GatewayState), language)


def _judge(state: GatewayState, language: Language) -> Iterator[Finding]:

    red = [channel for channel in state.channels if channel.is_red]
    for channel in red:
        yield problem("doctor.gateway_red", said=printable(channel_line(channel, language)))
    if troubles := len(state.backlog.troubles):
        yield warning("doctor.gateway_troubles", count=troubles)
    if not red:
        up = [channel.name for channel in state.channels if channel.state == "up"]
        yield ok("doctor.gateway_ok", pid=state.pid, at=f"{state.started:%Y-%m-%d %H:%M}", up=", ".join(up) or "-")


# `nanobot doctor memory`: what a person should look at in what is remembered, line by line.


_SHOWN = 80


def memory_checks(args: argparse.Namespace, language: Language) -> list[Check]:
    """Health, and that nobody sees another's memory."""

    looked = asyncio.run(look_at_memory(config_of(args)))

    def health() -> Iterator[Finding]:
        return doctor.memory_health([_ailing(ailment, language) for ailment in looked.ailments], looked.lines)

    def privacy() -> Iterator[Finding]:
        return doctor.scope_privacy([_leaking(leak) for leak in looked.leaks], looked.scopes)

    return [Check("doctor_memory.health", health), Check("doctor_memory.privacy", privacy)]


def _ailing(ailment: Ailment, language: Language) -> Row:

    other = ailment.other
    values = {
        "text": _short(ailment.line.text),
        "detail": _in_words(ailment, language),
        "other": other.place if other else "",
        "other_text": _short(other.text) if other else "",
    }
    return Row(ailment.kind, ailment.line.path if ailment.kind == "oversized" else ailment.line.place, values)


def _in_words(ailment: Ailment, language: Language) -> str:

    match ailment.kind:
        case "secret":
            return say(f"memory.secret_{ailment.detail}", language)
        case "contradiction":
            return say(f"doctor_memory.differs_{ailment.detail}", language)
        case _:
            return ailment.detail


def _leaking(leak: Leak) -> Row:

    return Row(f"leak_{leak.door}", leak.scope, {"other": leak.other, "text": _short(leak.line)})


def _short(text: str) -> str:

    words = printable(" ".join(text.split()))
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN].rstrip()} …"


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    parser.add_argument(
        "what", nargs="?", choices=["memory"], metavar="memory", help="look at what is remembered, line by line"
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print every finding; 1 if one of them is a problem."""

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
            tell(
                say(
                    "doctor.line",
                    language,
                    verdict=verdict,
                    title=say(check.title, language, **check.values),
                    said=said,
                )
            )
    problems, warnings = seen[Verdict.PROBLEM], seen[Verdict.WARNING]
    summary = "some_problems" if problems else "some_warnings" if warnings else "all_well"
    tell(say(f"doctor.{summary}", language, problems=problems, warnings=warnings))
    return 1 if problems else 0


def _loaded(args: argparse.Namespace) -> Loaded | ConfigError:
    try:
        return loaded_of(args)
    except ConfigError as error:
        return error


def _checks(args: argparse.Namespace, loaded: Loaded | ConfigError, language: Language) -> list[Check]:
    """The list of all checks; whoever adds a part to nanobot adds its check here."""

    home, path = home_of(args), config_path_of(args)
    workspace = workspace_of(args) if isinstance(loaded, ConfigError) else loaded.config.workspace
    return [
        Check("doctor.python", doctor.python),
        Check("doctor.terminal", lambda: doctor.terminal(sys.stdout.encoding)),
        Check("doctor.config", lambda: _look_at_config(args, path, loaded)),
        Check("doctor.workspace", lambda: _look_at_workspace(workspace)),
        Check("doctor.privacy", lambda: doctor.privacy((home.root, workspace))),
        Check("doctor.sessions", lambda: _look_at_sessions(workspace)),
        Check("doctor.memory", lambda: _look_at_memory(workspace, language)),
        Check("doctor.disk", lambda: doctor.disk(workspace)),
        Check("doctor.model", lambda: _look_at_model(args, loaded)),
        *platform_checks(args, language),
    ]


def _look_at_workspace(root: Path) -> Iterator[Finding]:

    documents = CachedDocuments()
    yield from doctor.workspace(root, template_folder(), lambda path: documents.look(path).problem or _garbled(path))
    yield from doctor.skills(Skills(Workspace(root).skills, documents, read_frontmatter).broken())


def _garbled(path: Path) -> str:
    """Return the position at which a text stops being UTF-8; "" if it is UTF-8, or says that it is UTF-16."""

    data = path.read_bytes()
    try:
        data.decode("utf-16" if is_utf16(data) else "utf-8")
    except UnicodeDecodeError as error:
        return f"line {1 + data[: error.start].count(10)}"  # 10: a newline
    return ""


def _look_at_config(args: argparse.Namespace, path: Path, loaded: Loaded | ConfigError) -> Iterator[Finding]:

    if isinstance(loaded, ConfigError):
        yield problem("doctor.config_broken", error=loaded)
        return
    if not path.exists():
        yield ok("doctor.config_none", path=path)
        return
    yield ok("doctor.config_ok", path=path)
    told = (
        *(f"{name}.token" for name in BUILT_IN),
        *(f"models.{name}." for name in _in_use(args, loaded)),
    )  # with their rows
    if unset := [key for key in unset_variables(loaded.root) if not key.startswith(told)]:
        yield warning("doctor.config_unset", keys=", ".join(unset))
    yield from _look_at_idle_keys(loaded)
    yield from _look_at_allowed(loaded.config.tools.exec.allow)
    yield from zone_findings(loaded)
    if doctor.is_open(path) and (secrets := literal_secrets(loaded)):
        yield warning("doctor.config_secret", keys=", ".join(secrets), path=path)
    for name, preset in loaded.config.models.items():
        if host := _reads_key_in_plain_text(preset):
            yield warning("doctor.config_plain_http", preset=name, host=host)


def _look_at_allowed(entries: Sequence[str]) -> Iterator[Finding]:
    """Commands that the list names in vain."""

    try:
        asked = AllowList(entries).asked_anyway
    except ConfigError as error:
        yield problem("doctor.config_broken", error=error)
    else:
        if asked:
            yield warning("doctor.config_asked", entries=", ".join(asked), count=len(asked))


def _look_at_idle_keys(loaded: Loaded) -> Iterator[Finding]:

    if keys := idle_keys(loaded):
        yield warning("doctor.config_idle", keys=", ".join(keys), count=len(keys))
    if "limits" in keys:
        yield warning("doctor.config_no_limits")


def _reads_key_in_plain_text(preset: ModelPreset) -> str | None:

    address = urlsplit(preset.base_url or "")
    host = address.hostname or ""
    if address.scheme != "http" or not preset.api_key or host == "localhost":
        return None
    try:
        return None if ip_address(host).is_loopback else host
    except ValueError:  # a name
        return host


def _look_at_sessions(workspace: Path) -> Iterator[Finding]:

    space = Workspace(workspace)
    store = SessionManager(space)

    async def rows() -> Sequence[SessionInfo]:
        for row in await store.list():
            await store.messages(row.key)  # a bad line is met by reading
        return await store.list()

    yield from doctor.sessions(space.sessions, asyncio.run(rows()))


def _look_at_memory(workspace: Path, language: Language) -> Iterator[Finding]:

    space = Workspace(workspace)
    if space.root.is_dir():  # else the check of the workspace says what there is to say
        seen = asyncio.run(look_at_upkeep(space))
        git_dir = space.versions_aside if space.versions_aside.is_dir() else space.versions
        yield from doctor.memory_history(seen.history, seen.detail, git_dir)
        if seen.failed_summary.kind and seen.owed:
            at, reason = seen.failed_summary.at[:16].replace("T", " "), cause(seen.failed_summary.kind, language)
            yield warning("consolidation.waits", count=seen.owed, at=at, reason=reason)
        yield from doctor.memory_proposals(
            [one.at for one in seen.proposals if Scope(one.scope).is_owner],
            [one.at for one in seen.proposals if not Scope(one.scope).is_owner],
        )
        yield from doctor.memory_upkeep(seen.bad_lines, space.history, seen.dream, is_forgetting=seen.is_forgetting)


def _look_at_model(args: argparse.Namespace, loaded: Loaded | ConfigError) -> Iterator[Finding]:

    if isinstance(loaded, ConfigError):
        yield warning("doctor.later")
        return
    for number, preset in enumerate(_in_use(args, loaded).values()):
        for finding in _look_at_preset(preset):
            spare = number > 0 and finding.verdict is Verdict.PROBLEM  # the bot talks without it
            yield replace(finding, verdict=Verdict.WARNING) if spare else finding


def _in_use(args: argparse.Namespace, loaded: Loaded) -> dict[str, ModelPreset]:
    """The preset that is asked first, and the fallbacks."""

    home = home_of(args)
    known = presets(loaded.config, home)
    return {name: known[name] for name in (chosen(loaded.config, home), *loaded.config.fallbacks)}


def _look_at_preset(preset: ModelPreset) -> Iterable[Finding]:

    if unset := why_unasked(preset):
        return [problem("doctor.model_key_unset", error=unset)]
    if preset.base_url and preset.model:
        way = Endpoint(base_url=preset.base_url)
        at = doctor_models.EndpointCheck(
            preset.base_url, preset.model, preset.api_key, preset.extra_headers, way.is_local, way.proxy_variable
        )
        return doctor_models.endpoint(at)

    return doctor_models.engine(None if preset.gguf in (None, EMBEDDED) else Path(preset.gguf), try_weights)
