"""Injects label noise: a model is a transition matrix T, T[i, j] = P(given = j | true = i), or looks at the inputs."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil import plugins
from pencil.config.own_code import MARK
from pencil.data.dataset import UNLABELLED, DataFacts, Dataset, Examples
from pencil.data.labeller import Labeller, labels_by
from pencil.errors import PencilError
from pencil.transition import check_transition

PACKAGE = "pencil.data.noises"


@dataclass(frozen=True, eq=False)
class Noise:
    """One noise model with its argument, ready to draw."""

    model: str
    argument: str
    transition: NDArray[np.float64] | None
    """[C, C], each row a distribution; None where a labeller decides."""
    convention: str
    """What the rate means, in a sentence."""
    labeller: Labeller | None = None

    @property
    def spec(self) -> str:
        """The text that describes it."""
        return f"{self.model}:{self.argument}" if self.argument else self.model


def parse(spec: str) -> tuple[str, str]:
    """Split "model:argument", where the model may itself be `file.py:name`."""
    head, marker, rest = spec.partition(MARK)
    if marker:
        name, _, argument = rest.partition(":")
        return f"{head}{marker}{name}", argument
    model, _, argument = spec.partition(":")
    return model.strip(), argument.strip()


def make(spec: str, num_classes: int) -> Noise:
    """Build the noise that a text like "symmetric:0.4" describes.

    A model is a function `transition` of the number of classes and the argument; it returns T, or a `Labeller`.
    """
    model, argument = parse(spec)
    build = plugins.find(PACKAGE, model, "transition", kind="noise model")
    made = build(num_classes, argument)
    convention = (inspect.getdoc(build) or "").split("\n\n")[0].replace("\n", " ")
    if isinstance(made, Labeller):
        return Noise(model, argument, None, convention, made)
    try:
        transition = np.asarray(made, dtype=np.float64)
    except (TypeError, ValueError):
        raise PencilError(
            f'noise "{spec}" makes a {type(made).__name__}; let it return a matrix of numbers, or an object with'
            " label(sets, rng)."
        ) from None
    check_transition(transition, num_classes, f'noise "{spec}"')
    return Noise(model, argument, transition, convention)


def rate(argument: str, model: str) -> float:
    """Read a noise rate."""
    try:
        value = float(argument)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise PencilError(f'noise "{model}:{argument}": the rate must be a number from 0 to 1, e.g. {model}:0.4.')
    return value


def draw(labels: NDArray[np.int64], transition: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a given label for each true one; examples without a label keep none."""
    uniform = rng.random(len(labels))
    cumulative = transition.cumsum(axis=1)
    # A row may sum to 1 − 1e-16: the last class that has any mass takes what rounding leaves.
    for row, chances in zip(cumulative, transition, strict=True):
        row[np.flatnonzero(chances)[-1] :] = 1.0
    drawn = labels.copy()
    order = np.argsort(labels, kind="stable")
    classes, starts = np.unique(labels[order], return_index=True)
    for label, members in zip(classes, np.split(order, starts[1:]), strict=True):
        if label != UNLABELLED:
            drawn[members] = np.searchsorted(cumulative[label], uniform[members], side="right")
    return drawn


def inject(dataset: Dataset, spec: str, *, seed: int) -> Dataset:
    """Contaminate the training and held-out labels, never the test labels; what was given is kept as `clean`."""
    if seed < 0:
        raise PencilError(f"the noise seed is {seed}; give 0 or more.")
    noise = make(spec, dataset.num_classes)
    sets = [examples for examples in (dataset.train, dataset.held_out) if examples is not None]
    if any(examples.distribution is not None for examples in sets):
        raise PencilError("noise is injected into plain labels, these are soft labels or votes; give one label each.")
    drawn, transition, how = _drawn(noise, sets, dataset.num_classes, np.random.default_rng(seed))
    noisy = [_contaminate(examples, labels) for examples, labels in zip(sets, drawn, strict=True)]
    changed = sum(int((new.given != old.given).sum()) for new, old in zip(noisy, sets, strict=True))
    labelled = sum(int((examples.given != UNLABELLED).sum()) for examples in sets)
    percent = 100 * changed / max(labelled, 1)
    record: dict[str, Any] = {
        "model": noise.model,
        "argument": noise.argument,
        "spec": spec,
        "seed": seed,
        "convention": noise.convention,
        "measured_percent": round(percent, 4),
    }
    if _is_number(noise.argument):
        record["rate"] = float(noise.argument)
    if how:
        record["told"] = f"{how}: {percent:.1f}% of the labels changed"
    facts: DataFacts = {**dataset.facts, "noise": record, "transition": transition.tolist()}
    return replace(dataset, train=noisy[0], held_out=noisy[1] if len(noisy) > 1 else None, facts=facts)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _drawn(
    noise: Noise, sets: Sequence[Examples], num_classes: int, rng: np.random.Generator
) -> tuple[list[NDArray[np.int64]], NDArray[np.float64], str]:
    """Return labels for each set, the matrix that they follow, and what there is to say of how they were made."""
    if noise.labeller is None:
        assert noise.transition is not None
        return [draw(examples.given, noise.transition, rng) for examples in sets], noise.transition, ""
    drawn, how = labels_by(noise.labeller, sets, num_classes, rng, f'noise "{noise.spec}"')
    true, given = np.concatenate([examples.given for examples in sets]), np.concatenate(drawn)
    return drawn, _shares(true, given, num_classes), how


def _shares(true: NDArray[np.int64], given: NDArray[np.int64], num_classes: int) -> NDArray[np.float64]:
    """Measure T; a class without examples stays itself."""
    counts = np.zeros((num_classes, num_classes))
    labelled = true != UNLABELLED
    np.add.at(counts, (true[labelled], given[labelled]), 1)
    empty = ~counts.any(axis=1)
    counts[empty, empty] = 1
    shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _contaminate(examples: Examples, drawn: NDArray[np.int64]) -> Examples:
    """Return the examples under drawn labels, but for the trusted ones."""
    if examples.trusted is not None:
        drawn = np.where(examples.trusted, examples.given, drawn)
    return examples.with_given(drawn, keep_clean=True)
