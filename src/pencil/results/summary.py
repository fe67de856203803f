"""result.json: a run in a few numbers. Percentages are plain percent (93.28, not 0.9328)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pencil.results.documents import damaged, read_object, write_json

GROUPS = {
    "test_accuracy": ("best", "last"),
    "label_accuracy": ("given", "corrected"),
    "detection": ("auprc", "auroc", "f1"),
}
"""Fields that are there where the data has a test set, or true labels, and what they consist of."""

STAR = " *"
"""Stands behind a method that was told more than PENCIL is."""

SOMETIMES: dict[str, tuple[type, ...]] = {
    "extra_information": (str,), "caution": (str,), "hint": (str,), "num_held_out": (int,),
}  # fmt: skip
"""Fields that not every run has; runs of before did not count what they held out."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The fields of result.json; those that are None do not apply and are left out."""

    method: str
    dataset: str
    extra_information: str | None = None
    """What the method was told that PENCIL is not; it is marked with * where it is shown."""
    seed: int
    num_examples: int
    """Trained on; held-out examples are not among them."""
    num_held_out: int
    """Kept apart; their labels are judged by the network, and counted in the three figures below."""
    num_classes: int
    num_changed: int
    """Labelled examples, trained on or held out, whose corrected label is not the given one."""
    num_suspect: int
    """Examples, trained on or held out, whose decision is not `keep`, less those that were known to be right before."""
    estimated_noise_rate: float
    """Percent of the given labels believed wrong, those of held-out examples among them; NaN where none was judged."""
    seconds: float
    images_per_second: float
    environment: Mapping[str, Any]
    test_accuracy: Mapping[str, float] | None = None
    """Percent: `best` (at the best epoch on the held-out split) and `last`, where a test set exists."""
    label_accuracy: Mapping[str, float] | None = None
    """Percent of the training labels: `given` and `corrected`, where clean labels are known."""
    detection: Mapping[str, float] | None = None
    """How well low quality finds wrong labels: `auprc` and `auroc` (0 to 1), and `f1` of the decisions in percent."""
    caution: str | None = None
    """What to beware of before corrected labels are used."""
    hint: str | None = None
    """What to look at before, where there is no caution but what would be one may be chance."""

    def fields(self, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the fields of result.json, rounded, with what else a caller adds."""
        known = {name: value for name, value in vars(self).items() if value is not None} | dict(extra or {})
        for name in ("test_accuracy", "label_accuracy", "detection", "estimated_noise_rate", "seconds"):
            if name in known:
                known[name] = _rounded(known[name], 4 if name != "seconds" else 3)
        return known | {"images_per_second": _rounded(self.images_per_second, 1), "environment": dict(self.environment)}


def write_summary(path: Path, summary: Summary, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Write result.json and return what was written."""
    fields = summary.fields(extra)
    write_json(path, fields)
    return fields


def read_summary(path: Path) -> dict[str, Any]:
    """Read result.json; every field that each run has is there and of its kind."""
    fields = read_object(path)
    kinds: dict[str, tuple[type, ...]] = {
        **dict.fromkeys(("method", "dataset"), (str,)),
        **dict.fromkeys(("seed", "num_examples", "num_classes", "num_changed", "num_suspect"), (int,)),
        **dict.fromkeys(("seconds", "images_per_second"), (int, float)),
        "estimated_noise_rate": (int, float, type(None)),
        "environment": (dict,),
        **{name: kind for name, kind in SOMETIMES.items() if name in fields},
    }
    if wrong := [name for name, kind in kinds.items() if name not in fields or not isinstance(fields[name], kind)]:
        raise damaged(path, f"its {wrong[0]} is missing, or of the wrong kind")
    for name, parts in GROUPS.items():
        pair = fields.get(name, dict.fromkeys(parts))
        if not isinstance(pair, dict) or not all(isinstance(pair.get(part), int | float | None) for part in parts):
            raise damaged(path, f"its {name} is of the wrong kind")
    return fields


def method_of(result: Mapping[str, Any]) -> str:
    """Return the name of a run's method, with a star where it was told more than PENCIL is."""
    return f"{result['method']}{STAR if result.get('extra_information') else ''}"


def in_words(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each figure a run has, from the fields of result.json."""
    rows = []
    if test := result.get("test_accuracy"):
        rows.append(
            ("test accuracy", f"{percent(test['last'])} at the end, {percent(test['best'])} at the best held-out epoch")
        )
    if labels := result.get("label_accuracy"):
        rows.append(("correct labels", f"{percent(labels['given'])} given → {percent(labels['corrected'])} corrected"))
    rows.append(("labels changed", f"{result['num_changed']:,}"))
    rows.append(("suspects", f"{result['num_suspect']:,} to look at"))
    rows.append(("estimated noise", percent(result["estimated_noise_rate"])))
    rows.append(("time", f"{result['seconds']:.0f} s, {result['images_per_second']:,.0f} examples/s"))
    if caution := result.get("caution"):
        rows.append(("careful", caution))
    if hint := result.get("hint"):
        rows.append(("look first", hint))
    return rows


def percent(value: float | None) -> str:
    """Write a percentage; one that is not known is a dash."""
    return "–" if value is None else f"{value:.1f}%"


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, Mapping):
        return {name: _rounded(part, digits) for name, part in value.items()}
    return None if value is None else round(float(value), digits)
