"""What would be run and how long it would take, from the last benchmark that is recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pencil.errors import PencilError
from pencil.reproduce.lengths import STEP_STAYS, keeps_step
from pencil.reproduce.page import Grid, Part, markdown
from pencil.reproduce.speed import rates_at_once
from pencil.reproduce.tables import STARRED
from pencil.reproduce.trial import Trial
from pencil.results.documents import read_object
from pencil.results.summary import STAR

FOLDER = "bench"
MEASURED = ("rates", "ratios", "seconds")
"""The groups of numbers that a benchmark's record has."""


@dataclass(frozen=True)
class Benchmark:
    """Images per second that were measured in training."""

    file: Path
    images_per_second: float
    backbone: str
    device: str
    together: dict[int, float]
    """The same of several runs at once, by their number."""


def read_benchmarks(reference: Path) -> list[dict[str, Any]]:
    """Return the records of benchmarks, the last one last."""
    return [_object(path) for path in _files(reference)]


def last_benchmark(reference: Path, backbone: str) -> Benchmark | None:
    """Return the last benchmark that says something of a backbone; None where none is recorded."""
    found = [benchmark for path in _files(reference) if (benchmark := _read(path)) is not None]
    fitting = [benchmark for benchmark in found if benchmark.backbone in (backbone, "") or not backbone]
    return fitting[-1] if fitting else None


def _files(reference: Path) -> list[Path]:
    # By what the record says of its time, then by name: a checkout makes all files equally new.
    return sorted(
        (reference / FOLDER).glob("**/*.json"), key=lambda path: (str(_object(path).get("date", "")), str(path))
    )


def _object(path: Path) -> dict[str, Any]:
    """Return a benchmark's record; nothing of a file that is none."""
    try:
        record = read_object(path)
    except PencilError:
        return {}
    return record if _is_sound(record) else {}


def _is_sound(record: Mapping[str, Any]) -> bool:
    groups = [record.get(name, {}) for name in ("environment", *MEASURED)]
    if not all(isinstance(group, dict) for group in groups):
        return False
    return all(isinstance(number, int | float) for group in groups[1:] for number in group.values())


def _read(path: Path) -> Benchmark | None:
    record = _object(path)
    rate = record.get("images_per_second")
    if not isinstance(rate, int | float) or not rate > 0:
        return None
    device = record.get("environment", {}).get("device") or record.get("device") or "unknown hardware"
    return Benchmark(path, float(rate), str(record.get("backbone", "")), str(device), rates_at_once(record))


def describe(trials: Sequence[Trial], waiting: Sequence[Trial], reference: Path, parallel: int) -> str:
    """Return the list of trials, with epochs and the time they would take by the benchmarks of `reference`."""
    benchmarks = {backbone: last_benchmark(reference, backbone) for backbone in map(_backbone, trials)}
    rows = tuple(_row(trial, trial not in waiting, benchmarks[_backbone(trial)]) for trial in trials)
    parts: list[Part] = [Grid(("trial", "dataset", "recipe", "phases", "epochs", "estimated time"), rows)]
    parts.append(
        f"{len(waiting)} of {len(trials)} trials to run, {sum(trial.epochs for trial in waiting)} epochs in all."
    )
    if any(trial.told_more for trial in trials):
        parts.append(STARRED)
    if any(keeps_step(trial.shorter.get("options", {})) for trial in trials):
        parts.append(STEP_STAYS)
    for backbone, benchmark in benchmarks.items():
        its_own = [trial for trial in waiting if _backbone(trial) == backbone]
        parts.append(_time(its_own, benchmark, parallel) if benchmark else _no_time(reference, backbone))
    return markdown(parts, Path())


def _backbone(trial: Trial) -> str:
    return str(trial.asked.get("backbone", ""))


def _no_time(reference: Path, backbone: str) -> str:
    known = f" of {backbone}" if backbone else ""
    return f"No benchmark{known} is recorded under {reference / FOLDER}, so no time can be told."


def _time(waiting: Sequence[Trial], benchmark: Benchmark, parallel: int) -> str:
    total = duration(sum(_seconds(trial, benchmark) for trial in waiting))
    measured = f"{benchmark.images_per_second:,.0f} images/s" + (f" of {benchmark.backbone}" * bool(benchmark.backbone))
    source = f"{measured} on {benchmark.device} ({benchmark.file})"
    line = f"About {total} one after another, from {source}, without evaluation."
    if parallel < 2:
        return line
    # As many as were measured, or the next fewer.
    measured_at_once = [number for number in benchmark.together if number <= parallel]
    if not measured_at_once:
        return f"{line} {parallel} at a time share the machine; their gain was not measured."
    together = benchmark.together[measured_at_once[-1]]
    at_once = duration(sum(_seconds(trial, benchmark) for trial in waiting) * benchmark.images_per_second / together)
    return f"{line} {parallel} at a time: about {at_once}, from {together:,.0f} of {measured_at_once[-1]} together."


def _row(trial: Trial, recorded: bool, benchmark: Benchmark | None) -> tuple[str, ...]:
    phases = " + ".join(str(count) for count in trial.phases.values())
    time = "–" if benchmark is None else duration(_seconds(trial, benchmark))
    shown = "recorded" if recorded else time
    name = trial.name + STAR * trial.told_more
    return name, trial.dataset, str(trial.document["recipe"]), phases, str(trial.epochs), shown


def _seconds(trial: Trial, benchmark: Benchmark) -> float:
    return trial.epochs * trial.num_examples / benchmark.images_per_second


def duration(seconds: float) -> str:
    """Return "3 h 05 min", "12 min" or "40 s"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
