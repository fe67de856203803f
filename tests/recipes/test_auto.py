"""The default recipe: scale-free, long enough to flip a label, and found by name."""

from typing import Any

import pytest

from pencil import methods, recipes
from pencil.config import Schedule, from_document
from pencil.errors import PencilError


@pytest.mark.parametrize("examples", [200, 50_000, 100_000, 1_000_000, 10**8])
@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_a_contradicted_label_has_time_to_flip(examples: int, classes: int) -> None:
    document = recipes.resolve("auto", "pencil", recipes.Facts(examples, classes, "images"))
    settings = from_document({**document, "method": "pencil"})
    method = methods.create("pencil", settings.options, classes)
    phases = {phase.name: phase for phase in method.phases(settings.phases)}
    labels = phases["labels"]
    assert labels.label_step is not None
    # Both ends of the gap K move by η an epoch while the label is sure.
    travelled = 2 * sum(labels.label_step.at(epoch + 0.5, labels.epochs) for epoch in range(labels.epochs))
    assert travelled > method.label_scale
    # a_i = anchor · P(right) < 2m: a sure network can flip a label that is not sure to be right.
    assert method.anchor <= 2
    assert method.options.by_clean_probability
    assert method.loss_scale == 1, "weight decay means the same for any number of classes"


@pytest.mark.parametrize("classes", [2, 10, 1000])
@pytest.mark.parametrize("epochs", [3, 4, 5, 12, 40, 200])
def test_a_contradicted_label_has_time_to_flip_however_few_the_epochs(epochs: int, classes: int) -> None:
    facts = recipes.Facts(5_000, classes, "rows", lengths={"labels": epochs})
    options = recipes.resolve("auto", "pencil", facts)["options"]
    step, scale = Schedule.parse(options["label_step"]), methods.create("pencil", options, classes).label_scale
    last_in_order = 2 * sum(step.at(epoch + 1, epochs) for epoch in range(epochs))
    assert last_in_order > scale
    assert step.at(0, epochs) <= max(2.5, 0.626 * scale), "what flips at once cannot be taken back"
    assert step.at(0, epochs) == 2.5 or epochs < 8, "as usual where there is time"


def test_the_noise_is_estimated_as_long_as_its_matrix_is_not_too_large() -> None:
    def options(classes: int) -> dict[str, Any]:
        return recipes.resolve("auto", "pencil", recipes.Facts(10**6, classes, "rows"))["options"]  # type: ignore[no-any-return]

    assert options(2_000)["by_clean_probability"] and options(2_000)["by_class_shares"]
    many = options(20_000)
    assert not many["by_clean_probability"] and not many["by_class_shares"]
    # A label flips where the teacher prefers another class by more than a quarter.
    assert many["anchor"] == 0.5


@pytest.mark.parametrize("method", ["pencil", "cross_entropy"])
def test_of_images_the_rate_falls_with_the_batch(method: str) -> None:
    def rate(examples: int, kind: str = "images", batch: int = 0) -> float:
        facts = recipes.Facts(examples, 3, kind, methods.kind(method).phase_names, (3, 32, 32), batch_size=batch)
        phases = recipes.resolve("auto", method, facts)["phases"]
        return Schedule.parse(next(iter(phases.values()))["lr"]).at(0, 1)

    assert [rate(n) for n in (50, 180, 1_300, 2_000, 10**6)] == [0.00625, 0.00625, 0.025, 0.05, 0.05]
    assert rate(180, batch=64) == 0.025 and rate(180, batch=1_000) == 0.05, "the batch that the user asks for"
    assert rate(50, "rows") == rate(180, "rows") == 0.05


def test_few_examples_get_more_weight_decay() -> None:
    found = [
        recipes.resolve("auto", "pencil", recipes.Facts(examples, 3, "rows"))["optimizer"]["weight_decay"]
        for examples in (20, 400, 8_000, 10**6)
    ]
    assert found == [0.02, 0.01, 0.0005, 0.0005]


def test_rows_that_spread_in_many_directions_get_more_weight_decay() -> None:
    def decay(directions: float, examples: int = 400, pull: float = 9.0) -> float:
        facts = recipes.Facts(examples, 3, "rows", directions=directions, pull=pull)
        return float(recipes.resolve("auto", "pencil", facts)["optimizer"]["weight_decay"])

    assert decay(1) == decay(16) == 0.01
    assert decay(64) == 0.04
    assert decay(64, examples=10**6) == 0.002, "however many examples: each of them is told from all others as easily"
    assert decay(64, pull=0.3) == 0.03, "more would leave nothing of a network whose labels say little"
    assert decay(64, pull=0.0) == decay(1) == 0.01, "as much as rows of few directions get, in any case"


def test_images_and_rows_are_distorted_where_they_have_pixels_or_columns_to_lose() -> None:
    def settings(kind: str, *shape: int) -> dict[str, Any]:
        return recipes.resolve("auto", "pencil", recipes.Facts(5_000, 10, kind, shape=shape))

    distorted, small, rows = settings("images", 3, 32, 48), settings("images", 1, 8, 40), settings("rows", 64)
    assert distorted["teaching"]["distortion"] == 1
    assert "distortion" not in small["teaching"] and rows["teaching"]["distortion"] == 1
    assert "distortion" not in settings("rows", 4)["teaching"]
    assert distorted["phases"]["labels"]["epochs"] > small["phases"]["labels"]["epochs"]
    assert small["phases"] == rows["phases"]
    for each in (distorted, small):
        assert each["phases"]["labels"]["at_most"] == 2.5 * each["phases"]["labels"]["epochs"]


def test_other_methods_train_once_for_as_long_as_pencil_usually_does() -> None:
    facts = recipes.Facts(5_000, 10, "images")
    pencil = from_document({**recipes.resolve("auto", "pencil", facts), "method": "pencil"})
    plain = from_document({**recipes.resolve("auto", "cross_entropy", facts), "method": "cross_entropy"})
    backbone, *rest = pencil.phases.values()
    assert backbone.patience > 0 and all(phase.patience == 0 for phase in rest)
    fixed = sum(phase.epochs for phase in rest)
    assert fixed < plain.phases["training"].epochs < fixed + backbone.epochs


def test_unknown_recipes_get_the_nearest() -> None:
    facts = recipes.Facts(5_000, 10, "images")
    with pytest.raises(PencilError, match=r'no recipe "paper/cifar1000"\. Did you mean "paper/cifar100"'):
        recipes.resolve("paper/cifar1000", "pencil", facts)
