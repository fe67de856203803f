"""Names that the shell can complete; nothing heavy is imported for them."""

from pencil.cli.listing import Kind, names


def methods(incomplete: str) -> list[str]:
    """Complete a method's name."""
    return _starting(Kind.methods, incomplete)


def backbones(incomplete: str) -> list[str]:
    """Complete a network's name."""
    return _starting(Kind.backbones, incomplete)


def sources(incomplete: str) -> list[str]:
    """Complete a source's name; where none fits, the shell goes on with files."""
    return _starting(Kind.sources, incomplete)


def noises(incomplete: str) -> list[str]:
    """Complete the name of a noise model."""
    return _starting(Kind.noises, incomplete)


def recipes(incomplete: str) -> list[str]:
    """Complete a recipe's name."""
    return _starting(Kind.recipes, incomplete)


def _starting(kind: Kind, incomplete: str) -> list[str]:
    return [name for name in sorted(names(kind)) if name.startswith(incomplete)]
