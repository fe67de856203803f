"""The default: settings that need no knowledge of the noise and mean the same on any data.

Everything is scale-free: the label step η and the anchor a do not depend on batch size or class count, and the
network's loss is not divided by the number of classes. Nothing is known of the noise: how likely each label is right
is estimated on the noisy held-out labels, and a_i = 2·P(right) lets a label flip to class j where the averaged
network believes j more than the given class by more than P(right). It then flips after about K/(2η) = 2 epochs,
before the network can learn it by heart; η falls to zero over the phase, so that late mistakes do less and less.
"""

import math
from typing import Any

from pencil.flips import falling_step, gap, scale_for_classes
from pencil.recipes.facts import Facts

Epochs = tuple[int, int, int]

EPOCHS = (60, 40, 20)
"""At most, for the first phase."""
DISTORTED_EPOCHS = (120, 100, 20)
"""Distorted images take longer to learn."""
PATIENCE = 8
LONGER = 2.5
"""Times as many epochs that label learning may take: enough where four of five labels are wrong."""
USUAL_FIRST = 20
"""What the first phase usually takes: other methods get as many epochs as the three phases usually come to."""
RATE = 0.05
LARGEST_BATCH = 128
"""Which the rate is meant for. For images it falls with the batch: by a few of them no step should go far. Rows, of
which there are few as a rule, need such steps."""
FALLEN = 0.2
"""Share of the rate that is left when labels have been learned."""
LABEL_STEP = 2.5
TEACHING = {"average_epochs": 1.0, "guard": True, "forgive_overconfidence": True}
DISTORTION = 1.0
LEAST_DISTORTED = 24
"""Pixels of the shorter side; smaller images have none to lose."""
LEAST_COLUMNS = 8
"""Of a row that may lack some."""

MOST_CLASSES = 2_000
"""A matrix of more classes costs more than the network, and no held-out labels can tell it."""

LEAST_DECAY = 5e-4
FEW_DIRECTIONS = 16
"""In which rows may spread before they need more decay."""
DECAY_TO_PULL = 0.1
"""From 0.18 times the pull on, decay may leave nothing of a perceptron."""
BOUNDED = {"lq", "truncated_lq", "mae", "mse"}
"""Losses that pull little where the network is wrong: more decay than usual would win against them."""

# Phase: its share of the epochs, and whether the rate falls to zero over it.
SHARES: dict[str, dict[str, tuple[int, bool]]] = {
    "forward_estimated": {"estimating": (1, True), "training": (1, True)},
    "truncated_lq": {"all": (1, False), "kept": (2, True)},
    "joint_optimization": {"backbone": (1, False), "labels": (2, False), "final": (1, True)},
    "cnn_crf": {"noisy": (1, False), "field": (3, True)},
}
OPTIONS: dict[str, dict[str, Any]] = {"joint_optimization": {"entropy_weight": 0.4}}


def recipe(
    method: str,
    facts: Facts,
    *,
    epochs: Epochs = EPOCHS,
    distorted_epochs: Epochs = DISTORTED_EPOCHS,
    rate: float = RATE,
    patient: bool = True,
) -> dict[str, Any]:
    """Return the default settings for a method on data of this size; unless patient, phases have fixed lengths."""
    distorts, batch = _may_distort(facts), batch_size(facts.num_examples)
    if facts.kind == "images":
        rate *= min(facts.batch_size or batch, LARGEST_BATCH) / LARGEST_BATCH
    epochs = _epochs(facts, distorted_epochs if distorts else epochs)
    settings: dict[str, Any] = {
        "optimizer": {
            "batch_size": batch,
            "momentum": 0.9,
            "weight_decay": LEAST_DECAY if method in BOUNDED else _weight_decay(facts),
        }
    }
    if method != "pencil":
        return settings | _other(method, facts.phase_names, min(epochs[0], USUAL_FIRST) + epochs[1] + epochs[2], rate)
    # A teacher knows more as the rate falls, and so do labels, where the network cannot learn them by heart meanwhile.
    low = FALLEN * rate if distorts else rate
    scale = scale_for_classes(facts.num_classes)  # As init_scale = 0 chooses it.
    return settings | {
        "teaching": TEACHING | ({"distortion": DISTORTION} if distorts or _may_lack_columns(facts) else {}),
        "phases": {
            # Label learning begins with the best of these epochs.
            "backbone": {"epochs": epochs[0], "lr": f"{rate:g}"} | ({"patience": PATIENCE} if patient else {}),
            "labels": {"epochs": epochs[1], "lr": f"{rate:g} ~> {low:g}" if low < rate else f"{rate:g}"}
            | ({"at_most": round(LONGER * epochs[1])} if patient else {}),
            "tuning": {"epochs": epochs[2], "lr": f"{low:g} ~> 0"},
        },
        "options": {
            "compatibility": "code",
            # The teacher moves the labels; the network learns them as it learned the given ones, by cross entropy.
            "classification": "classic",
            "entropy_weight": 0.0,
            "label_step": falling_step(LABEL_STEP, scale, facts.lengths.get("labels", epochs[1])),
            "init_scale": 0.0,
            "divide_by_classes": False,
            "from_best": True,
            **_anchoring(facts.num_classes),
        },
    }


def _other(method: str, names: tuple[str, ...], epochs: int, rate: float) -> dict[str, Any]:
    """Share the epochs PENCIL would take among a method's phases; the rate falls where a network's training ends."""
    parts = SHARES.get(method, {name: (1, name == names[-1]) for name in names})
    whole = sum(share for share, _ in parts.values())
    ends = [round(epochs * sum(share for share, _ in list(parts.values())[:n]) / whole) for n in range(len(parts) + 1)]
    phases = {
        name: {"epochs": end - start, "lr": f"{rate:g} ~> 0" if falls else f"{rate:g}"}
        for (name, (_, falls)), start, end in zip(parts.items(), ends, ends[1:], strict=False)
    }
    return {"phases": phases, **({"options": OPTIONS[method]} if method in OPTIONS else {})}


def _anchoring(classes: int) -> dict[str, Any]:
    known = classes <= MOST_CLASSES
    return {"anchor": 2.0 if known else 0.5, "by_clean_probability": known, "by_class_shares": known, "settle": known}


def _may_distort(facts: Facts) -> bool:
    return facts.kind == "images" and min(facts.shape[1:], default=0) >= LEAST_DISTORTED


def _may_lack_columns(facts: Facts) -> bool:
    return facts.kind == "rows" and math.prod(facts.shape) >= LEAST_COLUMNS


def batch_size(examples: int) -> int:
    """Return about a twentieth of the examples: small data needs steps more than it needs full batches."""
    return min(1 << max(round(math.log2(max(examples, 1) / 20)), 4), LARGEST_BATCH)


def _weight_decay(facts: Facts) -> float:
    """Return what keeps a network from learning few labels by heart.

    It stands beside the mean loss: a belief in small weights that counts as much as a few examples do has a share of
    that mean that falls with their number. From 8,000 on it is what the paper and most others use for images. Rows
    that spread in many directions are soon told apart by them, and their labels learned by heart: each direction has
    weights of its own, and the belief is about all of them together. It must not win against what labels say.
    """
    few = min(max(4 / max(facts.num_examples, 1), LEAST_DECAY), 0.02)
    many = few * facts.directions / FEW_DIRECTIONS
    return round(max(few, min(many, DECAY_TO_PULL * facts.pull)), 6)


def _epochs(facts: Facts, wanted: Epochs) -> Epochs:
    # Labels need epochs, not steps, to move; large data gets fewer of them, but never too few to flip a label:
    # a step that falls to zero closes a gap of η·epochs in all.
    factor = 1.0 if facts.num_examples <= 100_000 else max(0.5, (100_000 / facts.num_examples) ** 0.25)
    backbone, labels, tuning = (round(epochs * factor) for epochs in wanted)
    return backbone, max(labels, math.ceil(gap(scale_for_classes(facts.num_classes)) / LABEL_STEP)), tuning
