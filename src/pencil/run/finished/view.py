"""A result as HTML for notebooks: its figures, its curves and its most suspect labels."""

import logging
from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from pencil.quality.score import most_suspect_first
from pencil.results.labels_table import suspects
from pencil.results.read import Run
from pencil.results.summary import in_words

SUSPECTS = 8
"""Suspect labels that are shown."""
COLUMNS = ("id", "given_name", "corrected_name", "confidence", "quality", "decision")


def as_html(run: Run) -> str:
    """Return a block of HTML without scripts; names come from data of unknown origin and are escaped."""
    result = run.result
    title = f"{result['method']} on {result['dataset']}, {result['num_examples']:,} examples"
    place = f"<p>Everything is in <code>{escape(str(run.folder.path))}</code></p>"
    parts = (_table(in_words(result)), _curves(run), _suspects(run), place)
    return f"<div><h4>{escape(title)}</h4>{''.join(parts)}</div>"


def _suspects(run: Run) -> str:
    table = run.labels
    order = most_suspect_first(
        np.asarray(table["quality"].fill_null(np.nan)), np.asarray(table["num_changes"].fill_null(0))
    )
    doubted = order[suspects(table)[order]][:SUSPECTS].tolist()
    if not doubted:
        return "<p>No label is suspect.</p>"
    rows = [[_cell(table[name][row].as_py()) for name in COLUMNS] for row in doubted]
    heads = [name.removesuffix("_name") for name in COLUMNS]
    return f"<p>The most suspect labels:</p>{_table(rows, heads)}"


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def _table(rows: Iterable[Iterable[str]], heads: Iterable[str] = ()) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if top else ''}<tbody>{lines}</tbody></table>"


def _curves(run: Run) -> str:
    """Draw what happened over the epochs, where matplotlib works."""
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    try:
        from pencil.figures.panels import draw_panels
        from pencil.figures.style import render
    except ImportError:
        return ""
    svg = render(draw_panels(run.history, run.result), "svg").decode()
    return svg[svg.index("<svg") :]
