"""What is to be run, by the names that trials have: a table, a figure, one row of a table or one cell of a row."""

from collections.abc import Sequence

from pencil.errors import PencilError, did_you_mean
from pencil.reproduce.figures import FIGURES
from pencil.reproduce.study import STUDIES
from pencil.reproduce.trial import Trial, Wanted, plan_trials


def choose(
    names: Sequence[str], *, cells: Sequence[str] = (), systems: Sequence[str] = (), trials: int, wanted: Wanted
) -> list[Trial]:
    """List the trials of all that is named, each once: `table3`, `figure2`, `table3/pencil/symmetric-50`."""
    found: dict[str, Trial] = {}
    for name in names:
        study, its_systems, its_cells = _parts(name, systems, cells)
        planned = plan_trials(STUDIES[study], cells=its_cells, systems=its_systems, trials=trials, wanted=wanted)
        found |= {trial.name: trial for trial in planned}
    return list(found.values())


def _parts(name: str, systems: Sequence[str], cells: Sequence[str]) -> tuple[str, Sequence[str], Sequence[str]]:
    study, *rest = name.split("/")
    if not rest and study in FIGURES:
        figure = FIGURES[study]
        return figure.study, [figure.system], [figure.cell]
    if study not in STUDIES:
        raise PencilError(f'there is no table or figure "{study}".{did_you_mean(study, [*STUDIES, *FIGURES])}')
    if len(rest) > 2 or not all(rest):
        raise PencilError(f'"{name}" names no runs; give TABLE, TABLE/METHOD or TABLE/METHOD/CELL.')
    for part, chosen, option in zip(rest, (systems, cells), ("--methods", "--cells"), strict=False):
        if chosen:
            raise PencilError(f'"{name}" and {option} both choose; give "{part}" in one place.')
    return study, rest[:1] or systems, rest[1:] or cells
