"""The `nanobot` command: one file per family of subcommands."""
