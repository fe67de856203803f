"""The fast recipe: the default's idea, at a smaller cost."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pencil import recipes
from pencil.data import from_arrays
from pencil.recipes import auto, fast
from pencil.run.planning.plan import plan

PHASES = ("backbone", "labels", "tuning")


def test_it_takes_fewer_epochs_and_the_wide_network_on_small_images() -> None:
    facts = recipes.Facts(45_000, 10, "images", PHASES, (3, 32, 32))
    settings, default = fast.recipe("pencil", facts), auto.recipe("pencil", facts)
    assert settings["backbone"] == "resnet9" and "backbone" not in default
    assert sum(p["epochs"] for p in settings["phases"].values()) == sum(fast.DISTORTED_EPOCHS)
    # Four times the batch, four times the rate.
    assert settings["optimizer"]["batch_size"] == 512
    assert settings["phases"]["labels"]["lr"] == "0.2 ~> 0.04" and settings["phases"]["tuning"]["lr"] == "0.04 ~> 0"
    assert settings["options"] == default["options"]


@pytest.mark.parametrize(("kind", "shape"), [("rows", (20,)), ("images", (3, 224, 224)), ("images", (1, 8, 8))])
def test_rows_photographs_and_tiny_images_keep_their_network_and_small_data_its_batches(
    kind: str, shape: tuple[int, ...]
) -> None:
    facts = recipes.Facts(2_000, 10, kind, PHASES, shape)
    settings, default = fast.recipe("pencil", facts), auto.recipe("pencil", facts)
    assert "backbone" not in settings
    assert settings["optimizer"] == default["optimizer"]
    assert settings["phases"]["backbone"]["lr"] == default["phases"]["backbone"]["lr"]


@pytest.mark.parametrize(("examples", "epochs"), [(999, (20, 40, 20)), (1_000, (10, 16, 4))])
def test_it_is_short_where_there_are_examples_enough(examples: int, epochs: tuple[int, ...]) -> None:
    phases = fast.recipe("pencil", recipes.Facts(examples, 3, "rows", PHASES, (20,)))["phases"]
    assert tuple(phase["epochs"] for phase in phases.values()) == epochs
    assert not any({"patience", "at_most"} & phase.keys() for phase in phases.values())


def test_a_cpu_does_not_get_the_wide_network() -> None:
    facts = recipes.Facts(45_000, 10, "images", PHASES, (3, 32, 32), accelerated=False)
    settings, wide = fast.recipe("pencil", facts), fast.recipe("pencil", replace(facts, accelerated=True))
    assert "backbone" not in settings
    assert wide == settings | {"backbone": "resnet9"}


@pytest.mark.parametrize("gpu", [False, True])
def test_other_methods_have_it_too(gpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: int(gpu))
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (60, 24, 24, 3), dtype=np.uint8)
    planned = plan(from_arrays(images, rng.integers(0, 3, 60)), {"recipe": "fast", "method": "cross_entropy"})
    assert (planned.settings.backbone == "resnet9") is gpu
    assert sum(phase.epochs for phase in planned.phases) == sum(fast.DISTORTED_EPOCHS)
