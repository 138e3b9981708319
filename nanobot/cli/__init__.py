"""The `nanobot` command: one file per family of subcommands."""


def main() -> None:
    """Run the command line."""
    raise SystemExit("not yet")
