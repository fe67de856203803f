"""Image classifiers of Hugging Face's transformers: from a folder, a config.json, or a kind such as "vit".

No code from a folder is run, nothing is fetched, and only safetensors or plain tensors are loaded.
"""

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from pencil.errors import PencilError, did_you_mean
from pencil.lines import first_line
from pencil.types import InputSpec

_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_LAST = ("classifier", "head", "score", "logit")
"""Parts of the names of what comes last, which another number of classes makes anew."""


class Classifier(nn.Module):
    """A transformers model that gives logits alone."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.network(pixel_values=x).logits
        return logits


def build(name: str, spec: InputSpec, num_classes: int, options: Mapping[str, Any]) -> nn.Module:
    """Make a network; options change its configuration (hidden_size, num_hidden_layers, …)."""
    if spec.kind != "images":
        raise PencilError(f"transformers:{name} takes images, but these examples are rows; use the backbone mlp.")
    library = _library(name)
    with _quiet(library):
        config = _config(library, name, spec, num_classes, options)
        try:
            network = library.AutoModelForImageClassification.from_config(config, trust_remote_code=False)
        except Exception as error:  # transformers refuses configurations in many ways
            raise PencilError(f"transformers cannot make {name}: {first_line(error)}") from error
        if _has_weights(Path(name)):
            network = _load(library, Path(name), config)
    return Classifier(network.float())


def _config(library: Any, name: str, spec: InputSpec, num_classes: int, options: Mapping[str, Any]) -> Any:
    place = Path(name)
    kinds = library.models.auto.modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES
    channels, height, width = spec.shape
    try:
        if place.exists():
            config = library.AutoConfig.from_pretrained(name, local_files_only=True, trust_remote_code=False)
        elif name in kinds:
            config = library.AutoConfig.for_model(name)
        else:
            remedy = did_you_mean(name, kinds)
            raise PencilError(
                f'transformers:{name} is no folder or config.json, and no kind "{name}" is known.{remedy}'
            )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PencilError(f"transformers:{name} cannot be read: {first_line(error)}") from error
    known = config.to_dict()
    for option in options:
        if option not in known:
            raise PencilError(f'transformers:{name} has no option "{option}".{did_you_mean(option, known)}')
    if isinstance(known.get("image_size"), int):
        side = known["image_size"] if _has_weights(place) else options.get("image_size", height)
        if (height, width) != (side, side):
            raise PencilError(
                f"transformers:{name} takes images of {side} × {side} pixels, these are {height} × {width}; make them"
                f" so with --set data.options.size={side} --set data.options.crop={side}."
            )
        config.image_size = side
    config.update({"num_channels": channels, **options})
    config.num_labels = num_classes
    return config


def _has_weights(folder: Path) -> bool:
    return folder.is_dir() and any(any(folder.glob(pattern)) for pattern in _WEIGHTS)


def _load(library: Any, folder: Path, config: Any) -> nn.Module:
    """Start from a folder's weights; a classifier of another size keeps its own fresh ones."""
    safe = any(folder.glob(_WEIGHTS[0]))
    how: dict[str, Any] = {"use_safetensors": True} if safe else {"use_safetensors": False, "weights_only": True}
    try:
        network, found = library.AutoModelForImageClassification.from_pretrained(
            str(folder), config=config, local_files_only=True, trust_remote_code=False, ignore_mismatched_sizes=True,
            output_loading_info=True, **how,
        )  # fmt: skip
    except Exception as error:  # damaged files raise many kinds
        raise PencilError(f"the weights in {folder} cannot be read: {first_line(error)}") from error
    absent = [*found["missing_keys"], *(key if isinstance(key, str) else key[0] for key in found["mismatched_keys"])]
    foreign = [key for key in absent if not any(part in key for part in _LAST)]
    if foreign:
        raise PencilError(f"the weights in {folder} are for another network: {sorted(foreign)[0]} does not fit.")
    assert isinstance(network, nn.Module)
    return network


def _library(name: str) -> Any:
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise PencilError(f"transformers:{name} needs transformers: pip install pencil-labels[hf]") from error


@contextlib.contextmanager
def _quiet(library: Any) -> Iterator[None]:
    """Keep remarks on fresh classifiers from the user: they are what was asked for."""
    logging = library.utils.logging
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
