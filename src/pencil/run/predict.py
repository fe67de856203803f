"""Predicts with a finished run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pencil import backbones, data
from pencil.config import DataSettings, Settings, from_document, read_toml
from pencil.data import Dataset, Preparation
from pencil.data.augment import Prepare
from pencil.engine import predict
from pencil.errors import PencilError
from pencil.results.documents import read_classes, read_object
from pencil.results.arrays import read_arrays
from pencil.results.folder import RunFolder
from pencil.runtime import PRECISIONS, choose_device


@dataclass(frozen=True, eq=False)
class Predictions:
    """Class probabilities for new examples."""

    ids: NDArray[np.str_]
    class_names: tuple[str, ...]
    probabilities: NDArray[np.float32]


def load_network(folder: RunFolder, settings: Settings, *, backbone: str = "") -> nn.Module:
    """Make a run's network and give it the run's weights; code that a run names must be named again by the user."""
    name = settings.backbone
    if ".py:" in name and backbone != name:
        raise PencilError(f"this run's network is code of its own; if you trust it, give it again: --backbone {name}")
    preparation = read_preparation(folder)
    classes = read_classes(folder.classes)
    model = backbones.create(name, preparation.spec, len(classes), _without_weights(settings.backbone_options))
    weights = {k: torch.from_numpy(np.array(v)) for k, v in read_arrays(folder.model).items()}
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise PencilError(f"{folder.model} does not fit the network {name}; the run folder is damaged.") from None
    return model.eval()


def read_preparation(folder: RunFolder) -> Preparation:
    """Read preprocessing.json."""
    fields = read_object(folder.preprocessing)
    try:
        return Preparation(**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})
    except TypeError:
        raise PencilError(f"{folder.preprocessing} is damaged: it has unknown fields.") from None


def predict_run(
    run: str | Path,
    source: Any,
    *,
    data_settings: Mapping[str, Any] | None = None,
    split: str = "test",
    device: str = "auto",
    backbone: str = "",
) -> Predictions:
    """Predict the examples of a source with a finished run."""
    folder = RunFolder.open(run)
    settings = from_document(read_toml(folder.config))
    model = load_network(folder, settings, backbone=backbone)
    dataset = source
    if not isinstance(source, Dataset):
        dataset = data.read(DataSettings(**{"source": str(source), **(data_settings or {})}))
    examples = dataset.test if split == "test" and dataset.test is not None else dataset.train
    preparation = read_preparation(folder)
    if dataset.preparation.raw_shape != preparation.raw_shape:
        raise PencilError(
            f"{source} has examples of shape {dataset.preparation.raw_shape}, the run was trained on "
            f"{preparation.raw_shape}; give data of the same kind."
        )
    where = choose_device(device)
    prepare = Prepare(replace(preparation), settings.seed).to(where)
    probabilities = predict(model.to(where), examples.inputs, prepare, PRECISIONS["32-true"], where)
    return Predictions(examples.ids, read_classes(folder.classes), probabilities.numpy())


def _without_weights(options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the file of starting weights: the run's own weights replace them."""
    return {k: v for k, v in options.items() if k != "weights"}
