"""The default's idea at the smallest cost: a network made for the GPU, large batches, a short first phase.

On a CPU the wide network would take longer than any other: there data keep their own. The rate grows with the batch,
as the steps grow fewer. The wide network is quick to learn, so its first phase has a fixed length. Labels are found
nearly as well in less than half of the epochs where there are examples enough; a few hundred need them all, and take
seconds.
"""

from typing import Any

from pencil.recipes import auto
from pencil.recipes.facts import Facts

EPOCHS = (10, 16, 4)
FEW = 1_000
FEW_EPOCHS = (20, 40, 20)
"""With fewer examples than that."""
DISTORTED_EPOCHS = (20, 60, 20)
LARGEST_BATCH = 512
SIDES = range(24, 65)
"""Sides of images for the wide network: smaller ones do not need it, larger ones cost it more than they gain."""


def recipe(method: str, facts: Facts) -> dict[str, Any]:
    """Return the settings for a method on data of this size."""
    large = facts.num_examples >= 40 * LARGEST_BATCH
    rate = auto.RATE * LARGEST_BATCH / auto.batch_size(facts.num_examples) if large else auto.RATE
    epochs = FEW_EPOCHS if facts.num_examples < FEW else EPOCHS
    settings = auto.recipe(method, facts, epochs=epochs, distorted_epochs=DISTORTED_EPOCHS, rate=rate, patient=False)
    if large:
        settings["optimizer"] |= {"batch_size": LARGEST_BATCH, "nesterov": True}
    if facts.accelerated and facts.kind == "images" and all(side in SIDES for side in facts.shape[1:]):
        settings["backbone"] = "resnet9"
    return settings
