"""Where an export may be written: a place that is new, and is not called as another form's file."""

from pathlib import Path

from pencil.errors import PencilError
from pencil.results.new_place import refuse_taken

ENDINGS = {
    "csv": (".csv",),
    "cleanlab": (".csv",),
    "parquet": (".parquet", ".pq"),
    "onnx": (".onnx",),
    "torch_export": (".pt2",),
}
"""What the files of each form are called; all other forms are folders."""
UNWRITTEN = (".tsv",)
"""Endings that mean a form which is not written."""


def check_place(out: Path, to: str) -> None:
    """Refuse a place for a form that is taken, that is in no folder, or that has the ending of another form."""
    _check_ending(out, to)
    refuse_taken(out)


def _check_ending(out: Path, to: str) -> None:
    ending, own = out.suffix.lower(), ENDINGS.get(to, ())
    others = [form for form, endings in ENDINGS.items() if ending in endings]
    if ending in own or not (others or ending in UNWRITTEN):
        return
    remedy = f"an --out that ends in {own[0]}" if own else "an --out that is the name of a folder"
    if others:
        remedy = f"{' or '.join(_option(form) for form in others)}, or {remedy}"
    raise PencilError(f"{out} is not what {_option(to)} writes; use {remedy}.")


def _option(form: str) -> str:
    return {"onnx": "--onnx", "torch_export": "--torch-export"}.get(form, f"--to {form}")
