"""What a run folder must not be used for: code nobody named, other settings or data than it was started with."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset as TorchDataset

from pencil.backbones import is_given
from pencil.config import DataSettings, from_document, read_toml
from pencil.config.own_code import code_in, same_code
from pencil.data import Dataset, as_source, inputs_digest, source_kind
from pencil.data.hugging_face import is_hugging_face
from pencil.data.load import HUGGING_FACE
from pencil.data.tables.frames import is_frame
from pencil.errors import PencilError
from pencil.results.documents import read_object
from pencil.results.folder import RunFolder
from pencil.results.read import Run
from pencil.run.planning.home import at_home
from pencil.run.planning.plan import Plan, differing

Document = Mapping[str, Any]
OF_A_RECIPE = ("optimizer", "teaching", "phases", "options")
"""What recipes set."""


def refuse_no_group(
    settings: object, name: str = "settings", example: str = "{'optimizer': {'batch_size': 32}}"
) -> None:
    """Settings that are given in Python are a nested dictionary; a file of them must be read first."""
    if not isinstance(settings, Mapping | None):
        raise PencilError(f"{name} is {settings!r}; give a dict, e.g. {example}.")


def refuse_labels_by_name(source: object, labels: object) -> None:
    """Labels beside a source are those of an array, or a data frame's column; those in files are named otherwise."""
    named = isinstance(labels, str) and (is_frame(source) or is_hugging_face(source))
    if isinstance(labels, (str, Path)) and not named:
        raise PencilError(
            f"labels is {str(labels)!r}; give an array beside an array, a column's name beside a data frame or a"
            f" Hugging Face dataset, or name a file of labels by settings={{'data': {{'labels': {str(labels)!r}}}}}."
        )
    if isinstance(source, (Dataset, TorchDataset)) or (is_hugging_face(source) and not named):
        raise PencilError(f"labels are given beside a {type(source).__name__}, which has its own; leave them out.")
    if isinstance(source, (str, Path)):
        raise PencilError(
            f"labels are given beside {str(source)!r}, which has its own; leave them out, or name a file of others by"
            " settings={'data': {'labels': FILE}}."
        )


def refuse_idle_recipe(settings: Document, recipe: str | None, where: str) -> None:
    """Settings of a whole run have in them what its recipe set: another one's name would only be written beside it."""
    before = settings.get("recipe")
    if recipe and before and recipe != before and all(group in settings for group in OF_A_RECIPE):
        raise PencilError(
            f"{where} have all in them that the recipe {before} sets, so that {recipe} would change nothing; leave"
            f" the recipe out, or take {', '.join(OF_A_RECIPE[:-1])} and {OF_A_RECIPE[-1]} out of the settings."
        )


def refuse_unnamed_code(saved: Document, asked: Document, folder: RunFolder) -> None:
    """Code that a run folder names is imported only where the user names it too."""
    places = {"method": "--method", "backbone": "--backbone", "source": "the source", "noise": "--noise"}
    if is_given(str(saved.get("backbone"))) and not asked.get("backbone"):
        raise PencilError(f"the network of the run in {folder.path} was given in Python; give it again.")
    before, now = code_in(saved), code_in(asked)
    for key, option in places.items():
        if key in before and not same_code(before[key], now.get(key, "")):
            raise PencilError(
                f"the run in {folder.path} uses code of its own; if you trust it, name it again:"
                f" {option} {shlex.quote(before[key])}"
            )


def refuse_place_in_data(out: Path, source: Any, asked: Document, parent: Run | None) -> None:
    """A run in a folder of images would be taken for a class of them, by whatever reads the data after it."""
    if source is None and isinstance(group := asked.get("data"), Mapping):
        source = group.get("source")
    if source is None and parent is not None:
        source = at_home(from_document(read_toml(parent.folder.config)), parent.folder.homes()).data.source
    if not isinstance(source, (str, Path)):
        return
    folder = Path(str(source).removeprefix(HUGGING_FACE))
    if not folder.is_dir() or not out.resolve().is_relative_to(folder.resolve()):
        return
    if source_kind(DataSettings(source=as_source(source))) in ("image_folder", "hf"):
        raise PencilError(
            f"the run in {out} would lie among its data, where it would be taken for images; choose an --out that is"
            f" not in {folder}."
        )


def refuse_missing_data(source: Any, document: Document, path: object) -> None:
    """Data that was given in Python is in no file that its name could lead to."""
    if source is None and str(document.get("data", {}).get("source")).startswith("<"):
        raise PencilError(f"the data of the run in {path} was given in Python; give it again.")


def refuse_other_settings(saved: Document, asked: Document, folder: RunFolder) -> None:
    """A run goes on with the settings it was started with."""
    other = differing(from_document(saved), asked)
    precision = asked.get("hardware", {}).get("precision")
    if precision not in (None, "", saved.get("hardware", {}).get("precision")):
        other.append("hardware.precision")
    if other:
        raise PencilError(
            f"the run in {folder.path} was started with other settings ({', '.join(other)}); resume without them, or "
            f"start a new run with another --out."
        )


def refuse_other_data(prepared: Plan, folder: RunFolder, place: Mapping[str, str]) -> None:
    """A run goes on with the data it was started with, in whatever `place` they are now."""
    before = read_object(folder.split) if folder.split.exists() else {}
    # One that never knew its data could not tell others from them.
    unknown = not before.get("fingerprint") and not place
    same = unknown or prepared.dataset.facts.get("fingerprint") == before.get("fingerprint")
    # Runs of earlier versions know their data by ids and labels alone.
    if not same or (before.get("inputs") and inputs_digest(prepared.dataset) != before["inputs"]):
        if place:
            raise PencilError(
                f"{' and '.join(place.values())} is not the data that the run in {folder.path} was started with, or has"
                " changed since; name the place of that data, or start a new run with another --out."
            )
        raise PencilError(
            f"the data has changed since the run in {folder.path} was started; restore it, or start a new run."
        )
