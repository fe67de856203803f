"""What a source is asked for: where to look, the user's options, and where it may write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pencil.errors import PencilError, did_you_mean

_USES = ("label", "image", "id", "clean", "trusted", "features", "words", "soft", "votes", "annotators")
"""Options that name columns, of a table or of a Hugging Face dataset."""
_ANSWERS = ("label", "soft", "votes", "annotators", "clean")
"""Those of them that name labels."""
_OTHERS = ("features", "words", "image", "id")
"""Those that name what labels are no part of."""


def default_cache_dir() -> Path:
    """Return $PENCIL_CACHE, or ~/.cache/pencil."""
    return Path(os.environ.get("PENCIL_CACHE") or Path.home() / ".cache" / "pencil")


@dataclass(frozen=True)
class Request:
    """One call of a source's `read`."""

    location: Path | None = None
    """The folder or file that holds the data; None where the user named only the source."""
    root: Path | None = None
    """The folder that relative paths inside a table start from; the table's own folder where None."""
    options: dict[str, Any] = field(default_factory=dict)
    cache_dir: Path = field(default_factory=default_cache_dir)
    download: bool = False
    labels_needed: bool = True
    """False where data is read to be predicted: a source may then give examples without labels."""
    trained_features: tuple[str, ...] = ()
    """What a run calls its features, where data is read for it: a table is then read by these and gives only them."""

    trained_columns: Mapping[str, str] = field(default_factory=dict)
    """The columns that a run's own table had for its `label` and `split`, "" for none; empty where not known."""

    def check_options(self, source: str, known: Iterable[str]) -> None:
        """Refuse options that the source does not have."""
        known = tuple(known)
        for name in self.options:
            if name not in known:
                remedy = did_you_mean(name, known) if known else " It has none."
                raise PencilError(f'{source} has no option "{name}".{remedy}')

    def refuse_root(self, why: str) -> None:
        """Refuse a folder that nothing is read from, where data is read to train; `why` says what stands against it."""
        if self.root is not None and self.labels_needed:
            raise PencilError(f"--root {self.root} is of no use: {why}; leave it out.")

    def refuse_idle(self, names: Iterable[str], why: str) -> None:
        """Refuse options that the source has but not for such data, where it is read to train."""
        for name in names if self.labels_needed else ():
            if name in self.options:
                raise PencilError(f"the option {name} is of no use: {why}; leave it out.")

    def integer(self, name: str, default: int, *, least: int = 0) -> int:
        """Return a whole-number option."""
        value = self.options.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise PencilError(f"option {name} is {value!r}; give a whole number, {least} or more.")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a true-or-false option."""
        value = self.options.get(name, default)
        if not isinstance(value, bool):
            raise PencilError(f"option {name} is {value!r}; give true or false.")
        return value

    def text(self, name: str, default: str = "") -> str:
        """Return an option that is one word; columns may be called 0, 1, 2."""
        value = self.options.get(name, default)
        if type(value) is int:
            return str(value)
        if not isinstance(value, str):
            raise PencilError(f"option {name} is {value!r}; give a text.")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return an option that is a list of words, also as one text with commas."""
        value = self.options.get(name, ())
        if isinstance(value, str) or type(value) is int:
            return tuple(part.strip() for part in str(value).split(",") if part.strip())
        if not isinstance(value, (list, tuple)) or not all(
            isinstance(part, str) or type(part) is int for part in value
        ):
            raise PencilError(f"option {name} is {value!r}; give a list of texts.")
        return tuple(map(str, value))

    def looked_at(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of a table without those of the option `ignore`."""
        ignored = self.texts("ignore")
        for name in ignored:
            # New rows may lack what was of no use in training.
            if name not in columns and self.labels_needed and not self.trained_features:
                raise PencilError(f'there is no column "{name}" to ignore.{did_you_mean(name, columns)}')
            for use in self.uses_of(name):
                raise PencilError(f'the column "{name}" is named by the options ignore and {use}; take it out of one.')
        return [name for name in columns if name not in ignored]

    def uses_of(self, column: str, among: Sequence[str] = _USES) -> list[str]:
        """Return the options that name a column."""
        return [use for use in among if column in self.texts(use)]

    def refuse_leaks(self, label: str) -> None:
        """Refuse to learn from labels what labels are, or to know rows by them; `label` is the column that has them."""
        if not self.labels_needed or self.trained_features:
            return
        named = {name: way for way in _ANSWERS for name in ((label,) if way == "label" else self.texts(way)) if name}
        for name, way in named.items():
            for use in self.uses_of(name, _OTHERS):
                raise PencilError(
                    f'the column "{name}" holds labels (option {way}), and the option {use} names it too; take it out'
                    f" of one, or name the labels by --set data.options.{way}=NAME."
                )

    def refuse_two_inputs(self) -> None:
        """Refuse columns to learn from beside a column of images, either of which would be passed over."""
        named = [name for name in ("features", "words") if self.texts(name)]
        if self.text("image") and named and self.labels_needed and not self.trained_features:
            raise PencilError(
                f"the option image names images to learn from, {' and '.join(named)} other columns, and a network takes"
                " either; leave out one."
            )

    def existing(self, source: str) -> Path:
        """Return the location, which must be given and exist."""
        if self.location is None:
            raise PencilError(f"{source} needs a place to read from; give its folder or file.")
        if not self.location.exists():
            raise PencilError(f"{self.location} does not exist; give the folder or file that holds the data.")
        return self.location
