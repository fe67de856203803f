"""`python -m pencil` is the command `pencil`."""

import signal
import sys


def start() -> None:
    """Run the command line; Ctrl-C before it can hear of it ends it in one line too."""
    try:
        from pencil.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("pencil: stopped.\n")
        sys.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    start()
