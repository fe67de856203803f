"""The guard at the end of an epoch: was harm done, and does the run go back?"""

from typing import Any

import torch

from pencil.engine.guard import STANDING
from pencil.engine.state import State
from pencil.types import Phase


def went_back(state: State, phase: Phase, record: dict[str, Any], *, held_out: int) -> str:
    """Go back to the last good state where an epoch of moving labels has done harm, and say what harm; else keep it."""
    guard = state.guard
    if guard is None:
        return ""
    harm = ""
    if phase.rule.moves and not record["changed"] and not record["relabelled"]:
        # What is worse now than before is another doing than the labels': new weights, another view of the images.
        guard.begin(state.learning(), record)
        return ""
    if phase.rule.moves:
        labels_C, given_N = state.meters.labels, state.table.columns["given"]
        given_C = torch.bincount(given_N[given_N >= 0], minlength=len(labels_C))
        harm = guard.judge(record, held_out, labels_C, given_C)
    if not harm:
        guard.keep(state.learning(), record, moved=phase.rule.moves)
        return ""
    if guard.pace <= STANDING:
        # Labels have hardly moved of late, so the network gets worse by itself: it may learn its way out.
        guard.give_in(state.learning(), record)
        return ""
    guard.go_back(state.learning())
    record["went_back"] = harm
    return harm
