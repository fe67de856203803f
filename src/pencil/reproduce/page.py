"""A page of headings, lines, tables and pictures, as Markdown and as self-contained HTML."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HTML = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{{ title }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2430; max-width: 120rem; margin: 2rem auto; padding: 0 1rem }
p { max-width: 72rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
table { display: block; width: max-content; max-width: 100%; overflow-x: auto }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #e5e7eb; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
figure { margin: 1rem 0 }
</style>
{% for part in parts %}
{%- if part.rows is defined %}<table>
<tr>{% for head in part.heads %}<th>{{ head }}</th>{% endfor %}</tr>
{%- for row in part.rows %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{%- endfor %}
</table>
{%- elif part.file is defined %}<figure><img src="{{ sources[part.file] }}" alt="{{ part.text }}"></figure>
{%- elif part.level is defined %}<h{{ part.level }}>{{ part.text }}</h{{ part.level }}>
{%- else %}<p>{{ part }}</p>
{%- endif %}
{% endfor %}
</html>
"""


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the page's title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Grid:
    """A table of texts."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """An SVG file and what it shows."""

    file: Path
    text: str


Part = Heading | Grid | Picture | str
"""A bare text is a paragraph."""


def markdown(parts: Sequence[Part], base: Path) -> str:
    """Return a page as Markdown; pictures are linked as seen from the folder `base`."""
    return "\n\n".join(_markdown(part, base) for part in parts) + "\n"


def _markdown(part: Part, base: Path) -> str:
    if isinstance(part, Heading):
        return f"{'#' * part.level} {part.text}"
    if isinstance(part, Picture):
        return f"![{part.text}]({part.file.relative_to(base).as_posix()})"
    if isinstance(part, Grid):
        return _grid(part)
    # A star or a bar in a text must not turn into a mark-up of its own.
    return part.replace("*", "\\*") if part.startswith("*") else part


def _grid(grid: Grid) -> str:
    """Return a table whose columns are aligned, so that it also reads well in a terminal."""
    lines = [tuple(cell.replace("|", "\\|") for cell in line) for line in (grid.heads, *grid.rows)]
    widths = [max(3, *(len(line[place]) for line in lines)) for place in range(len(grid.heads))]
    head, *rows = (" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    rule = " | ".join("-" * width for width in widths)
    return "\n".join(f"| {line} |" for line in (head, rule, *rows))


def html(title: str, parts: Sequence[Part]) -> str:
    """Return a page as one HTML file with its pictures inside."""
    from jinja2 import Environment

    sources = {part.file: _inline(part.file) for part in parts if isinstance(part, Picture)}
    template = Environment(autoescape=True).from_string(HTML)
    return template.render(title=title, parts=parts, sources=sources)


def _inline(file: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode()}"
