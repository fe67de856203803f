"""The training engine: one step, one loop, for every method."""

from pencil.engine.evaluate import predict
from pencil.engine.events import EpochRecord, Listener, Stopped
from pencil.engine.feed import Feed, ResidentFeed, StreamingFeed
from pencil.engine.loop import Engine
from pencil.engine.state import State
from pencil.engine.watched import Watched

__all__ = [
    "Engine",
    "EpochRecord",
    "Feed",
    "Listener",
    "ResidentFeed",
    "State",
    "Stopped",
    "StreamingFeed",
    "Watched",
    "predict",
]
