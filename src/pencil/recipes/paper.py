"""The paper's settings, one recipe per dataset, noise type and rate (Table 1 and "Implementation details")."""

from typing import Any

from pencil.recipes.baselines import Cell, settings
from pencil.recipes.facts import Facts

Document = dict[str, Any]

# Learning rate, α, β, λ of Table 1.
CIFAR10 = {
    "symmetric-10": (0.02, 0.1, 0.8, "200"),
    "symmetric-30": (0.03, 0.1, 0.8, "300"),
    "symmetric-50": (0.04, 0.1, 0.8, "400"),
    "symmetric-70": (0.08, 0.1, 0.8, "800"),
    "symmetric-90": (0.12, 0.1, 0.4, "1200"),
    "asymmetric-10": (0.06, 0.1, 0.4, "600"),
    "asymmetric-20": (0.06, 0.1, 0.4, "600"),
    "asymmetric-30": (0.06, 0.1, 0.4, "600"),
    "asymmetric-40": (0.03, 0.0, 0.4, "3000 -> 0"),
    "asymmetric-50": (0.03, 0.0, 0.4, "4000 -> 0"),
}
CIFAR_EPOCHS = (70, 130, 120)
CIFAR_TUNING = "0.2, 0.02@40, 0.002@80"


def _pencil(cell: Cell, alpha: float, lam: str) -> Document:
    names = ("backbone", "labels", "tuning")
    return {
        "phases": {n: {"epochs": e, "lr": str(lr)} for n, e, lr in zip(names, cell.epochs, cell.rates, strict=True)},
        "options": {
            "compatibility": "code",
            "compatibility_weight": alpha,
            "entropy_weight": cell.beta,
            "label_lr": lam,
            "reference_batch": cell.batch,
        },
    }


def _recipe(cell: Cell, alpha: float, lam: str) -> Any:
    def recipe(method: str, facts: Facts) -> Document:
        if method != "pencil":
            return settings(method, facts.phase_names, cell)
        optimizer = {"batch_size": cell.batch, "momentum": 0.9, "weight_decay": cell.decay}
        return {"optimizer": optimizer, **_pencil(cell, alpha, lam)}

    return recipe


def _cifar(data: str, lr: float, alpha: float, beta: float, lam: str) -> Any:
    return _recipe(Cell((lr, lr, CIFAR_TUNING), CIFAR_EPOCHS, beta, 128, 1e-4, data), alpha, lam)


def _cub(alpha: float, lam: int) -> Any:
    rates = (2e-3, 2e-3, "0.001, 0.0001@20, 1e-05@40")
    return _recipe(Cell(rates, (35, 65, 60), 0.8, 16, 1e-4), alpha, str(lam))


RECIPES = {f"paper/cifar10-{cell}": _cifar("cifar10", *row) for cell, row in CIFAR10.items()}
RECIPES["paper/cifar100"] = _cifar("cifar100", 0.35, 0.1, 0.4, "10000")
RECIPES |= {f"paper/cub200-{lam}-{alpha:g}": _cub(alpha, lam) for alpha in (0.0, 0.1) for lam in (1000, 2000, 3000)}
RECIPES["paper/clothing1m"] = _recipe(
    Cell((1.6e-3, 8e-4, "0.0005, 5e-05@5"), (5, 10, 10), 0.8, 32, 1e-3), 0.08, "3000, 500@5"
)
