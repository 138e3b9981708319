"""`python -m bench [NAME …]`: measure, and print one table."""

import argparse
import importlib
import sys

from bench.figures import FULL, SMALL, rows, table
from bench.machine import machine

BENCHMARKS = {
    "turn": "one turn with an instant model",
    "disk": "what a turn writes",
    "loading": "opening a session",
    "prompt": "building the prompt",
    "startup": "the command line, as whole processes",
    "memory": "memory after one turn",
    "crowd": "talking at once",
    "gateway": "through Telegram",
    "history": "episodes",
    "versions": "dreams, and taking back",
    "finding": "finding what was said",
    "forget": "forgetting in a full home",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--small", action="store_true", help="small sizes and few runs: whether it works, no more")
    args = parser.parse_args()
    if unknown := set(args.names) - BENCHMARKS.keys():
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    print(machine(), end="\n\n", flush=True)
    lines: list[tuple[str, ...]] = []
    missed = 0
    for name in args.names or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr)
        figures = importlib.import_module(f"bench.{name}").measure(SMALL if args.small else FULL)
        missed += sum(figure.missed for figure in figures)
        lines += rows(f"{name}: {BENCHMARKS[name]}", figures)
    print(table(lines))
    print(f"{missed} missed" if missed else "all goals met")


if __name__ == "__main__":
    main()
