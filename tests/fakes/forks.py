"""Processes that are there to be killed, forked from one that has imported all they need."""

import multiprocessing

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "openai.resources.chat.completions",
        "nanobot.store.repo.work",
        "tests.app.proposing",
        "tests.bus.life",
        "tests.commands.dying",
        "tests.crash.driver",
        "tests.memory.dream.dying",
        "tests.memory.forget.dying",
        "tests.store.repo.dying",
    ]
)
"""One list for all tests: whoever sets another one takes this away."""
