"""history.jsonl: one line an epoch, only ever added to."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pencil.results.atomic import cannot_write, write_atomic
from pencil.results.documents import MOST_BYTES, damaged, plain


@dataclass(frozen=True)
class History:
    """The epochs of a run, as records of plain values."""

    path: Path

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one epoch's record and wait until it is on the disk."""
        line = json.dumps(plain(record), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            with self.path.open("a+b") as file:
                end = file.truncate(_end_of_whole_lines(self.path))
                try:
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    os.truncate(self.path, end)  # Half a line would spoil the next one.
                    raise
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def content(self) -> bytes:
        """Return the whole lines as they are on disk, to be kept in a checkpoint."""
        return b"".join(self._whole_lines())

    def restore(self, content: bytes) -> None:
        """Go back to what a checkpoint kept."""
        write_atomic(self.path, content)

    def read(self) -> list[dict[str, Any]]:
        """Return the records of all epochs; a last line torn by a crash is left out."""
        return [self._parse(number, line) for number, line in enumerate(self._whole_lines(), 1)]

    def _whole_lines(self) -> list[bytes]:
        if not self.path.exists():
            return []
        try:
            if self.path.stat().st_size > MOST_BYTES:
                raise damaged(self.path, f"it has more than {MOST_BYTES:,} bytes")
            lines = self.path.read_bytes().splitlines(keepends=True)
        except OSError as error:
            raise damaged(self.path, error) from error
        # After a power cut a last line can be there in length but not in content.
        while lines and not (lines[-1].endswith(b"\n") and _is_record(lines[-1])):
            lines.pop()
        return lines

    def _parse(self, number: int, line: bytes) -> dict[str, Any]:
        if not _is_record(line):
            raise damaged(self.path, f"line {number} is no JSON object")
        record: dict[str, Any] = json.loads(line)
        return record


def last_standing(history: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the last epoch whose network and labels a run still has: what went back is measured, but gone."""
    standing = [record for record in history if "went_back" not in record]
    return (standing or history)[-1]


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _end_of_whole_lines(path: Path) -> int:
    """Return where the last whole line ends."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - (1 << 16))
        file.seek(start)
        tail = file.read()
    end = tail.rfind(b"\n") + 1
    return start + end if end or start == 0 else size
