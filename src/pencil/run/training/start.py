"""Starts a run where a finished one ended: with its network, its labels, and what people decided of them.

Shapes: N training examples, P examples of the parent run, B of a block, C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pencil.engine import State
from pencil.errors import PencilError
from pencil.results.decisions import Decisions, reviewed
from pencil.results.documents import damaged
from pencil.results.folder import RunFolder
from pencil.results.labels_table import check_labels
from pencil.results.read import Run
from pencil.run.planning.plan import Plan
from pencil.run.training.machine import brought
from pencil.table.rules import log_distribution

BLOCK = 65_536
"""Rows of label distributions that are read at once."""
REVIEWER = "parent run"


@dataclass(frozen=True, eq=False)
class Start:
    """What a run takes over from its parent."""

    parent: Run
    weights: dict[str, Tensor]
    place_P: NDArray[np.int64]
    """Where the parent's training examples are in the new run; −1 for those whose learned label is not taken."""
    locked: dict[int, int]
    """The classes that people chose, by position among the training examples."""
    decided: dict[str, int]
    """The same by id, held-out examples included."""
    scale: float
    """K of a locked label."""
    line: str
    """What is taken over, in words."""

    @property
    def name(self) -> str:
        """The parent as status.json names it."""
        return str(self.parent.folder.path.resolve())

    def apply(self, state: State) -> None:
        """Put weights and labels into the state of a run before its first step."""
        state.renew_network(self.weights)
        for first in range(0, len(self.place_P), BLOCK):
            place_B = self.place_P[first : first + BLOCK]
            rows_BC = self.parent.distribution_rows(first, first + len(place_B))
            if rows_BC.shape != (len(place_B), state.table.num_classes):
                raise damaged(self.parent.folder.label_distributions, "it does not fit labels.parquet")
            taken_B = place_B >= 0
            logits_BC = log_distribution(torch.from_numpy(np.array(rows_BC[taken_B])))
            index_B = torch.from_numpy(place_B[taken_B]).to(state.device)
            state.table.assign(index_B, logits_BC.to(state.device, state.table.dtype))
        index_L, class_L = (
            torch.tensor(list(numbers), dtype=torch.int64, device=state.device)
            for numbers in (self.locked.keys(), self.locked.values())
        )
        state.table.lock(index_L, class_L, scale=self.scale)
        if state.guard:
            state.guard.take(state.learning())

    def hand_on(self, folder: RunFolder) -> None:
        """Give the new run people's decisions, so that they stand there too, and in the runs that start from it."""
        if self.decided:
            with Decisions(folder.decisions) as store:
                store.adopt(self.decided, reviewer=REVIEWER)


def read_start(parent: Run, plan: Plan) -> Start:
    """Read what a planned run takes over, and refuse a parent that does not fit it."""
    _check_fit(parent, plan)
    train, held_out = plan.dataset.train, plan.dataset.held_out
    check_labels(parent.labels, len(parent.classes), parent.folder.labels)
    position = {name: number for number, name in enumerate(train.ids.tolist())}
    apart = set() if held_out is None else set(held_out.ids.tolist())
    names = parent.labels["id"].to_pylist()
    if not any(name in position for name in names):
        raise PencilError(
            f"no example of this data was in the run in {parent.folder.path}; start from a run on the same data, or"
            " train without --from."
        )
    learned = np.asarray(parent.labels["split"]) == "train"
    trusted = np.zeros(len(train), dtype=np.bool_) if train.trusted is None else train.trusted
    place = np.array([position.get(name, -1) for name in names], dtype=np.int64)
    taken = (place >= 0) & learned & ~trusted[place]
    decided = {k: v for k, v in reviewed(parent.folder).items() if k in position or k in apart}
    locked = {position[name]: label for name, label in decided.items() if name in position}
    flattered = sum(name in apart for name, was in zip(names, learned, strict=True) if was)
    line = (
        f"starts from {parent.folder.path}: {int(taken.sum()):,} learned labels, {len(decided):,} reviewed and locked"
    )
    if fresh := len(train) - int(np.count_nonzero(place >= 0)):
        line += f"; {fresh:,} new examples start from their given label"
    if flattered:
        line += f"; {flattered:,} held-out examples were trained on before, which flatters the held-out accuracy"
    weights = _weights(parent, plan)
    return Start(parent, weights, np.where(taken, place, -1), locked, decided, plan.method.label_scale, f"{line}.")


def _check_fit(parent: Run, plan: Plan) -> None:
    """Refuse data whose numbers mean something else than those the parent learned from."""
    dataset, path = plan.dataset, parent.folder.path
    if parent.classes != dataset.class_names:
        raise PencilError(
            f"the run in {path} has other classes ({_some(parent.classes)}) than this data"
            f" ({_some(dataset.class_names)}); train without --from."
        )
    learned, found = (facts.get("features") or [] for facts in (parent.preprocessing, dataset.facts))
    if learned != found and sorted(learned) == sorted(found):
        raise PencilError(
            f"the run in {path} was trained on this data's columns in another order ({_some(learned)}); give them in"
            " that order, or train without --from."
        )
    if learned != found:
        raise PencilError(f"the run in {path} was trained on other columns than this data has; train without --from.")


def _weights(parent: Run, plan: Plan) -> dict[str, Tensor]:
    """Read the parent's weights, once they are known to fit the network."""
    weights = {name: torch.from_numpy(np.array(value)) for name, value in parent.weights().items()}
    try:
        brought(plan.new_network(), torch.device("cpu"), torch.float32).load_state_dict(weights)
    except RuntimeError:
        raise PencilError(
            f"the weights of the run in {parent.folder.path} do not fit the network {plan.settings.backbone} on this"
            " data; leave --backbone and its options out, and give data of the same shape."
        ) from None
    return weights


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
