"""Injects label noise: every model is a transition matrix T, T[i, j] = P(given = j | true = i)."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil import plugins
from pencil.data.dataset import UNLABELLED, Dataset, Examples
from pencil.errors import PencilError
from pencil.transition import check_transition

PACKAGE = "pencil.data.noises"


@dataclass(frozen=True, eq=False)
class Noise:
    """One noise model with its argument, ready to draw."""

    model: str
    argument: str
    transition: NDArray[np.float64]
    """[C, C], each row a distribution."""
    convention: str
    """What the rate means, in a sentence."""


def parse(spec: str) -> tuple[str, str]:
    """Split "model:argument", where the model may itself be `file.py:name`."""
    head, marker, rest = spec.partition(".py:")
    if marker:
        name, _, argument = rest.partition(":")
        return f"{head}.py:{name}", argument
    model, _, argument = spec.partition(":")
    return model.strip(), argument.strip()


def make(spec: str, num_classes: int) -> Noise:
    """Build the noise that a text like "symmetric:0.4" describes."""
    model, argument = parse(spec)
    build = plugins.find(PACKAGE, model, "transition", kind="noise model")
    transition = np.asarray(build(num_classes, argument), dtype=np.float64)
    check_transition(transition, num_classes, f'noise "{spec}"')
    convention = (inspect.getdoc(build) or "").split("\n\n")[0].replace("\n", " ")
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
    rng = np.random.default_rng(seed)
    train, changed, labelled = _contaminate(dataset.train, noise, rng)
    held_out = dataset.held_out
    if held_out is not None:
        held_out, more_changed, more_labelled = _contaminate(held_out, noise, rng)
        changed, labelled = changed + more_changed, labelled + more_labelled
    record: dict[str, Any] = {
        "model": noise.model,
        "argument": noise.argument,
        "spec": spec,
        "seed": seed,
        "convention": noise.convention,
        "measured_percent": round(100 * changed / max(labelled, 1), 4),
    }
    if _is_number(noise.argument):
        record["rate"] = float(noise.argument)
    facts = {**dataset.facts, "noise": record, "transition": noise.transition.tolist()}
    return replace(dataset, train=train, held_out=held_out, facts=facts)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _contaminate(examples: Examples, noise: Noise, rng: np.random.Generator) -> tuple[Examples, int, int]:
    """Return the examples under drawn labels, how many labels changed, and how many there are."""
    if examples.distribution is not None:
        raise PencilError("noise is injected into plain labels, these are soft labels or votes; give one label each.")
    drawn = draw(examples.given, noise.transition, rng)
    if examples.trusted is not None:
        drawn = np.where(examples.trusted, examples.given, drawn)
    changed = int((drawn != examples.given).sum())
    return examples.with_given(drawn, keep_clean=True), changed, int((examples.given != UNLABELLED).sum())
