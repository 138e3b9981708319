"""`nanobot model`: list the models, fetch one, choose one."""

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from nanobot.cli.settings import agreed, config_of, home_of, language_here
from nanobot.config import EMBEDDED, Config, ModelPreset, chosen, presets, use_model
from nanobot.errors import LLMError, NanobotError, WeightsError
from nanobot.i18n import Language, say
from nanobot.models.local import embedded_weights, try_weights
from nanobot.models.pull import CATALOGUE, Report, connect, fetch, in_words, is_name, look, name_in
from nanobot.workspace import Home

DECLINED = 1


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")

    actions.add_parser("list", help="print all models that can be chosen").set_defaults(func=list_all)

    pulling = actions.add_parser("pull", help="fetch a model that runs here, and choose it")
    pulling.add_argument("source", metavar="NAME|URL", help="a name from `nanobot model list`, or where a GGUF file is")
    pulling.add_argument("--as", dest="name", metavar="NAME", help="what to call it (default: as the file is called)")
    pulling.add_argument("--sha256", type=_sha256, metavar="HEX", help="the checksum that the file must have")
    pulling.add_argument("--yes", action="store_true", help="do not ask before fetching")
    pulling.set_defaults(func=pull)

    using = actions.add_parser("use", help="choose the model that answers")
    using.add_argument("name", metavar="NAME", help="as `nanobot model list` prints it")
    using.set_defaults(func=use)


def list_all(args: argparse.Namespace) -> int:
    """The one in use is marked with a star."""

    config, home = config_of(args), home_of(args)
    language = language_here(config.language)
    known, in_use = presets(config, home), chosen(config, home)
    width = max(map(len, known))
    for name, preset in known.items():
        print(f"{'*' if name == in_use else ' '} {name:<{width}}  {_described(preset, language)}")
    more = [name for name in CATALOGUE if name not in known]
    if more:
        print(f"\n{say('shell.model_more', language, names=', '.join(more))}")
    return 0


def pull(args: argparse.Namespace) -> int:
    """Fetch a file into the home, where it is a model to choose by its name."""

    config, home = config_of(args), home_of(args)
    language = language_here(config.language)
    name, url = _source(args, config)
    target = home.models / f"{name}.gguf"
    if target.exists():
        print(say("shell.model_there", language, path=target))
        return _choose_if_it_loads(config, home, name)
    with connect() as client:
        offer = look(client, url)
        if not args.yes and not _may_fetch(name, offer.size, target, language):
            return DECLINED
        wanted = replace(offer, sha256=args.sha256 or offer.sha256)
        try:
            with _progress(name) as report:
                digest = fetch(client, wanted, target, report)
        except KeyboardInterrupt:
            print(f"\n{say('shell.model_stopped', language)}", file=sys.stderr)
            raise
    print(say("shell.model_fetched", language, name=name, path=target))
    print(say("shell.model_checked" if wanted.sha256 else "shell.model_unchecked", language, digest=digest))
    return _choose_if_it_loads(config, home, name)


def use(args: argparse.Namespace) -> int:
    """Choose the model that answers where no other was chosen for the conversation."""

    config, home = config_of(args), home_of(args)
    known = presets(config, home)
    if args.name not in known:
        raise NanobotError(f"there is no model {args.name!r}; there are: {', '.join(known)}")
    return _choose(config, home, args.name)


def _choose_if_it_loads(config: Config, home: Home, name: str) -> int:
    """Load the model once before it is to answer; else the one in use stays."""

    language = language_here(config.language)
    try:
        try_weights(home.models / f"{name}.gguf")
    except LLMError as error:
        if isinstance(error, WeightsError):
            reason = say(f"weights.{error.reason}", language, **error.values)
        else:
            reason = say("doctor.engine_missing", language)
        raise NanobotError(say("shell.model_unloadable", language, reason=reason, name=name)) from error
    return _choose(config, home, name)


def _choose(config: Config, home: Home, name: str) -> int:

    language = language_here(config.language)
    if config.model not in (None, name):
        print(say("shell.model_configured", language, configured=config.model, name=name))
        return DECLINED
    use_model(home, name)
    print(say("shell.model_chosen", language, name=name))
    return 0


def _described(preset: ModelPreset, language: Language) -> str:

    if preset.gguf is None:
        return say("shell.model_endpoint", language, model=preset.model, url=preset.base_url)
    if preset.gguf == EMBEDDED:
        return say("shell.model_demo" if embedded_weights() else "shell.model_no_demo", language)
    path = Path(preset.gguf)
    is_there = path.is_file()
    return f"{in_words(path.stat().st_size)}, {path}" if is_there else say("shell.model_missing", language, path=path)


def _source(args: argparse.Namespace, config: Config) -> tuple[str, str]:
    """Return the name of the model, and its place."""

    url = CATALOGUE.get(args.source, args.source)
    if "://" not in url:
        raise NanobotError(f"{url!r} is neither a URL nor one of {', '.join(CATALOGUE)}")
    name = args.name or (args.source if args.source in CATALOGUE else name_in(url))
    if name is None:
        raise NanobotError(f"{url} does not end in the name of a GGUF file; say what to call it: --as NAME")
    if not is_name(name):
        raise NanobotError(f"{name!r} cannot be a model's name; letters, digits, dots and hyphens can")
    if name == EMBEDDED or name in config.models:
        raise NanobotError(f"there is another model called {name}; say what to call this one: --as NAME")
    return name, url


def _may_fetch(name: str, size: int | None, target: Path, language: Language) -> bool:

    if not sys.stdin.isatty():
        raise NanobotError("nobody is here to be asked; add --yes to fetch without asking")
    sentence, words = ("shell.model_fetch", in_words(size)) if size else ("shell.model_fetch_unknown", "")
    return agreed(say(sentence, language, name=name, size=words, path=target))


@contextmanager
def _progress(name: str) -> "Iterator[Report]":
    """A bar on a terminal, a line for each tenth elsewhere; on stderr."""
    if not sys.stderr.isatty():
        yield _lines(name)
        return

    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(name: str) -> "Report":

    step, said = 100_000_000, -1

    def report(done: int, total: int | None) -> None:
        nonlocal said
        reached = done * 10 // total if total else done // step
        if reached > said:
            said = reached
            print(f"{name}: {in_words(done)}{f' of {in_words(total)}' if total else ''}", file=sys.stderr)

    return report


def _sha256(typed: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", typed):
        raise argparse.ArgumentTypeError("a SHA-256 has 64 digits from 0 to 9 and a to f")
    return typed.lower()
