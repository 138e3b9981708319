"""`python -m nanobot` is the `nanobot` command."""

import sys

from nanobot.cli import main

sys.exit(main())
