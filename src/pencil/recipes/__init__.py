"""Recipes: named settings. A recipe is a function of the method and of what is known of the data before training."""

from collections.abc import Callable
from typing import Any

from pencil.errors import PencilError, did_you_mean
from pencil.recipes import auto, fast, paper
from pencil.recipes.facts import Facts

Recipe = Callable[[str, Facts], dict[str, Any]]

RECIPES: dict[str, Recipe] = {"auto": auto.recipe, "fast": fast.recipe, **paper.RECIPES}

VERSIONS = {"auto": 3, "fast": 3}
"""Of the recipes that are ours; the paper's have one. What changes their results changes this, and voids records."""


def version(name: str) -> int:
    """Return which version of a recipe this is."""
    return VERSIONS.get(name, 1)


def resolve(name: str, method: str, facts: Facts) -> dict[str, Any]:
    """Return a recipe's settings for a method, as a layer that the user's own settings are laid over."""
    if name not in RECIPES:
        raise PencilError(f'there is no recipe "{name}".{did_you_mean(name, RECIPES)}')
    return {"recipe": name, **RECIPES[name](method, facts)}


__all__ = ["RECIPES", "VERSIONS", "Facts", "Recipe", "resolve", "version"]
