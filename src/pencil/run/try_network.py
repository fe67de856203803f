"""Tries a network that need not fit the examples before a run begins: what does not fails here, in one line."""

import numpy as np
import torch
from torch import Tensor, nn

from pencil.backbones import is_given
from pencil.data.augment import Prepare
from pencil.errors import PencilError
from pencil.run.build import Machine
from pencil.run.plan import Plan

EXAMPLES = 2
TOLD = {
    "images": "images with normalised colours",
    "rows": "rows with standardised numbers (raw=True gives numbers as they are)",
    "tensors": "numbers as they are",
}


def try_network(plan: Plan, machine: Machine) -> None:
    """Make the run's network; one that may not fit the data must turn examples into a number for each class."""
    network, name = plan.new_network(), plan.settings.backbone
    if not (is_given(name) or ".py:" in name or plan.dataset.preparation.kind == "tensors"):
        return
    dataset, device = plan.dataset, machine.device
    raw = np.array(dataset.train.inputs.read(np.arange(min(EXAMPLES, len(dataset.train)))))
    prepare = Prepare(dataset.preparation, plan.settings.seed).to(device)
    inputs = machine.precision.of(prepare(torch.from_numpy(raw).to(device)))
    network = network.to(device=device, dtype=machine.precision.dtype)
    for training in (True, False):
        outputs = _outputs(network.train(training), inputs, machine, name, TOLD[dataset.preparation.kind])
        if not isinstance(outputs, Tensor):
            raise PencilError(f"the network {name} gives a {type(outputs).__name__}; let it return the logits alone.")
        if outputs.shape != (len(inputs), dataset.num_classes):
            raise PencilError(
                f"the network {name} turns inputs of shape {list(inputs.shape)} into {list(outputs.shape)}; it must"
                f" give {[len(inputs), dataset.num_classes]}, a number for each class."
            )


@torch.no_grad()
def _outputs(network: nn.Module, inputs: Tensor, machine: Machine, name: str, told: str) -> object:
    try:
        with machine.precision.forward(machine.device):
            found: object = network(inputs)
    except Exception as error:  # A user's code may fail in any way.
        line = next((line for line in str(error).splitlines() if line.strip()), "")
        raise PencilError(
            f"the network {name} cannot take inputs of shape {list(inputs.shape)}, {told}:"
            f" {type(error).__name__}: {line}"
        ) from error
    return found
