"""Reads what the page asks for: known names, numbers within bounds, nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any
from unicodedata import category

from starlette.requests import ClientDisconnect, Request

from pencil.errors import PencilError
from pencil.quality.decide import DECISIONS
from pencil.review.index import STATUSES, SUSPECTS, Filter

LONGEST_BODY = 4096
LONGEST_TEXT = 200
LARGEST = 2**53
"""Beyond it a browser's numbers are not exact."""


class BadRequest(PencilError):
    """The page, or whoever speaks in its place, asked for something that there is not."""


def whole(text: str | None, name: str, *, below: int, default: int | None = None) -> int:
    """Read a whole number from 0 up."""
    if text is None and default is not None:
        return default
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 16 or int(text) >= below:
        raise BadRequest(f"{name} must be a whole number from 0 to {below - 1}.")
    return int(text)


def wanted(query: Mapping[str, str], num_classes: int) -> Filter:
    """Read a filter."""
    return Filter(
        decision=_choice(query, "decision", (SUSPECTS, "any", *DECISIONS), SUSPECTS),
        status=_choice(query, "status", STATUSES, "any"),
        given=_class(query, "given", num_classes),
        corrected=_class(query, "corrected", num_classes),
        low=_share(query, "low", 0.0),
        high=_share(query, "high", 1.0),
        find=_text(query.get("find", ""), "find"),
    )


async def body(request: Request) -> dict[str, Any]:
    """Read a small JSON object."""
    content = b""
    try:
        async for part in request.stream():
            content += part
            if len(content) > LONGEST_BODY:
                raise BadRequest("the request is too long.")
        value = json.loads(content)
    except (ValueError, RecursionError, ClientDisconnect):
        raise BadRequest("the request is no JSON.") from None
    if not isinstance(value, dict):
        raise BadRequest("the request is no JSON object.")
    return value


def number_in(fields: Mapping[str, Any], name: str, *, below: int) -> int:
    """Return a whole number of a JSON object."""
    value = fields.get(name)
    if type(value) is not int or not 0 <= value < below:
        raise BadRequest(f"{name} must be a whole number from 0 to {below - 1}.")
    return value


def signature(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return who decides, and the key by which a repeated request is known."""
    found = {name: _text(fields.get(name), name) for name in ("reviewer", "key")}
    if not all(found.values()):
        raise BadRequest("reviewer and key are missing.")
    return found


def _choice(query: Mapping[str, str], name: str, known: tuple[str, ...], default: str) -> str:
    value = query.get(name, default)
    if value not in known:
        raise BadRequest(f"{name} must be one of {', '.join(known)}.")
    return value


def _class(query: Mapping[str, str], name: str, num_classes: int) -> int | None:
    return whole(query[name], name, below=num_classes) if query.get(name) else None


def _share(query: Mapping[str, str], name: str, default: float) -> float:
    try:
        value = float(query.get(name) or default)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise BadRequest(f"{name} must be a number from 0 to 1.")
    return value


def _text(value: Any, name: str) -> str:
    # Not what is printable: names of many scripts hold joiners and spaces of their own.
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or {"Cc", "Cs"} & {*map(category, value)}:
        raise BadRequest(f"{name} must be a text of at most {LONGEST_TEXT} characters.")
    return value
