"""The report of a run: one self-contained page."""

from pencil.report.make import Report, make_report, shows_examples

__all__ = ["Report", "make_report", "shows_examples"]
