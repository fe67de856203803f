"""The report of a run: one self-contained page."""

from pencil.report.make import Report, make_report

__all__ = ["Report", "make_report"]
