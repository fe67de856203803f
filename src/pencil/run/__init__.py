"""The composition root: settings and data become a run folder and a result."""

from pencil.run.fit import fit
from pencil.run.plan import Plan, plan
from pencil.run.predict import Predictions, predict_run
from pencil.run.result import Result, load
from pencil.run.session import Progress

__all__ = ["Plan", "Predictions", "Progress", "Result", "fit", "load", "plan", "predict_run"]
