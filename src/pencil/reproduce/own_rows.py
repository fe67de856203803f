"""Names the rows of users' own methods, so that different files have different rows.

A row is called by what follows the colon of `file.py:NAME`; where that is another's, by the file as well: `file.NAME`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from pencil import plugins
from pencil.config.own_code import MARK
from pencil.reproduce.study import Study
from pencil.reproduce.systems import SYSTEMS

Record = Mapping[str, Any]


def own_rows(given: Iterable[str], study: Study, records: Sequence[Record]) -> dict[str, str]:
    """Return the row of each `file.py:NAME` among methods: the one that its records have, or the first free one."""
    own = {name: Path(name).resolve() for name in given if MARK in name}
    holders: dict[str, Path] = {}
    rows: dict[str, str] = {}
    ours = {*SYSTEMS, *(system.name for system in study.systems)}

    def take(name: str, choice: Iterable[str]) -> None:
        for row in choice:
            if row not in ours and holders.get(row, own[name]) == own[name]:
                rows[name], holders[row] = row, own[name]
                return

    for name in own:
        take(name, _recorded(name, records))
    for name in own:
        if name not in rows:
            take(name, (row for row in _possible(name) if not _of_another(row, name, records)))
    return rows


def digests_of(record: Record) -> dict[str, str]:
    """Return the digests of a user's own files that a record was made with, by their names without folders."""
    kept = record.get("environment", {}).get("own_code", {})
    return {Path(name).name: str(digest) for name, digest in kept.items()}


def _recorded(name: str, records: Sequence[Record]) -> Iterator[str]:
    """Return the rows whose records were made with this very code, or do not tell."""
    own, digest = Path(name).name, plugins.digests([name]).get(name)
    for record in records:
        if record.get("method") == own and digests_of(record).get(own) in (None, digest):
            yield str(record["system"])


def _of_another(row: str, name: str, records: Sequence[Record]) -> bool:
    return any(record["system"] == row and record.get("method") != Path(name).name for record in records)


def _possible(name: str) -> Iterator[str]:
    """Return NAME, file.NAME, folder.file.NAME and so on."""
    path, _, row = name.rpartition(":")
    yield row
    file = Path(path).resolve()
    for part in (file.stem, *(parent.name for parent in file.parents if parent.name)):
        row = f"{part}.{row}"
        yield row
    yield from (f"{row}-{number}" for number in count(2))
