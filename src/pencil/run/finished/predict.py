"""Predicts with a finished run."""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pencil import backbones, data
from pencil.config import DataSettings, build_record, from_document, read_toml
from pencil.config.own_code import same_code
from pencil.data import Dataset, Examples, Preparation
from pencil.data.located import from_home
from pencil.data.transforms.augment import Prepare
from pencil.engine import predict
from pencil.errors import PencilError, did_you_mean
from pencil.results.documents import damaged, read_classes, read_object
from pencil.results.folder import RunFolder
from pencil.run.finished.network import load_network
from pencil.run.finished.unseen import notes_on_texts
from pencil.run.planning.preparation import read_preparation
from pencil.run.training.layout import suits_pixels_together
from pencil.runtime import PRECISIONS, Precision, choose_device

OF_TRAINING = ("labels", "noise", "noise_seed", "trusted", "held_out", "augment")
"""Settings of the data that only training carries out."""
OF_FILES = ("image_folder", "table", "hf")
"""Sources that decode files of images, and can scale them."""
_WHOLE = re.compile("-?(0|[1-9][0-9]*)")
_WITH_POINT = re.compile(rf"{_WHOLE.pattern}\.[0-9]*")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Class probabilities for new examples."""

    ids: NDArray[np.str_]
    class_names: tuple[str, ...]
    probabilities: NDArray[np.float32]
    given: NDArray[np.int64]
    """The examples' own labels in the run's classes; −1 where they have none."""
    given_names: tuple[str, ...]
    """The examples' own labels as their data calls them; "" where they have none."""
    notes: tuple[str, ...] = ()
    """Lines on what the network could not make use of, such as texts that it never saw in training."""

    @property
    def accuracy(self) -> float | None:
        """Percent of the examples' own labels that are predicted; None where they have none."""
        known = self.given >= 0
        if not known.any():
            return None
        return 100 * float((self.probabilities.argmax(axis=1) == self.given)[known].mean())


def predict_run(
    run: str | Path,
    source: Any,
    *,
    data_settings: Mapping[str, Any] | None = None,
    split: str = "",
    device: str = "auto",
    backbone: str | backbones.Own = "",
) -> Predictions:
    """Predict the examples of a source with a finished run: of one split, else of its test set or all it has."""
    folder = RunFolder.open(run)
    model = load_network(folder, from_document(read_toml(folder.config)), backbone=backbone)
    model = model.to(choose_device(device))
    return predict_with(model, folder, source, data_settings=data_settings, split=split)


def predict_with(
    model: nn.Module,
    folder: RunFolder,
    source: Any,
    *,
    data_settings: Mapping[str, Any] | None = None,
    split: str = "",
) -> Predictions:
    """Predict with a run's network where it is, as its folder says that data is to be read."""
    settings = from_document(read_toml(folder.config))
    features, preparation = _features(folder), read_preparation(folder)
    dataset = _read(source, settings.data, data_settings or {}, folder, preparation, features)
    examples = _choose(dataset, split)
    beside = None if isinstance(source, Dataset) else dataset.facts.get("left_out")
    lines = beside, dataset.facts.get("missing")
    notes = (*(line for line in lines if line), *notes_on_texts(dataset, examples, features))
    if dataset.preparation.kind != preparation.kind or dataset.preparation.whole != preparation.whole:
        raise PencilError(
            f"{_called(source, dataset)} has {_kind(dataset.preparation)}, the run was trained on {_kind(preparation)};"
            " give data of the same kind."
        )
    if features:
        examples, dataset = _aligned(examples, dataset, features)
    if dataset.preparation.raw_shape != preparation.raw_shape:
        raise PencilError(
            f"{_called(source, dataset)} has examples of shape {dataset.preparation.raw_shape}, the run was trained on "
            f"{preparation.raw_shape}; give data of the same kind."
        )
    precision, where = _as_it_is(model)
    together = suits_pixels_together(settings.backbone, preparation.kind, where)
    prepare = Prepare(replace(preparation), settings.seed, pixels_together=together).to(where)
    probabilities = predict(model, examples.inputs, prepare, precision, where)
    classes = read_classes(folder.classes)
    given = _in_classes(examples.given, dataset.class_names, classes)
    names = (*dataset.class_names, "")
    given_names = tuple(names[g] for g in examples.given)
    return Predictions(examples.ids, classes, probabilities.numpy(), given, given_names, notes)


def _read(
    source: Any,
    own: DataSettings,
    asked: Mapping[str, Any],
    folder: RunFolder,
    preparation: Preparation,
    features: Sequence[str],
) -> Dataset:
    """Read data for a run: images of another size are scaled to that of the run's own, where that is a square."""
    _refuse_of_training(asked)
    known: dict[str, Any] = {"trained_features": tuple(features), "trained_columns": _columns(folder)}
    if isinstance(source, (str, Path)):
        wanted = _data_settings(data.as_source(source), own, asked, folder)
        options, scales = wanted.options, data.source_kind(wanted) in OF_FILES

        def read(options: Mapping[str, Any]) -> Dataset:
            return data.read(replace(wanted, options=dict(options)), labels_needed=False, **known)
    else:
        wanted = build_record(DataSettings, {"source": own.source, **asked}, "data.")
        options = {**_given_options(source, own, preparation), **wanted.options}
        scales = "size" in data.options_of(source)

        def read(options: Mapping[str, Any]) -> Dataset:
            return data.from_given(source, data.Request(options=dict(options), labels_needed=False, **known))

    dataset = read(options)
    found, trained = dataset.preparation.raw_shape, preparation.raw_shape
    fits = found == trained or not dataset.preparation.kind == preparation.kind == "images"
    if fits or trained[0] != trained[1] or not scales or "size" in options:
        return dataset
    return read({**options, "size": trained[0]})


def _given_options(source: Any, own: DataSettings, preparation: Preparation) -> dict[str, Any]:
    """Read what is given in Python as the run's own data was read, as far as it is of such a kind."""
    known = data.options_of(source) - {"crop"}
    raw = {"raw": preparation.kind == "tensors"} if "raw" in known else {}
    return {name: value for name, value in own.options.items() if name in known} | raw


def _as_it_is(model: nn.Module) -> tuple[Precision, torch.device]:
    """Return the precision and the device that a network has."""
    one = next(model.parameters(), torch.zeros(0))
    return PRECISIONS["64-true" if one.dtype == torch.float64 else "32-true"], one.device


def _called(source: Any, dataset: Dataset) -> str:
    return str(source) if isinstance(source, (str, Path)) else dataset.name


def _kind(preparation: Preparation) -> str:
    return f"{preparation.kind} of whole numbers" if preparation.whole else preparation.kind


def _refuse_of_training(asked: Mapping[str, Any]) -> None:
    for name in OF_TRAINING:
        if name in asked:
            raise PencilError(f"data.{name} is for training, here the data is taken as it is; leave it out.")


def _data_settings(source: str, own: DataSettings, asked: Mapping[str, Any], folder: RunFolder) -> DataSettings:
    """Read other data as the run's own was read, where it is of the same kind; what is asked for comes first."""
    wanted: DataSettings = build_record(DataSettings, {"source": source, **asked}, "data.")
    if source == own.source or same_code(own.source, source):
        return replace(wanted, root=wanted.root or own.root, options={**own.options, **wanted.options})
    kind, names = data.source_kind(wanted), set[str]()
    with suppress(PencilError):  # The run's own data need not be there any more.
        if kind == data.source_kind(from_home(own, folder.homes())):
            # What the network sees of an image is the run's to say, which these may be too small for until scaled.
            names = set(own.options) - {"crop"}
    if kind in OF_FILES:
        names |= {"size", "bits"}
    kept = {name: value for name, value in own.options.items() if name in names}
    return replace(wanted, options={**kept, **wanted.options})


def _features(folder: RunFolder) -> tuple[str, ...]:
    """Return what the run calls a table's features; nothing where it was trained on something else."""
    names = read_object(folder.preprocessing).get("features") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise damaged(folder.preprocessing, "its features are no names")
    return tuple(names)


def _columns(folder: RunFolder) -> dict[str, str]:
    """Return the columns that the run's own table had for its labels and its sets, where the run has kept them."""
    kept = read_object(folder.preprocessing)
    columns = {name: kept[f"{name}_column"] for name in ("label", "split") if f"{name}_column" in kept}
    if not all(isinstance(column, str) for column in columns.values()):
        raise damaged(folder.preprocessing, "its columns are no names")
    return columns


def _aligned(examples: Examples, dataset: Dataset, wanted: Sequence[str]) -> tuple[Examples, Dataset]:
    """Put features into the order of the run's; texts that the run never saw count as none it knows."""
    titles = list(dataset.facts.get("features", ()))
    if titles == list(wanted):
        return examples, dataset
    if not titles:
        raise PencilError(
            f'{dataset.name} has no names of columns, and the run was trained on "{wanted[0]}" and so on; give a file'
            " or a data frame with these columns."
        )
    texts = {title.partition("=")[0] for title in titles if "=" in title}
    for title in wanted:
        column, equals, _ = title.partition("=")
        if title not in titles and not (equals and column in texts):
            raise PencilError(_misfit(dataset.name, column, {*titles, *texts}, bool(equals)))
    rows = np.asarray(examples.inputs.read(np.arange(len(examples))))
    nothing = np.zeros(len(rows), dtype=rows.dtype)
    ordered = np.stack([rows[:, titles.index(title)] if title in titles else nothing for title in wanted], axis=1)
    preparation = replace(dataset.preparation, raw_shape=(len(wanted),))
    return replace(examples, inputs=data.ArrayInputs(ordered)), replace(dataset, preparation=preparation)


def _misfit(name: str, column: str, known: Collection[str], as_texts: bool) -> str:
    if column not in known:
        return f'{name} has no column "{column}", which the run was trained on; add it.'
    found, trained = ("numbers", "texts") if as_texts else ("texts", "numbers")
    return f'the column "{column}" of {name} holds {found}, the run was trained on {trained} there; give {trained}.'


def _choose(dataset: Dataset, split: str) -> Examples:
    splits = {"train": dataset.train, "held-out": dataset.held_out, "test": dataset.test}
    if not split:
        return dataset.test or dataset.train or dataset.held_out or dataset.train
    if split not in splits:
        raise PencilError(f'there is no split "{split}".{did_you_mean(split, splits)}')
    chosen = splits[split]
    if not chosen:
        there = ", ".join(name for name, examples in splits.items() if examples)
        raise PencilError(f"{dataset.name} has no {split} set, only {there}; name what it has by --split.")
    return chosen


def _in_classes(given: NDArray[np.int64], names: Sequence[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """Number labels as the run numbers its classes; −1 for those it does not know."""
    as_spelled = {name: number for number, name in enumerate(classes)}
    by_value = {_by_value(name): number for number, name in enumerate(classes)}
    found = (as_spelled.get(name, by_value.get(_by_value(name), -1)) for name in names)
    return np.array([*found, -1], dtype=np.int64)[given]


def _by_value(name: str) -> str:
    """Return one spelling for names that are the same number: 1 for 1.0; 007 and texts are names as they stand."""
    bare = name.strip()
    return bare.rstrip("0").rstrip(".") if _WITH_POINT.fullmatch(bare) else bare if _WHOLE.fullmatch(bare) else name
