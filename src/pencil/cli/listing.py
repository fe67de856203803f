"""`pencil list`: the names that options take, with a line about each."""

import ast
from enum import StrEnum
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from pencil.cli.failure import guarded


class Kind(StrEnum):
    """What there are several of."""

    methods = "methods"
    backbones = "backbones"
    sources = "sources"
    noises = "noises"
    recipes = "recipes"


FOLDERS = {
    Kind.methods: "methods",
    Kind.backbones: "backbones",
    Kind.sources: "data/sources",
    Kind.noises: "data/noises",
}


@guarded
def list_names(
    kind: Annotated[Kind | None, typer.Argument(help="Only these.", show_default=False)] = None,
) -> None:
    """List methods, backbones, sources, noise models and recipes: the names that options take.

    \b
      pencil list
      pencil list recipes

    Entry points of installed packages are listed too; `file.py:name` uses a file of your own without any list.
    """
    for one in [kind] if kind else list(Kind):
        entries = names(one)
        told = _told() if one is Kind.methods else {}
        entries = {f"{name} *" if name in told else name: line for name, line in entries.items()}
        width = max(len(name) for name in entries)
        if kind is None:
            typer.echo(f"\n{one.value}")
        for name, line in sorted(entries.items()):
            typer.echo(f"  {name:<{width}}  {line}".rstrip())
        for name, what in sorted(told.items()):
            typer.echo(f"  * {name} is told {what}, which PENCIL is not.")


def names(kind: Kind) -> dict[str, str]:
    """Return the names there are of a kind, with a line about each."""
    return _recipes() if kind is Kind.recipes else _plugins(kind)


def _plugins(kind: Kind) -> dict[str, str]:
    """Read the first line of each plug-in's file; none is imported, so that this costs nothing."""
    folder = Path(__file__).parents[1] / FOLDERS[kind]
    files = [file for file in folder.glob("*.py") if not file.name.startswith("_")]
    found = {file.stem: _first_line(file) for file in files}
    for entry in entry_points(group=f"pencil.{kind.value}"):
        found.setdefault(entry.name, f"from {entry.value}")
    return found


def _told() -> dict[str, str]:
    """Read what each method is told that PENCIL is not, from the `extra_information` of the class in its file."""
    found = {}
    for file in (Path(__file__).parents[1] / FOLDERS[Kind.methods]).glob("[!_]*.py"):
        kinds = [node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
        for node in (node for kind in kinds for node in kind.body):
            match node:
                case ast.Assign([ast.Name("extra_information")], ast.Constant(what)) | ast.AnnAssign(
                    ast.Name("extra_information"), _, ast.Constant(what)
                ):
                    found[file.stem] = str(what)
    return found


def _first_line(file: Path) -> str:
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def _recipes() -> dict[str, str]:
    from pencil.recipes import RECIPES

    return {name: "the default, for any data" if name == "auto" else "" for name in RECIPES}
