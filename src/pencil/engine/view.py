"""What a method's hooks see of the engine between epochs and phases."""

from dataclasses import dataclass, field

from torch import Tensor

from pencil.engine.evaluate import Evaluator
from pencil.engine.state import State
from pencil.engine.watched import Watched


@dataclass
class View:
    """The table's columns, where the run stands, and predictions on demand."""

    state: State
    learned: Evaluator
    """Of the examples that are learned."""
    apart: Watched | None
    """The examples that are held out."""
    epoch: int
    phase_epoch: int
    columns: dict[str, Tensor] = field(init=False)

    def __post_init__(self) -> None:
        self.columns = self.state.table.columns

    def predict(self) -> Tensor:
        return self.learned.logits(self.state.network).softmax(-1)

    def held_out(self) -> tuple[Tensor, Tensor] | None:
        if self.apart is None:
            return None
        return self.apart.evaluator.logits(self.state.network), self.apart.labels

    def predict_best(self) -> Tensor:
        with self.state.best_weights():
            return self.predict()
