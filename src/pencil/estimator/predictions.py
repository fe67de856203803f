"""What the network thought of each training example while its labels were learned, for tools such as cleanlab.

Shapes: N examples, B in a block, C classes.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from pencil.data import Dataset
from pencil.engine import Engine


def mean_predictions(engine: Engine, dataset: Dataset, ids: list[str]) -> NDArray[np.float32]:
    """Return [N, C] in the order of `ids`: averaged over label learning, the last ones where none were averaged."""
    found = dict(zip(dataset.train.ids.tolist(), _trained(engine), strict=True))
    if dataset.held_out is not None:
        outputs = engine.watched["held_out"].evaluator.logits(engine.state.network)
        found |= dict(zip(dataset.held_out.ids.tolist(), _numbers(outputs.softmax(-1)), strict=True))
    return np.stack([found[name] for name in ids])


def _trained(engine: Engine) -> NDArray[np.float32]:
    columns, blocks = engine.state.table.columns, []
    for rows, outputs in engine.train_evaluator.blocks(engine.state.network):
        mean_BC = outputs.softmax(-1)
        if "prediction_sum" in columns:
            count_B1 = columns["predictions"][rows].unsqueeze(-1)
            mean_BC = (columns["prediction_sum"][rows] / count_B1.clamp(min=1)).where(count_B1 > 0, mean_BC)
        blocks.append(_numbers(mean_BC))
    return np.concatenate(blocks)


def _numbers(values: torch.Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = values.float().cpu().numpy()
    return array
