"""A run's network in a file of its own, for programs that know nothing of pencil; the labels stay behind.

It takes raw inputs as the data has them (uint8 images [B, H, W, C], float32 rows [B, d], or tensors [B, …] of floats or
int64, any B), and gives logits and probabilities, both [B, C]. Class names and, of a table, the order of its features
lie in the file.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from pencil.backbones import Own
from pencil.config import from_document, read_toml
from pencil.data import Preparation
from pencil.data.transforms.augment import Prepare
from pencil.errors import PencilError, did_you_mean
from pencil.export.place import check_place
from pencil.results.atomic import write_atomic
from pencil.results.documents import read_classes, read_object
from pencil.results.folder import RunFolder
from pencil.run.finished.network import load_network
from pencil.run.planning.preparation import read_preparation

FORMS = ("onnx", "torch_export")
INPUT, OUTPUTS = "input", ("logits", "probabilities")
TOLERANCE = 1e-3
"""Largest difference of a probability between the file and the network it was made from."""


class Form(Protocol):
    """A module of this package: one kind of file."""

    def write(self, network: "Deployed", example: Tensor, facts: dict[str, str], out: Path) -> None:
        """Write the file."""
        ...

    def probabilities(self, path: Path, inputs: Tensor) -> Tensor | None:
        """Compute with the file; None where what it takes is not installed."""
        ...


class Deployed(nn.Module):
    """Preparation, network and softmax."""

    def __init__(self, preparation: Preparation, network: nn.Module) -> None:
        super().__init__()
        self.prepare, self.network = Prepare(preparation, seed=0), network

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        logits: Tensor = self.network(self.prepare(input))
        return logits, logits.softmax(-1)


def export_network(run: str | Path, to: str, out: str | Path, *, backbone: str | Own = "") -> float | None:
    """Write a run's network as one of `FORMS`.

    Returns the largest difference between its probabilities and those of the original network; None where the file
    cannot be tried out here.
    """
    if to not in FORMS:
        raise PencilError(f'there is no network format "{to}".{did_you_mean(to, FORMS)}')
    out = Path(out)
    check_place(out, to)
    folder = RunFolder.open(run)
    settings = from_document(read_toml(folder.config))
    preparation = read_preparation(folder)
    network = Deployed(preparation, load_network(folder, settings, backbone=backbone)).eval()
    form = cast(Form, import_module(f"pencil.export.{to}"))
    difference: list[float | None] = []

    def write(path: Path) -> None:
        form.write(network, _example(preparation, 2), _facts(folder), path)
        difference.append(_difference(form, network, preparation, path))

    write_atomic(out, write)
    return difference[0]


def _difference(form: Form, network: Deployed, preparation: Preparation, path: Path) -> float | None:
    # Another batch size than that of the example: any must do.
    inputs = _example(preparation, 5)
    found = form.probabilities(path, inputs)
    if found is None:
        return None
    with torch.no_grad():
        difference = float((found - network(inputs)[1]).abs().max())
    if not difference <= TOLERANCE:
        raise PencilError(
            f"the exported network's probabilities differ from the original's by up to {difference:.2g}; it was not"
            " written. Another version of torch may do better."
        )
    return difference


def _facts(folder: RunFolder) -> dict[str, str]:
    """Return what a program needs to know beside the network, as JSON texts."""
    preprocessing = read_object(folder.preprocessing)
    facts = {"classes": list(read_classes(folder.classes)), "features": preprocessing.get("features")}
    return {name: json.dumps(value, ensure_ascii=False) for name, value in facts.items() if value is not None}


def _example(preparation: Preparation, count: int) -> Tensor:
    """Make up raw inputs of the run's kind."""
    random = np.random.default_rng(count)
    shape = (count, *preparation.raw_shape)
    if preparation.kind == "images":
        return torch.from_numpy(random.integers(0, 256, shape, dtype=np.uint8))
    if preparation.kind == "tensors":
        # Of whole numbers, a table that is looked up has the first two if any.
        numbers = random.integers(0, 2, shape) if preparation.whole else random.normal(size=shape).astype(np.float32)
        return torch.from_numpy(numbers)
    rows = random.normal(size=shape) * np.asarray(preparation.std) + np.asarray(preparation.mean)
    if preparation.least:
        rows = np.where(np.asarray(preparation.least) > 0, np.exp(rows), rows)
    return torch.from_numpy(rows.astype(np.float32))
