"""How far a label has to move before it flips, and how large a step that takes."""

import math

MARGIN = 1.25
"""A quarter more than the gap, since a label moves more slowly the less sure it is."""
LEAST_EPOCHS = 3
"""Of label learning, for labels to flip."""


def scale_for_classes(num_classes: int) -> float:
    """Return the K at which y^d starts as certain with any number of classes as K = 10 makes it with ten."""
    return 10.0 + math.log(max(num_classes - 1, 1) / 9)


def gap(scale: float) -> float:
    """Return what lies between two classes of a label that starts at this scale, and the margin."""
    return MARGIN * scale


def at_once(scale: float) -> float:
    """Return the step that flips a contradicted label in one epoch: both ends of the gap move by it."""
    return gap(scale) / 2


def falling_step(usual: float, scale: float, epochs: int) -> str:
    """Return a step that falls to zero over so many epochs: the usual one, or as large as it takes to flip a label.

    What an epoch sees last moves least: it closes a gap of η·(epochs − 1). In one or two epochs a label would have to
    flip at once, on the word of a network that has hardly learned anything: then most stay as they are.
    """
    enough = gap(scale) / (epochs - 1) if epochs >= LEAST_EPOCHS else 0.0
    return f"{max(usual, enough):.4g} -> 0"
