"""Finds a run's examples again in its data; code that only the run folder names is never run."""

from pencil.data.located import Located, read_dataset

__all__ = ["Located", "read_dataset"]
