"""`python -m nanobot` is the `nanobot` command."""

from nanobot.cli import main

main()
