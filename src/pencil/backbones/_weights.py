"""Starts a network from a file of published weights."""

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from pencil.errors import PencilError
from pencil.lines import first_line

Tensors = Mapping[str, Tensor]
IN_FOLDER = ("model.safetensors", "pytorch_model.bin")


def weights_file(place: str) -> Path:
    """Return a file of weights: the one that is named, or the one in a folder as model hubs lay it out."""
    folder = Path(place)
    if not folder.is_dir():
        return folder
    found = [folder / name for name in IN_FOLDER if (folder / name).is_file()]
    if not found:
        raise PencilError(f"the folder {folder} holds none of {', '.join(IN_FOLDER)}; name the file of weights.")
    return found[0]


def load(network: nn.Module, file: str, *, classifier: str | tuple[str, ...]) -> None:
    """Copy the file's tensors into the network; a classifier of another size keeps its own fresh weights."""
    found = dict(read(Path(file)))
    own = network.state_dict()
    if any(name in found and found[name].shape != own[name].shape for name in _classifier(own, classifier)):
        for name in _classifier(own, classifier):
            found.pop(name, None)
    _check(found, own, file, classifier)
    network.load_state_dict(found, strict=False)


def read(path: Path) -> Tensors:
    """Read a state dict from a .safetensors file, or from one that torch.save wrote; nothing in it is executed."""
    if not path.is_file():
        raise PencilError(f"the weights file {path} does not exist.")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, OSError, ValueError, RuntimeError, EOFError, KeyError, UnpicklingError) as error:
        # Torch's own messages go on to recommend unsafe loading.
        raise PencilError(f"the weights file {path} cannot be read: {first_line(error)}") from error
    if not isinstance(found, Mapping) or not all(isinstance(value, Tensor) for value in found.values()):
        raise PencilError(f"the weights file {path} holds no plain state dict of names and tensors.")
    return found


def _classifier(own: Tensors, prefixes: str | tuple[str, ...]) -> list[str]:
    each = (prefixes,) if isinstance(prefixes, str) else prefixes
    return [name for name in own if name.startswith(tuple(f"{prefix}." for prefix in each))]


def _check(found: Tensors, own: Tensors, file: str, classifier: str | tuple[str, ...]) -> None:
    for name, tensor in found.items():
        if name not in own:
            raise PencilError(f"the weights file {file} is for another network: it has {name}, this one has not.")
        if tensor.shape != own[name].shape:
            raise PencilError(
                f"the weights file {file} is for another network: "
                f"its {name} is {_shape(tensor)}, this one's is {_shape(own[name])}."
            )
    # Batch norm's step counters are absent from files older than them, and nothing depends on them.
    optional = {*_classifier(own, classifier), *(name for name in own if name.endswith(".num_batches_tracked"))}
    missing = [name for name in own if name not in found and name not in optional]
    if missing:
        raise PencilError(f"the weights file {file} is for another network: it lacks {missing[0]}.")


def _shape(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape))
