"""How the other methods are trained: published schedules where there are any, otherwise as long as PENCIL."""

from typing import Any

import pytest

from pencil import methods, plugins, recipes
from pencil.config import from_document, to_document

METHODS = plugins.names("pencil.methods")


def resolve(recipe: str, method: str, classes: int = 10) -> Any:
    facts = recipes.Facts(45_000, classes, "images", methods.kind(method).phase_names)
    return from_document({**recipes.resolve(recipe, method, facts), "method": method})


def phases(recipe: str, method: str, classes: int = 10) -> Any:
    settings = resolve(recipe, method, classes)
    return settings, methods.create(method, settings.options, classes).phases(settings.phases)


def rates(phase: Any, epochs: list[float]) -> list[float]:
    return [phase.lr.at(epoch, phase.epochs) for epoch in epochs]


@pytest.mark.parametrize("recipe", recipes.RECIPES)
@pytest.mark.parametrize("method", METHODS)
def test_every_recipe_is_complete_for_every_method(recipe: str, method: str) -> None:
    settings, made = phases(recipe, method)
    assert tuple(phase.name for phase in made) == methods.kind(method).phase_names
    assert all(phase.epochs > 0 for phase in made)
    assert from_document(to_document(settings)) == settings


@pytest.mark.parametrize("method", METHODS)
def test_by_default_every_method_has_the_same_epochs(method: str) -> None:
    _, made = phases("auto", method)
    assert sum(phase.usual for phase in made) == 80


@pytest.mark.parametrize("method", ["forward", "backward", "forward_estimated"])
def test_corrections_on_cifar(method: str) -> None:
    settings, made = phases("paper/cifar10-asymmetric-30", method)
    assert settings.optimizer.weight_decay == 1e-4
    for phase in made:
        assert phase.epochs == 120 and rates(phase, [0, 39.9, 40, 79.9, 80, 119]) == [
            0.1,
            0.1,
            0.01,
            0.01,
            0.001,
            0.001,
        ]
    settings, made = phases("paper/cifar100", method, 100)
    assert settings.optimizer.weight_decay == 1e-3
    for phase in made:
        assert phase.epochs == 150 and rates(phase, [0, 79.9, 80, 119.9, 120]) == [0.1, 0.1, 0.01, 0.01, 0.001]


def test_outliers_are_dropped_on_ten_classes_only() -> None:
    assert (
        methods.create(
            "forward_estimated", resolve("paper/cifar10-symmetric-50", "forward_estimated").options, 10
        ).drop_top
        == 0.03
    )
    assert (
        methods.create("forward_estimated", resolve("paper/cifar100", "forward_estimated").options, 100).drop_top == 0
    )


def test_lq_on_cifar() -> None:
    settings, (phase,) = phases("paper/cifar10-symmetric-70", "lq")
    assert (phase.epochs, settings.optimizer.weight_decay, settings.optimizer.batch_size) == (120, 1e-4, 128)
    assert rates(phase, [0, 40, 80]) == pytest.approx([1e-2, 1e-3, 1e-4])
    _, (phase,) = phases("paper/cifar100", "lq", 100)
    assert phase.epochs == 150 and rates(phase, [79.9, 80, 120]) == pytest.approx([1e-2, 1e-3, 1e-4])


def test_truncation_begins_where_the_rate_first_falls() -> None:
    _, (every, kept) = phases("paper/cifar10-symmetric-70", "truncated_lq")
    assert (every.epochs, kept.epochs) == (40, 80)
    assert rates(every, [0, 39]) == pytest.approx([1e-2] * 2)
    assert rates(kept, [0, 39.9, 40]) == pytest.approx([1e-3, 1e-3, 1e-4])
    _, (every, kept) = phases("paper/cifar100", "truncated_lq", 100)
    assert (every.epochs, kept.epochs) == (80, 70)
    assert rates(kept, [0, 39.9, 40]) == pytest.approx([1e-3, 1e-3, 1e-4])


def test_joint_optimization_has_pencils_rates_and_a_new_network() -> None:
    settings, made = phases("paper/cifar10-symmetric-70", "joint_optimization")
    assert [phase.epochs for phase in made] == [70, 130, 120]
    assert rates(made[0], [0, 69]) == rates(made[1], [0, 129]) == [0.08, 0.08]
    assert rates(made[2], [0, 39.9, 40, 80]) == [0.2, 0.2, 0.02, 0.002]
    assert made[2].fresh_network and settings.options == {"entropy_weight": 0.8}


@pytest.mark.parametrize("method", ["mae", "mse", "dldl", "bootstrap_soft", "bootstrap_hard"])
def test_other_losses_are_trained_as_cross_entropy_is(method: str) -> None:
    for recipe in ("paper/cifar10-symmetric-70", "paper/cifar100", "paper/clothing1m"):
        settings, (phase,) = phases(recipe, method)
        other, (expected,) = phases(recipe, "cross_entropy")
        assert (phase.epochs, phase.lr, settings.optimizer) == (expected.epochs, expected.lr, other.optimizer)


def test_cnn_crf_follows_pencils_epochs_and_rates() -> None:
    _, made = phases("paper/cifar10-symmetric-70", "cnn_crf")
    assert sum(phase.epochs for phase in made) == 320
    assert rates(made[0], [0]) == [0.08]
    offset = 320 - made[-1].epochs
    assert rates(made[-1], [epoch - offset for epoch in (199, 200, 240, 280)]) == [0.08, 0.2, 0.02, 0.002]


def test_where_a_methods_paper_has_no_such_data_it_follows_pencil() -> None:
    _, (phase,) = phases("paper/clothing1m", "forward", 14)
    assert phase.epochs == 25 and rates(phase, [0, 5, 15, 20]) == [1.6e-3, 8e-4, 5e-4, 5e-5]
    _, (every, kept) = phases("paper/clothing1m", "truncated_lq", 14)
    assert (every.epochs, kept.epochs) == (5, 20)
    assert rates(every, [0]) == [1.6e-3] and rates(kept, [0, 9.9, 10, 15]) == [8e-4, 8e-4, 5e-4, 5e-5]


def test_a_method_of_ones_own_shares_the_epochs_among_its_phases() -> None:
    facts = recipes.Facts(5_000, 10, "images", ("one", "two", "three", "four"))
    made = recipes.resolve("auto", "mine.py:METHOD", facts)["phases"]
    assert [phase["epochs"] for phase in made.values()] == [20] * 4
    assert [phase["lr"] for phase in made.values()] == ["0.05"] * 3 + ["0.05 ~> 0"]
    three = recipes.Facts(5_000, 10, "images", ("one", "two", "three"))
    made = recipes.resolve("paper/cifar10-symmetric-70", "mine.py:METHOD", three)["phases"]
    assert [(name, phase["epochs"]) for name, phase in made.items()] == [("one", 70), ("two", 130), ("three", 120)]
    four = recipes.Facts(5_000, 10, "images", ("one", "two", "three", "four"))
    made = recipes.resolve("paper/cifar10-symmetric-70", "mine.py:METHOD", four)["phases"]
    assert [phase["epochs"] for phase in made.values()] == [70, 65, 65, 120]
    assert [phase["lr"] for phase in made.values()] == ["0.08"] * 3 + ["0.2, 0.02@40, 0.002@80"]
