"""Benchmarks of the engine: what runs against what, in one process, as ratios."""

from pencil.bench.report import Report, rate_text
from pencil.bench.suite import run_suite
from pencil.bench.tables import run_tables

__all__ = ["Report", "rate_text", "run_suite", "run_tables"]
