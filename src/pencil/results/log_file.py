"""log.txt: what a run had to say, kept beside its results; a long run's log does not grow without end."""

import logging
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

MOST_BYTES = 2**20
"""Size at which the log is put aside as log.txt.1, and the one before is given up."""


class _Quiet(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """Leave a line out where the disk refuses it: a log must not end a run."""


class LogFile:
    """Lines with their time, added to what is there."""

    def __init__(self, path: Path) -> None:
        self._handler = _Quiet(path, maxBytes=MOST_BYTES, backupCount=1, encoding="utf-8", delay=True)
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))

    def write(self, line: str) -> None:
        """Add a line."""
        self._handler.handle(logging.LogRecord("pencil", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Give the file back."""
        with suppress(OSError):
            self._handler.close()
