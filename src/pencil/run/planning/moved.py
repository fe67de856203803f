"""A run's data in another place than when the run was started: it goes on there where the data are the same."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pencil.config import DataSettings, Settings
from pencil.config.own_code import MARK
from pencil.data.located import relocated
from pencil.results.folder import RunFolder
from pencil.run.planning.home import at_home

Document = Mapping[str, Any]
OPTIONS = {"source": "", "root": "--root ", "labels": "--labels "}
"""The settings that say where data lie, and what stands before each where training names it."""


def new_place(saved: Document, asked: Document) -> dict[str, str]:
    """Return what is asked for of where the data lie, as far as a run's settings have something else.

    Nothing where either names code or data that was given in Python: such a source is no place.
    """
    own, data = saved.get("data", {}), asked.get("data", {})
    if not isinstance(data, Mapping):
        return {}
    found = {name: data[name] for name in OPTIONS if isinstance(data.get(name), str) and data[name]}
    if str(own.get("source", "")).startswith("<") or any(MARK in str(each.get("source", "")) for each in (own, found)):
        return {}
    return {name: place for name, place in found.items() if place != own.get(name, "")}


def without_place(asked: Document, place: Mapping[str, str]) -> Document:
    """Return what is asked for beside the place of the data."""
    if not place:
        return asked
    return {**asked, "data": {name: value for name, value in asked["data"].items() if name not in place}}


def in_its_place(settings: Settings, folder: RunFolder, place: Mapping[str, str]) -> Settings:
    """Return a run's settings with its files as they are reached from here, and its data where they are now."""
    home = at_home(settings, folder.homes())
    data = relocated(home.data, place.get("source", ""), place.get("root", ""))
    return replace(home, data=replace(data, labels=place.get("labels", data.labels)))


def place_in_words(now: DataSettings, settings: Settings, folder: RunFolder) -> str:
    """Return the words that name the place of data again, to end a command with; none where it is the run's own."""
    own = at_home(settings, folder.homes()).data
    moved = [name for name in OPTIONS if getattr(now, name) != getattr(own, name)]
    return "".join(f" {OPTIONS[name]}{shlex.quote(getattr(now, name))}" for name in moved)
