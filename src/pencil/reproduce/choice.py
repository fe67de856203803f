"""What is to be run, by the names that trials have: a table, a figure, one row of a table or one cell of a row."""

from collections.abc import Sequence
from pathlib import Path

from pencil.errors import PencilError, did_you_mean
from pencil.reproduce.check import check_trials
from pencil.reproduce.figures import FIGURES
from pencil.reproduce.own_rows import own_rows
from pencil.reproduce.record import all_records
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.trial import Trial, Wanted, plan_trials


def choose(
    names: Sequence[str],
    *,
    cells: Sequence[str] = (),
    systems: Sequence[str] = (),
    trials: int,
    wanted: Wanted,
    reference: Path | None = None,
) -> list[Trial]:
    """List the trials of all that is named, each once: `table3`, `figure2`, `table3/pencil/symmetric-50`.

    The records of `reference` say which names rows of users' own methods have.
    """
    parts = [_parts(name, systems, cells) for name in names]
    rows = {
        study: own_rows(
            [system for part in parts if part[0] == study for system in part[1]],
            STUDIES[study],
            all_records(reference, study) if reference else (),
        )
        for study, _, _ in parts
    }
    found: dict[str, Trial] = {}
    for study, its_systems, its_cells in parts:
        planned = plan_trials(
            STUDIES[study], cells=its_cells, systems=its_systems, trials=trials, wanted=wanted, rows=rows[study]
        )
        found |= {trial.name: trial for trial in planned}
    check_trials(found.values())
    return list(found.values())


def _parts(name: str, systems: Sequence[str], cells: Sequence[str]) -> tuple[str, Sequence[str], Sequence[str]]:
    study, *rest = name.split("/")
    if study in FIGURES:
        return _figure(study, rest, systems, cells)
    if study not in STUDIES:
        raise PencilError(f'there is no table or figure "{study}".{did_you_mean(study, [*STUDIES, *FIGURES])}')
    if len(rest) > 2 or not all(rest):
        raise PencilError(f'"{name}" names no runs; give TABLE, TABLE/METHOD or TABLE/METHOD/CELL.')
    for part, chosen, option in zip(rest, (systems, cells), ("--methods", "--cells"), strict=False):
        if chosen:
            raise PencilError(f'"{name}" and {option} both choose; give "{part}" in one place.')
    return study, rest[:1] or systems, rest[1:] or cells


def _figure(
    name: str, rest: Sequence[str], systems: Sequence[str], cells: Sequence[str]
) -> tuple[str, Sequence[str], Sequence[str]]:
    figure = FIGURES[name]
    if rest:
        raise PencilError(f'there is no table or figure "{name}" with rows or cells to choose; give {name} alone.')
    for part, chosen, option in ((figure.system, systems, "--methods"), (figure.cell, cells, "--cells")):
        if chosen:
            raise PencilError(f'"{name}" and {option} both choose; {name} is drawn from {part}: leave {option} out.')
    return figure.study, [figure.system], [figure.cell]
