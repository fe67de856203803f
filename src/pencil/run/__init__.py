"""The composition root: settings and data become a run folder and a result."""

from pencil.run.finished.predict import Predictions, predict_run
from pencil.run.finished.result import Result, load
from pencil.run.fit import fit
from pencil.run.planning.plan import Plan, plan
from pencil.run.training.session import Progress

__all__ = ["Plan", "Predictions", "Progress", "Result", "fit", "load", "plan", "predict_run"]
