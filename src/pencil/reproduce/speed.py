"""What `pencil bench` measured, as a section of the page of results."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pencil.reproduce.page import Grid, Heading, Part

TITLE = "Speed"
EXPLANATION = (
    "Images per second in label learning, from the records of `pencil bench` under `reference/bench`: one run alone, "
    "and several at once together; what the device would allow by the FLOPs and by the bytes of a step; the share of "
    "cross entropy's speed on the same engine, and the multiple of a plain loop in 32 bits. Start: seconds of a "
    "process to its first step, compiling, and compiled before (on a CPU nothing is compiled). Run: seconds of the "
    "paper's 320 epochs of CIFAR-10 with evaluation, from a few epochs of as many images."
)
HEADS = (
    "network", "hardware", "batch", "alone", "at once", "limit, FLOPs", "limit, bytes", "of cross entropy",
    "plain loops", "start", "run", "commit",
)  # fmt: skip
AT_ONCE = re.compile(r"(\d+) runs at once, together")


def speed(benchmarks: Sequence[Mapping[str, Any]]) -> list[Part]:
    """Return the section; nothing where nothing was measured."""
    rows = tuple(_row(record) for record in benchmarks if "rates" in record)
    return [Heading(TITLE), EXPLANATION, Grid(HEADS, rows)] if rows else []


def rates_at_once(record: Mapping[str, Any]) -> dict[int, float]:
    """Return the images per second of several runs together, by their number."""
    rates: Mapping[str, float] = record.get("rates", {})
    found = ((AT_ONCE.fullmatch(name), rate) for name, rate in rates.items())
    return dict(sorted((int(match[1]), rate) for match, rate in found if match))


def _row(record: Mapping[str, Any]) -> tuple[str, ...]:
    rates, ratios, seconds = (record.get(group, {}) for group in ("rates", "ratios", "seconds"))
    batch = re.search(r"--batch-size (\d+)", str(record.get("command", "")))
    started = [seconds.get(f"process to first step, {how}") for how in ("compiling", "compiled before")]
    starts = started if any(started) else [seconds.get("start to first step")]
    return (
        str(record.get("backbone", "")),
        str(record.get("environment", {}).get("device", "")),
        batch[1] if batch else "–",
        _number(record.get("images_per_second")),
        "; ".join(f"{number}: {rate:,.0f}" for number, rate in rates_at_once(record).items()) or "–",
        _number(rates.get("limit by FLOPs")),
        _number(rates.get("limit by bytes moved")),
        _number(ratios.get("label learning against cross entropy"), ".3f"),
        _number(ratios.get("engine against plain loop"), ".2f"),
        ", ".join(_number(start) for start in starts),
        _number(seconds.get("320 epochs of CIFAR-10, extrapolated")),
        str(record.get("environment", {}).get("commit", ""))[:7] or "–",
    )


def _number(value: float | None, form: str = ",.0f") -> str:
    return "–" if value is None else format(value, form)
