"""What a method's hooks see of the engine between epochs and phases."""

from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from pencil.engine.loop import Engine


class View:
    """The table's columns, where the run stands, and predictions on demand."""

    def __init__(self, engine: "Engine", phase_epoch: int) -> None:
        self.engine = engine
        self.columns = engine.state.table.columns
        self.epoch, self.phase_epoch = engine.epoch, phase_epoch

    def predict(self) -> Tensor:
        return self.engine.train_evaluator.logits(self.engine.state.network).softmax(-1)

    def held_out(self) -> tuple[Tensor, Tensor] | None:
        watched = self.engine.watched.get("held_out")
        if watched is None:
            return None
        return watched.evaluator.logits(self.engine.state.network), watched.labels

    def predict_best(self) -> Tensor:
        with self.engine.state.best_weights():
            return self.predict()
