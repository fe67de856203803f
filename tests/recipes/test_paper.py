"""The paper's settings, copied by hand from its Table 1 and "Implementation details"."""

from typing import Any

import pytest

from pencil import methods, recipes
from pencil.config import from_document, to_document

CIFAR_FACTS = recipes.Facts(45_000, 10, "images")

# noise: learning rate, α, β, (epoch of the label phase: λ).
TABLE_1: dict[str, tuple[float, float, float, dict[float, float]]] = {
    "symmetric-10": (0.02, 0.1, 0.8, {0: 200, 129: 200}),
    "symmetric-30": (0.03, 0.1, 0.8, {0: 300, 129: 300}),
    "symmetric-50": (0.04, 0.1, 0.8, {0: 400, 129: 400}),
    "symmetric-70": (0.08, 0.1, 0.8, {0: 800, 129: 800}),
    "symmetric-90": (0.12, 0.1, 0.4, {0: 1200, 129: 1200}),
    "asymmetric-10": (0.06, 0.1, 0.4, {0: 600, 129: 600}),
    "asymmetric-20": (0.06, 0.1, 0.4, {0: 600, 129: 600}),
    "asymmetric-30": (0.06, 0.1, 0.4, {0: 600, 129: 600}),
    "asymmetric-40": (0.03, 0.0, 0.4, {0: 3000, 65: 1500, 130: 0}),
    "asymmetric-50": (0.03, 0.0, 0.4, {0: 4000, 65: 2000, 130: 0}),
}


def resolve(recipe: str, method: str, facts: recipes.Facts) -> Any:
    return from_document({**recipes.resolve(recipe, method, facts), "method": method})


def check(
    recipe: str,
    classes: int,
    *,
    batch: int,
    decay: float,
    epochs: tuple[int, int, int],
    rates: list[dict[float, float]],
    alpha: float,
    beta: float,
    label_rates: dict[float, float],
) -> None:
    settings = resolve(recipe, "pencil", recipes.Facts(45_000, classes, "images"))
    o = settings.optimizer
    assert (o.batch_size, o.momentum, o.nesterov, o.weight_decay) == (batch, 0.9, False, decay)
    method = methods.create("pencil", settings.options, classes)
    assert method.options.compatibility == "code" and method.options.classification == "reverse"
    assert method.options.divide_by_classes and method.loss_scale == 1 / classes
    assert method.label_scale == 10
    assert method.options.entropy_weight == beta
    assert method.anchor == pytest.approx(alpha * classes)
    phases = method.phases(settings.phases)
    assert tuple(phase.epochs for phase in phases) == epochs
    assert [phase.name for phase in phases] == ["backbone", "labels", "tuning"]
    assert [phase.rule.moves for phase in phases] == [False, True, False]
    assert not any(phase.fresh_network for phase in phases), "one network all along"
    for phase, rate in zip(phases, rates, strict=True):
        assert {epoch: phase.lr.at(epoch, phase.epochs) for epoch in rate} == pytest.approx(rate)
    # η = λ/(B·c).
    steps = {epoch: lam / (batch * classes) for epoch, lam in label_rates.items()}
    assert phases[1].label_step is not None
    assert {epoch: phases[1].label_step.at(epoch, epochs[1]) for epoch in steps} == pytest.approx(steps, abs=1e-12)


@pytest.mark.parametrize("cell", TABLE_1)
def test_cifar10(cell: str) -> None:
    lr, alpha, beta, label_rates = TABLE_1[cell]
    check(
        f"paper/cifar10-{cell}",
        10,
        batch=128,
        decay=1e-4,
        epochs=(70, 130, 120),
        rates=[{0: lr, 69.9: lr}, {0: lr, 129.9: lr}, {0: 0.2, 39.9: 0.2, 40: 0.02, 79.9: 0.02, 80: 0.002, 119: 0.002}],
        alpha=alpha,
        beta=beta,
        label_rates=label_rates,
    )


def test_cifar100() -> None:
    check(
        "paper/cifar100",
        100,
        batch=128,
        decay=1e-4,
        epochs=(70, 130, 120),
        rates=[{0: 0.35}, {0: 0.35, 129: 0.35}, {0: 0.2, 40: 0.02, 80: 0.002}],
        alpha=0.1,
        beta=0.4,
        label_rates={0: 10_000, 129: 10_000},
    )


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("lam", [1000, 2000, 3000])
def test_cub200(lam: int, alpha: float) -> None:
    check(
        f"paper/cub200-{lam}-{alpha:g}",
        200,
        batch=16,
        decay=1e-4,
        epochs=(35, 65, 60),
        rates=[{0: 2e-3, 34: 2e-3}, {0: 2e-3, 64: 2e-3}, {0: 1e-3, 19.9: 1e-3, 20: 1e-4, 39.9: 1e-4, 40: 1e-5}],
        alpha=alpha,
        beta=0.8,
        label_rates={0: lam, 64: lam},
    )


def test_clothing1m() -> None:
    check(
        "paper/clothing1m",
        14,
        batch=32,
        decay=1e-3,
        epochs=(5, 10, 10),
        rates=[{0: 1.6e-3, 4: 1.6e-3}, {0: 8e-4, 9: 8e-4}, {0: 5e-4, 4.9: 5e-4, 5: 5e-5, 9: 5e-5}],
        alpha=0.08,
        beta=0.8,
        label_rates={0: 3000, 4.9: 3000, 5: 500, 9: 500},
    )


def test_nothing_of_the_paper_is_missing() -> None:
    expected = {f"paper/cifar10-{cell}" for cell in TABLE_1} | {"paper/cifar100", "paper/clothing1m"}
    expected |= {f"paper/cub200-{lam}-{alpha}" for lam in (1000, 2000, 3000) for alpha in ("0", "0.1")}
    assert expected <= set(recipes.RECIPES)


@pytest.mark.parametrize(
    ("recipe", "epochs", "rates"),
    [
        ("paper/cifar10-symmetric-70", 120, {0: 0.2, 39.9: 0.2, 40: 0.02, 79: 0.02, 80: 0.002}),
        ("paper/cifar100", 150, {0: 0.01, 79.9: 0.01, 80: 0.001, 119: 0.001, 120: 1e-4}),
        ("paper/clothing1m", 25, {0: 1.6e-3, 5: 8e-4, 14: 8e-4, 15: 5e-4, 20: 5e-5, 24: 5e-5}),
    ],
)
def test_cross_entropy_is_one_training_as_others_published_it(
    recipe: str, epochs: int, rates: dict[float, float]
) -> None:
    settings = resolve(recipe, "cross_entropy", CIFAR_FACTS)
    (phase,) = methods.create("cross_entropy", settings.options, 10).phases(settings.phases)
    assert phase.epochs == epochs
    assert {epoch: phase.lr.at(epoch, epochs) for epoch in rates} == pytest.approx(rates)


@pytest.mark.parametrize("name", recipes.RECIPES)
@pytest.mark.parametrize("method", ["pencil", "cross_entropy"])
def test_every_recipe_survives_its_own_document(name: str, method: str) -> None:
    settings = resolve(name, method, CIFAR_FACTS)
    assert settings.recipe == name
    assert from_document(to_document(settings)) == settings
