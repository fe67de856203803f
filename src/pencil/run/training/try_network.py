"""Tries a network that need not fit the examples before a run begins: what does not fails here, in one line."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from pencil.backbones import in_library, is_built_in, is_users_own
from pencil.data.transforms.augment import Prepare
from pencil.errors import PencilError
from pencil.lines import first_line
from pencil.run.planning.plan import Plan
from pencil.run.training.machine import Machine, on_machine

EXAMPLES = 2
TOLD = {
    "images": "images with normalised colours",
    "rows": "rows with standardised numbers (raw=True gives numbers as they are)",
    "tensors": "numbers as they are",
}


def try_network(plan: Plan, machine: Machine) -> None:
    """Make the run's network; one that may not fit the data must turn examples into a number for each class."""
    network, name = plan.new_network(), plan.settings.backbone
    if not (is_built_in(name) or in_library(name)) or plan.dataset.preparation.kind == "tensors":
        _check_parameters(network, name)
        _check_redrawn(plan, network, name)
        inputs = first_inputs(plan, machine)
        network = on_machine(network, machine)
        told, classes = TOLD[plan.dataset.preparation.kind], plan.dataset.num_classes
        places, unkept = _places(network), {key: value.clone() for key, value in _unkept(network).items()}
        outputs = _outputs(network.train(), inputs, machine, name, told, classes)
        _check_places(network, places, name)
        _check_unkept(network, unkept, name)
        _check_gradients(network, outputs, name)
        with torch.no_grad():
            _outputs(network.eval(), inputs, machine, name, told, classes)
    if single := _single(plan, machine):
        _check_single(on_machine(network, machine), plan, machine, single)


def _single(plan: Plan, machine: Machine) -> str:
    """Say how a batch, or a process's share of it, comes to have one example; nothing where none does."""
    examples, most = len(plan.dataset.train), plan.settings.optimizer.batch_size
    for size in (min(most, examples), examples % most):
        # Processes take pairs in turn; the last of an odd number stands alone.
        if size % 2 and size // 2 < machine.processes.count:
            return f"{examples} training examples in batches of {most}"
    return ""


def _check_single(network: nn.Module, plan: Plan, machine: Machine, single: str) -> None:
    try:
        with torch.no_grad(), machine.precision.forward(machine.device):
            found: Tensor = network.train()(first_inputs(plan, machine)[:1])
    except Exception as error:  # A user's code may fail in any way.
        raise PencilError(
            f"the network {plan.settings.backbone} cannot learn from one example alone, as {single} have it:"
            f" {first_line(error)}; use another --set optimizer.batch_size."
        ) from error
    if found.shape != (1, plan.dataset.num_classes):
        raise PencilError(
            f"the network {plan.settings.backbone} turns one example alone, as {single} have it, into"
            f" {list(found.shape)}; it must give {[1, plan.dataset.num_classes]}: let it keep the batch, or use"
            " another --set optimizer.batch_size."
        )


def _check_parameters(network: nn.Module, name: str) -> None:
    if any(nn.parameter.is_lazy(parameter) for parameter in network.parameters()):
        raise PencilError(f"the network {name} has lazy layers; call it on an example once before you give it.")
    if any(tensor.is_meta for tensor in (*network.parameters(), *network.buffers())):
        raise PencilError(f"the network {name} is on the device meta, without numbers; make it on the CPU.")
    if not all(parameter.is_leaf for parameter in network.parameters()):
        # What is scripted or traced is no longer so in a copy.
        raise PencilError(f"the parameters of the network {name} cannot learn in a copy; give it as it was in Python.")
    for key, value in network.state_dict().items():
        if not isinstance(value, Tensor):
            raise PencilError(
                f"the state of the network {name} has a {type(value).__name__}, {key}; keep tensors alone."
            )
    for key, tensor in (*network.named_parameters(), *network.named_buffers()):
        if tensor.layout != torch.strided:
            raise PencilError(f"the tensor {key} of the network {name} is sparse; keep it dense (to_dense).")
    if any(parameter.is_complex() for parameter in network.parameters()):
        raise PencilError(f"the network {name} has complex parameters; keep their real and imaginary parts apart.")
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise PencilError(f"the network {name} has no parameter that may learn; let some require a gradient.")


def _unkept(network: nn.Module) -> dict[str, Tensor]:
    """Return the buffers that are not in a network's state, and so neither in a checkpoint nor in a run's weights."""
    kept = network.state_dict()
    return {key: value for key, value in network.named_buffers() if key not in kept}


def _check_redrawn(plan: Plan, network: nn.Module, name: str) -> None:
    """Refuse such buffers that are others each time the network is made: predictions would be another network's."""
    made_by_user = is_users_own(name) and not isinstance(plan.own_network, nn.Module)
    if not made_by_user or not (unkept := _unkept(network)):
        return
    again = _unkept(plan.new_network())
    for key, value in unkept.items():
        if key not in again or not _same(value, again[key]):
            raise PencilError(
                f"the buffer {key} of the network {name} is another each time it is made, and is not in its state;"
                " register it with persistent=True."
            )


def _check_unkept(network: nn.Module, before: Mapping[str, Tensor], name: str) -> None:
    """Refuse such buffers that change with what is learned; one of another shape is made anew for a batch."""
    for key, value in _unkept(network).items():
        if key in before and value.shape == before[key].shape and not _same(value, before[key]):
            raise PencilError(
                f"the network {name} changes its buffer {key} as it learns, which is not in its state; register it"
                " with persistent=True."
            )


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


def _places(network: nn.Module) -> dict[str, int]:
    return {key: value.data_ptr() for key, value in network.state_dict().items()}


def _check_places(network: nn.Module, before: Mapping[str, int], name: str) -> None:
    """Refuse tensors that are exchanged for others: whoever holds the one of before learns nothing of it."""
    for key, place in _places(network).items():
        if before.get(key, place) != place:
            raise PencilError(
                f"the network {name} puts another tensor in the place of {key} when it is called; let it write into the"
                " one it has (copy_); of recurrent layers, leave out flatten_parameters() there."
            )


def _check_gradients(network: nn.Module, outputs: Tensor, name: str) -> None:
    if not outputs.requires_grad:
        raise PencilError(f"the logits of the network {name} have no gradient; compute them from what may learn.")
    torch.autograd.backward(outputs.sum())
    sparse = [key for key, weight in network.named_parameters() if weight.grad is not None and weight.grad.is_sparse]
    if sparse:
        raise PencilError(f"the gradient of {sparse[0]} in the network {name} is sparse; make its layer sparse=False.")


def first_inputs(plan: Plan, machine: Machine, *, pixels_together: bool = False) -> Tensor:
    """Return the first examples as a network sees them."""
    train = plan.dataset.train
    raw = np.array(train.inputs.read(np.arange(min(EXAMPLES, len(train)))))
    prepare = Prepare(plan.dataset.preparation, plan.settings.seed, pixels_together=pixels_together).to(machine.device)
    return machine.precision.of(prepare(torch.from_numpy(raw).to(machine.device)))


def _outputs(network: nn.Module, inputs: Tensor, machine: Machine, name: str, told: str, num_classes: int) -> Tensor:
    try:
        with machine.precision.forward(machine.device):
            found: object = network(inputs)
    except Exception as error:  # A user's code may fail in any way.
        raise PencilError(
            f"the network {name} cannot take inputs of shape {list(inputs.shape)}, {told}:"
            f" {type(error).__name__}: {first_line(error)}"
        ) from error
    if not isinstance(found, Tensor):
        raise PencilError(f"the network {name} gives a {type(found).__name__}; let it return the logits alone.")
    if found.is_complex():
        raise PencilError(f"the network {name} gives complex numbers; let it return logits that are real.")
    if found.shape != (len(inputs), num_classes):
        raise PencilError(
            f"the network {name} turns inputs of shape {list(inputs.shape)} into {list(found.shape)}; it must"
            f" give {[len(inputs), num_classes]}, a number for each class."
        )
    return found
