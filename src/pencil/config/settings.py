"""Every setting of a run, in frozen records; `config.toml` in a run folder holds them all.

The range of a number stands beside its type, and holds where a record is made of a document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pencil.config.ranges import EPOCHS, NOT_NEGATIVE, ONE_OR_MORE, SHARE, Range
from pencil.config.schedule import Schedule
from pencil.errors import PencilError

Options = dict[str, Any]
MOST_THREADS = 4096
"""Threads, or processes that read data; more would bring a machine down."""
THREADS = Range(0, MOST_THREADS)
LESS_THAN_ONE = Range(0, 1, below=True)
SEEDS = Range(0, 1e300)
"""What a float can be: several processes compare theirs as such."""


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """What is read, and what is done to its labels before training."""

    source: str = ""
    """A source's name (digits, cifar10, …), or the path of a folder or file."""
    root: str = ""
    """The folder that holds a named source's files."""
    labels: str = ""
    """A file of labels that replaces the source's own."""
    noise: str = ""
    """Noise to inject, as "model:rate", e.g. "symmetric:0.4" or "crowd:0.2"."""
    noise_seed: Annotated[int | None, NOT_NEGATIVE] = None
    """Seed of the injected noise; the run's seed where it is not given."""
    trusted: Annotated[float, SHARE] = 0.0
    """Share of the labels that injected noise leaves alone and that are known to be right: a clean subset."""
    held_out: Annotated[float, LESS_THAN_ONE] = 0.1
    """Share of the training examples kept apart; their labels stay noisy."""
    options: Options = field(default_factory=dict)
    """The source's own options (column names, split names, image size)."""
    augment: Options = field(default_factory=dict)
    """Replaces the source's augmentation: pad (pixels), flip (true or false), crop (pixels)."""


@dataclass(frozen=True, kw_only=True)
class OptimizerSettings:
    """Stochastic gradient descent on the network's parameters."""

    batch_size: Annotated[int, ONE_OR_MORE] = 128
    momentum: Annotated[float, LESS_THAN_ONE] = 0.9
    nesterov: bool = False
    weight_decay: Annotated[float, NOT_NEGATIVE] = 1e-4
    """Applied to every parameter, batch norm's included, as in the paper."""
    nonfinite_limit: Annotated[float, NOT_NEGATIVE] = 0.5
    """Share of an epoch's examples, or of its updates, that may come to NaN or infinity; beyond it the run stops."""


@dataclass(frozen=True, kw_only=True)
class TeachingSettings:
    """What helps a network not to learn wrong labels by heart, with any method; all of it is off in the paper."""

    average_epochs: Annotated[float, NOT_NEGATIVE] = 0.0
    """Epochs over which weights are averaged; the average moves labels and is the run's network. 0 keeps none."""
    distortion: Annotated[float, SHARE] = 0.0
    """How strongly examples are distorted (images: tilt, colours, a hole; rows: columns left out), 0 to 1, from label
    learning on, if plain ones teach the network no more by then; the averaged network sees them undistorted."""
    guard: bool = False
    """Go back to the last good labels where moving them does harm, and move them more slowly from there."""
    forgive_overconfidence: bool = False
    """Judge the weights of an epoch by their held-out loss without what overconfidence adds to it, until labels are
    learned by heart; from a thousand held-out labels on."""
    mixup: Annotated[float, SHARE] = 0.0
    """Inputs and labels are mixed with another example's, whose share is drawn from 0 to mixup/2; 1 is usual."""
    gone: ClassVar[Mapping[str, Any]] = {"views": 1}


@dataclass(frozen=True, kw_only=True)
class PhaseSettings:
    """Length and learning rate of one of the method's phases."""

    epochs: Annotated[int, EPOCHS]
    lr: Schedule
    patience: Annotated[int, NOT_NEGATIVE] = 0
    """Leave the phase where the loss on the held-out labels hardly falls over so many epochs or more; 0: never."""
    at_most: Annotated[int, EPOCHS] = 0
    """Epochs that label learning may come to where most labels are wrong; 0: no more than `epochs`."""


@dataclass(frozen=True, kw_only=True)
class HardwareSettings:
    """Where and how fast; a resumed run may change these."""

    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps."""
    precision: str = "auto"
    """auto, 32-true, bf16-mixed, 64-true; auto is bf16-mixed on a GPU that has it."""
    threads: Annotated[int, THREADS] = 0
    """CPU threads; 0 leaves the choice to the machine. A resumed run restores what was used."""
    workers: Annotated[int, THREADS] = 0
    """Processes that read data where it is not held in memory."""
    compile: bool = True
    """Compile and capture the step, on a GPU."""
    resident: str = "auto"
    """Keep the data on the device: auto, yes, no."""
    table: str = "auto"
    """Kind of example table: auto, dense, mapped (labels in a file) or top (the strongest classes of each label)."""
    checkpoint_seconds: Annotated[float, NOT_NEGATIVE] = 30.0
    """Least time between two checkpoints inside a phase."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One run, completely described."""

    method: str
    backbone: str = ""
    """A backbone's name, `timm:NAME` or `file.py:factory`; chosen by the source when empty."""
    recipe: str = ""
    """The recipe these settings came from."""
    seed: Annotated[int, SEEDS] = 0
    data: DataSettings = field(default_factory=DataSettings)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    teaching: TeachingSettings = field(default_factory=TeachingSettings)
    phases: dict[str, PhaseSettings] = field(default_factory=dict)
    options: Options = field(default_factory=dict)
    """The method's own options."""
    backbone_options: Options = field(default_factory=dict)
    hardware: HardwareSettings = field(default_factory=HardwareSettings)

    def __post_init__(self) -> None:
        if self.optimizer.nesterov and not self.optimizer.momentum:
            raise PencilError("optimizer.nesterov is true, but optimizer.momentum is 0; give it a momentum.")
        if self.hardware.table not in ("auto", "dense", "mapped", "top"):
            raise PencilError(f'hardware.table is "{self.hardware.table}"; give auto, dense, mapped or top.')
        if self.hardware.resident not in ("auto", "yes", "no"):
            raise PencilError(f'hardware.resident is "{self.hardware.resident}"; give auto, yes or no.')
