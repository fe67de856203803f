"""The paper's settings, one recipe per dataset, noise type and rate (Table 1 and "Implementation details")."""

from typing import Any

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


def _pencil(
    lrs: tuple[Any, Any, str], epochs: tuple[int, int, int], alpha: float, beta: float, lam: str, batch: int
) -> Document:
    names = ("backbone", "labels", "tuning")
    return {
        "phases": {n: {"epochs": e, "lr": str(lr)} for n, e, lr in zip(names, epochs, lrs, strict=True)},
        "options": {
            "compatibility": "code",
            "compatibility_weight": alpha,
            "entropy_weight": beta,
            "label_lr": lam,
            "reference_batch": batch,
        },
    }


def _plain(lrs: tuple[Any, Any, str], epochs: tuple[int, int, int]) -> Document:
    """One phase over the same epochs at the same rates, for methods that train once."""
    first, second, last = lrs
    switch = epochs[0] + epochs[1]
    parts = [str(first)] + ([f"{second}@{epochs[0]}"] if second != first else [])
    for part in last.split(","):
        value, _, start = part.partition("@")
        parts.append(f"{value.strip()}@{switch + float(start or 0):g}")
    return {"phases": {"training": {"epochs": sum(epochs), "lr": ", ".join(parts)}}}


def _recipe(
    lrs: tuple[Any, Any, str],
    epochs: tuple[int, int, int],
    alpha: float,
    beta: float,
    lam: str,
    batch: int,
    decay: float,
) -> Any:
    def recipe(method: str, facts: Facts) -> Document:
        settings = _pencil(lrs, epochs, alpha, beta, lam, batch) if method == "pencil" else _plain(lrs, epochs)
        return {"optimizer": {"batch_size": batch, "momentum": 0.9, "weight_decay": decay}, **settings}

    return recipe


def _cifar(lr: float, alpha: float, beta: float, lam: str) -> Any:
    return _recipe((lr, lr, CIFAR_TUNING), CIFAR_EPOCHS, alpha, beta, lam, 128, 1e-4)


def _cub(alpha: float, lam: int) -> Any:
    return _recipe((2e-3, 2e-3, "0.001, 0.0001@20, 1e-05@40"), (35, 65, 60), alpha, 0.8, str(lam), 16, 1e-4)


RECIPES = {f"paper/cifar10-{cell}": _cifar(*row) for cell, row in CIFAR10.items()}
RECIPES["paper/cifar100"] = _cifar(0.35, 0.1, 0.4, "10000")
RECIPES |= {f"paper/cub200-{lam}-{alpha:g}": _cub(alpha, lam) for alpha in (0.0, 0.1) for lam in (1000, 2000, 3000)}
RECIPES["paper/clothing1m"] = _recipe(
    (1.6e-3, 8e-4, "0.0005, 5e-05@5"), (5, 10, 10), 0.08, 0.8, "3000, 500@5", 32, 1e-3
)
