"""`pencil sweep FILE.toml`: a list of configurations, run as several processes, one summary table.

out = "runs/rates"              # each run gets a folder of its own in here
[settings]                      # shared by all runs, in the shape of config.toml
data = { source = "digits", noise = "symmetric:0.4" }
[runs.slow]                     # one table a run, laid over the shared settings
options = { label_step = "0.3 -> 0" }
[runs.fast]
options = { label_step = "1.2 -> 0" }
"""

from pathlib import Path
from typing import Any

from pencil.config import merge, read_toml
from pencil.errors import PencilError, did_you_mean
from pencil.results.documents import read_object
from pencil.run.queue import Job, Outcome

KEYS = ("out", "settings", "runs")
KEPT = (
    "method", "extra_information", "test_accuracy", "label_accuracy", "num_changed", "seconds", "images_per_second",
)  # fmt: skip
"""What a row takes from a run's result."""


def read_sweep(path: Path, out: Path | None = None) -> list[Job]:
    """Read the jobs of a sweep file."""
    document = read_toml(path)
    for key in document:
        if key not in KEYS:
            raise PencilError(f'{path} has an unknown key "{key}".{did_you_mean(key, KEYS)}')
    runs = document.get("runs")
    if not isinstance(runs, dict) or not runs:
        raise PencilError(f"{path} has no runs; add one table a run: [runs.NAME].")
    shared, place = document.get("settings", {}), document.get("out") or str(path.with_suffix(""))
    if not isinstance(shared, dict):
        raise PencilError(f"{path}: settings is no table; write [settings] and a line for each.")
    if not isinstance(place, str):
        raise PencilError(f"{path}: out is {place}; give the name of a folder.")
    root = out or Path(place)
    for name, run in runs.items():
        if not isinstance(run, dict):
            raise PencilError(f"{path}: runs.{name} is no table; write [runs.{name}] and a line for each setting.")
        if not name or Path(name).name != name or name.startswith("."):
            raise PencilError(f'{path}: "{name}" cannot be a folder\'s name; use letters, digits and dashes.')
    return [Job(name, root / name, merge(shared, run)) for name, run in runs.items()]


def rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return one row a run: state, accuracies, labels, time."""
    return [_row(outcome) for outcome in outcomes]


def _row(outcome: Outcome) -> dict[str, Any]:
    row: dict[str, Any] = {"run": outcome.job.name, "state": outcome.state, "folder": str(outcome.job.folder)}
    if outcome.state not in ("finished", "skipped"):
        return row | {"reason": outcome.reason}
    result = read_object(outcome.job.folder / "result.json")
    return row | {name: result[name] for name in KEPT if name in result}
