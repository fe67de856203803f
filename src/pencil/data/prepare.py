"""Turns what a source gives into what a run trains on: labels, noise, held-out share, statistics."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.config.settings import DataSettings
from pencil.data import label_file, noise
from pencil.data.dataset import UNLABELLED, DataFacts, Dataset, Examples, Preparation
from pencil.data.identity import check_unique, find_copies, fingerprint
from pencil.data.split import choose_held_out
from pencil.data.transforms import sides, statistics
from pencil.errors import PencilError, did_you_mean
from pencil.lines import counted, is_unicode

_TRUSTED = 0x7205
"""Separates the choice of trusted examples from the noise, which may have the same seed."""
_FEW_CLASSES = 20
"""Up to so many classes may be anything, even fractions of one example each."""
_NEARLY_ALL = 0.8
"""Share of the classes that must be fractions of one example, for all to be a quantity."""


def prepare(dataset: Dataset, settings: DataSettings, *, seed: int) -> Dataset:
    """Apply the settings to a dataset, in this order; what it holds on disk is left alone."""
    if seed < 0:
        raise PencilError(f"the seed is {seed}; give 0 or more.")
    if settings.labels:
        dataset = replace(dataset, train=label_file.relabel(dataset.train, settings.labels, dataset.class_names))
    check(dataset)
    if "blurred" in dataset.facts:
        raise PencilError(dataset.facts["blurred"])
    preparation = _augmented(dataset.preparation, settings.augment)
    if settings.trusted and not settings.noise:
        raise PencilError("data.trusted is a share of labels that injected noise leaves alone; inject it with --noise.")
    if settings.noise:
        noise_seed = seed if settings.noise_seed is None else settings.noise_seed
        dataset = replace(dataset, train=_trust(dataset.train, settings.trusted, noise_seed))
        dataset = noise.inject(dataset, settings.noise, seed=noise_seed)
    copies = find_copies(dataset.train)
    copied = copies != np.arange(len(copies))
    facts: DataFacts = dataset.facts
    if dataset.held_out is not None:
        facts = facts | _own_held_out(dataset.held_out, settings.held_out)
    elif settings.held_out > 0:
        given, share = dataset.train.given, settings.held_out
        apart = choose_held_out(given, share, copies, seed=seed)
        if copied.any() and not len(apart):  # A few inputs are all there are: to be alike is no sign of a copy.
            apart, copied = choose_held_out(given, share, seed=seed), np.zeros_like(copied)
        dataset, copied = _split(dataset, apart), np.delete(copied, apart)
    if copied.any():
        facts = facts | {"copies": int(copied.sum())}
    if preparation.flip and dataset.facts.get("usual_flip") and "flip" not in settings.augment:
        preparation, told = _unless_sided(preparation, dataset.train)
        facts = facts | told
    if not preparation.mean and preparation.kind != "tensors":
        found = statistics.measure(dataset.train.inputs, preparation.kind, dataset.facts.get("levels", ()))
        preparation = replace(preparation, **found._asdict())
    return replace(dataset, preparation=preparation, facts=facts | {"fingerprint": fingerprint(dataset)})


def _as_seen(name: str) -> str:
    """Return a name as people see it: whether a letter and its accent are one sign or two, they cannot tell."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def check(dataset: Dataset) -> None:
    """Refuse a dataset that cannot be trained on."""
    if dataset.num_classes < 2:
        only = f' ("{dataset.class_names[0]}")' if dataset.class_names else ""
        hint = " Labels that are -1 count as missing." if (dataset.train.given == UNLABELLED).any() else ""
        classes = "1 class" if dataset.class_names else "no classes"
        raise PencilError(f"{dataset.name} has {classes}{only}; training needs at least two.{hint}")
    _check_texts(dataset.class_names, "class")
    spelled, seen = Counter(dataset.class_names), Counter(map(_as_seen, dataset.class_names))
    for name, count in seen.items():
        if spelled[name] > 1:
            raise PencilError(f'two classes of {dataset.name} are called "{name}"; rename one.')
        if count > 1:
            raise PencilError(
                f'two classes of {dataset.name} are called "{name}" but for spaces or signs of Unicode that nobody can'
                " see; spell them alike."
            )
    for name in ("train", "held_out", "test"):
        examples: Examples | None = getattr(dataset, name)
        if examples is not None:
            _check_examples(examples, name.replace("_", "-"), dataset.num_classes)
    if dataset.held_out is not None:
        check_unique(np.concatenate([dataset.train.ids, dataset.held_out.ids]))
    found = np.unique(dataset.train.given[dataset.train.given != UNLABELLED])
    if len(found) < 2:
        only = f'only the class "{dataset.class_names[found[0]]}"' if len(found) else "no labels"
        raise PencilError(f"the training examples of {dataset.name} have {only}; training needs at least two classes.")
    _refuse_quantity(dataset)


def _refuse_quantity(dataset: Dataset) -> None:
    """Refuse labels of which nearly all are numbers with fractions, each of one example alone."""
    if dataset.num_classes <= _FEW_CLASSES:
        return
    sets = [examples.given for examples in (dataset.train, dataset.held_out, dataset.test) if examples is not None]
    given = np.concatenate(sets)
    counts = np.bincount(given[given != UNLABELLED], minlength=dataset.num_classes).tolist()
    own = [name for name, count in zip(dataset.class_names, counts, strict=True) if count == 1 and _is_fraction(name)]
    if len(own) >= _NEARLY_ALL * dataset.num_classes:
        raise PencilError(
            f"the labels of {dataset.name} are numbers such as {own[0]}, nearly each in one example only: a quantity,"
            " not classes; name another label, or turn this one into classes such as low, middle and high."
        )


def _is_fraction(name: str) -> bool:
    try:
        return not float(name).is_integer()
    except ValueError:
        return False


def _check_examples(examples: Examples, name: str, num_classes: int) -> None:
    if not len(examples):
        raise PencilError(f"the {name} set is empty; give it examples, or leave it out.")
    _check_texts(examples.ids.tolist(), "id")
    for labels in (examples.given, examples.given if examples.clean is None else examples.clean):
        wrong = np.flatnonzero((labels < UNLABELLED) | (labels >= num_classes))
        if len(wrong):
            raise PencilError(
                f'the {name} example "{examples.ids[wrong[0]]}" has the label {labels[wrong[0]]};'
                f" give 0 to {num_classes - 1}, or -1 for none."
            )
    check_unique(examples.ids)


def _check_texts(names: Sequence[str], what: str) -> None:
    """Refuse names that could be written into no file, as Python makes them of file names that are not UTF-8."""
    if wrong := next((name for name in names if not is_unicode(name)), ""):
        raise PencilError(f"the {what} {wrong!a} is not Unicode text; rename it.")


def _trust(examples: Examples, share: float, seed: int) -> Examples:
    """Mark a share of the labelled examples, chosen at random, as known to be right, beside those that are."""
    labelled = np.flatnonzero(examples.given != UNLABELLED)
    count = round(share * len(labelled))
    if not count:
        return examples
    marks = np.zeros(len(examples), dtype=np.bool_) if examples.trusted is None else examples.trusted.copy()
    marks[np.random.default_rng([seed, _TRUSTED]).permutation(labelled)[:count]] = True
    return replace(examples, trusted=marks)


def _own_held_out(examples: Examples, share: float) -> DataFacts:
    """Return a line on a share that somebody asked for to no end, where it is not what runs hold out anyway."""
    if share == DataSettings.held_out:
        return {}
    return {
        "own_held_out": f"the data has a set of its own to hold out, of {counted(len(examples), 'example')}, and no"
        f" others are: held_out ({share:g}) changes nothing."
    }


def _split(dataset: Dataset, apart: NDArray[np.int64]) -> Dataset:
    if not len(apart):
        return dataset
    stay = np.setdiff1d(np.arange(len(dataset.train)), apart, assume_unique=True)
    return replace(dataset, train=dataset.train.take(stay), held_out=dataset.train.take(apart))


def _unless_sided(preparation: Preparation, train: Examples) -> tuple[Preparation, DataFacts]:
    """Return a preparation that mirrors nothing where mirror images look other, and a line on it."""
    share = sides.share_told_apart(train)
    if not share:
        return preparation, {}
    line = (
        f"images are not mirrored: {share:.0%} of them can be told from their mirror images (letters can, photographs"
        " mostly not); --set data.augment.flip=true mirrors them."
    )
    return replace(preparation, flip=False), {"sided": line}


def _augmented(preparation: Preparation, augment: dict[str, Any]) -> Preparation:
    kinds: dict[str, Any] = {"pad": int, "crop": int, "flip": bool}
    for name, value in augment.items():
        if name not in kinds:
            raise PencilError(f'there is no augmentation "{name}".{did_you_mean(name, kinds)}')
        if type(value) is not kinds[name] or (name != "flip" and value < 0):
            wanted = "true or false" if name == "flip" else "a number of pixels, 0 or more"
            raise PencilError(f"augment.{name} is {value!r}; give {wanted}.")
    if augment and preparation.kind != "images":
        raise PencilError(f"augmentation is for images, this data is {preparation.kind}; leave augment out.")
    changed = replace(preparation, **augment)
    if changed.kind == "images" and changed.crop > min(changed.raw_shape[:2]) + 2 * changed.pad:
        raise PencilError(
            f"augment.crop is {changed.crop}, more than the image with its padding"
            f" ({changed.raw_shape[0]} × {changed.raw_shape[1]} and {changed.pad} on each side); give less."
        )
    return changed
