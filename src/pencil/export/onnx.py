"""A network as an ONNX file, for ONNX Runtime and the like; the class names are in its metadata."""

import importlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pencil.errors import PencilError
from pencil.export.network import INPUT, OUTPUTS
from pencil.export.torch_export import quiet, trace
from pencil.lines import first_line


def write(network: nn.Module, example: Tensor, facts: dict[str, str], out: Path) -> None:
    """Trace the network for any batch size and write it whole into one file."""
    onnx = _needed("onnx")
    _needed("onnxscript")
    program = trace(network, example)
    try:
        with quiet():
            exported: Any = torch.onnx.export(
                program, (example,), dynamo=True, input_names=[INPUT], output_names=list(OUTPUTS), verbose=False
            )
        model = exported.model_proto
    except Exception as error:  # torch raises many kinds, all of them about the network
        raise PencilError(f"torch cannot write this network as ONNX: {first_line(error)}") from error
    onnx.helper.set_model_props(model, facts)
    out.write_bytes(model.SerializeToString())


def probabilities(path: Path, inputs: Tensor) -> Tensor | None:
    """Compute with the file, where ONNX Runtime is installed."""
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError:
        return None
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run([OUTPUTS[1]], {INPUT: inputs.numpy()})[0])


def _needed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise PencilError(f"--onnx needs {name}: pip install pencil-labels[onnx]") from error
