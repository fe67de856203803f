"""The default's idea at the smallest cost: a network made for the GPU, large batches, few epochs.

Labels still flip two epochs after the averaged network contradicts them, so a third of the default's epochs are
enough for them; the rate grows with the batch, as the steps grow fewer.
"""

from typing import Any

from pencil.recipes import auto
from pencil.recipes.facts import Facts

EPOCHS = (7, 14, 9)
LARGEST_BATCH = 512
LARGEST_SIDE = 64
"""Beyond this an image costs the wide network more than it gains."""


def recipe(method: str, facts: Facts) -> dict[str, Any]:
    """Return the settings for a method on data of this size."""
    settings = auto.recipe(method, facts, epochs=EPOCHS)
    batch = settings["optimizer"]["batch_size"]
    for phase in settings["phases"].values():
        phase.pop("patience", None)
    if facts.num_examples >= 40 * LARGEST_BATCH:
        settings["optimizer"] |= {"batch_size": LARGEST_BATCH, "nesterov": True}
        rate = auto.RATE * LARGEST_BATCH / batch
        for phase in settings["phases"].values():
            phase["lr"] = phase["lr"].replace(str(auto.RATE), f"{rate:g}")
    if facts.kind == "images" and max(facts.shape[1:], default=0) <= LARGEST_SIDE:
        settings["backbone"] = "resnet9"
    return settings
