"""The figures of each epoch in TensorBoard, in a CSV file or in Weights & Biases, through Fabric's loggers.

They lie in the run's folder: `tensorboard --logdir run/watch/tensorboard`, `run/watch/csv/metrics.csv`. The step is
the epoch. A resumed run writes the epochs before it anew from history.jsonl, so that none is there twice.
"""

import importlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pencil.engine import EpochRecord
from pencil.errors import PencilError, did_you_mean
from pencil.results.history import History
from pencil.run.training.session import Progress, Silent
from pencil.runtime import is_leader
from pencil.types import Phase

FOLDER = "watch"


def _tensorboard(folder: Path) -> Any:
    from lightning_fabric.loggers import TensorBoardLogger

    return TensorBoardLogger(root_dir=folder, name="tensorboard", version="")


def _csv(folder: Path) -> Any:
    from lightning_fabric.loggers import CSVLogger

    return CSVLogger(root_dir=folder, name="csv", version="", flush_logs_every_n_steps=1)


def _wandb(folder: Path) -> Any:
    loggers = importlib.import_module("lightning.pytorch.loggers")
    run = folder.parent.resolve()
    # The same id again continues the run there.
    own = f"{run.name}-{blake2b(str(run).encode(), digest_size=4).hexdigest()}"
    return loggers.WandbLogger(name=run.name, id=own, save_dir=str(folder), project="pencil", resume="allow")


WATCHERS: dict[str, Callable[[Path], Any]] = {"csv": _csv, "tensorboard": _tensorboard, "wandb": _wandb}
NEEDED = {"tensorboard": ("tensorboard",), "wandb": ("wandb", "lightning")}
INSTALL = {"tensorboard": "pencil-labels[tensorboard]", "wandb": "wandb pencil-labels[lightning]"}


class Watched:
    """Hands progress on to another display, and each epoch's figures to loggers."""

    def __init__(self, names: Sequence[str], out: Path, progress: Progress) -> None:
        self.names, self.out, self.progress = names, out, progress
        self.loggers: dict[str, Any] = {}

    def started(self, phases: Sequence[Phase], epoch: int) -> None:
        """Open the loggers, once there is a run's folder, and tell them of the epochs that are done."""
        folder = self.out / FOLDER
        folder.mkdir(exist_ok=True)
        # Weights & Biases continues a run by itself.
        anew = [name for name in self.names if name != "wandb"]
        for name in anew:
            shutil.rmtree(folder / name, ignore_errors=True)
        self.loggers = {name: WATCHERS[name](folder) for name in self.names}
        for record in History(self.out / "history.jsonl").read()[:epoch]:
            self._log(record, anew)
        self.progress.started(phases, epoch)

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """Hand on."""
        self.progress.stepped(epoch, step, steps)

    def replanned(self, phases: Sequence[Phase]) -> None:
        """Hand on."""
        self.progress.replanned(phases)

    def epoch_done(self, record: EpochRecord) -> None:
        """Log an epoch."""
        self._log(record, self.names)
        self.progress.epoch_done(record)

    def note(self, line: str) -> None:
        """Hand on."""
        self.progress.note(line)

    def close(self, status: str) -> None:
        """Write what is left."""
        for logger in self.loggers.values():
            logger.finalize(status)

    def _log(self, record: EpochRecord, names: Sequence[str]) -> None:
        for name in names:
            self.loggers[name].log_metrics(figures(record), step=record["epoch"])


def figures(record: EpochRecord) -> dict[str, float]:
    """Return the numbers of an epoch by name, those of a group as "group/name"."""
    found: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= {f"{name}/{part}": number for part, number in figures(value).items()}
        elif isinstance(value, (int, float)) and name != "epoch":
            found[name] = float(value)
    return found


@contextmanager
def watching(names: Sequence[str], out: Path, progress: Progress | None = None) -> Iterator[Progress]:
    """Give a progress for `pencil.fit(…, out=out, progress=…)` that is watched by the named tools."""
    for name in names:
        if name not in WATCHERS:
            raise PencilError(f'nothing called "{name}" can watch a run.{did_you_mean(name, WATCHERS)}')
        for needed in NEEDED.get(name, ()):
            _check_installed(name, needed)
    progress = progress or Silent()
    if not names or not is_leader():
        yield progress
        return
    watched = Watched(list(dict.fromkeys(names)), Path(out), progress)
    try:
        yield watched
    except BaseException:
        watched.close("failed")
        raise
    watched.close("success")


def _check_installed(name: str, needed: str) -> None:
    try:
        importlib.import_module(needed)
    except ImportError as error:
        raise PencilError(f"--watch {name} needs {needed}: pip install {INSTALL[name]}") from error
