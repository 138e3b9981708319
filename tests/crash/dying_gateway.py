"""`nanobot gateway` that kills itself at a line of its own log.

`python -m tests.crash.dying_gateway N`: after SIGUSR1 (answered with a line "armed" on standard output) lines of
level DEBUG are counted; the N-th is printed, and the process is gone before anything else happens.
"""

import logging
import os
import signal
import sys

from nanobot.cli import main


class Death(logging.Handler):
    """Comes with the line of this number."""

    def __init__(self, line: int) -> None:
        super().__init__(logging.DEBUG)
        self._left = line
        self._is_armed = False

    def arm(self, *_: object) -> None:
        self._is_armed = True
        os.write(1, b"armed\n")

    def emit(self, record: logging.LogRecord) -> None:
        if not self._is_armed or record.levelno != logging.DEBUG:
            return
        self._left -= 1
        if self._left == 0:
            os.write(1, f"dies at: {record.getMessage()}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    death = Death(int(sys.argv[1]))
    signal.signal(signal.SIGUSR1, death.arm)
    logging.getLogger("nanobot").addHandler(death)
    sys.exit(main(["gateway"]))
