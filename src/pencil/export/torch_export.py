"""A network as torch's own exported program: `torch.export.load(FILE).module()`; it needs torch and nothing else."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pencil.errors import PencilError
from pencil.export.network import INPUT
from pencil.lines import first_line


def write(network: nn.Module, example: Tensor, facts: dict[str, str], out: Path) -> None:
    """Trace the network for any batch size; class names and the like lie in the file's extra files."""
    program = trace(network, example)
    with out.open("wb") as file:
        torch.export.save(program, file, extra_files={f"{name}.json": text for name, text in facts.items()})


def trace(network: nn.Module, example: Tensor) -> Any:
    """Return the network as a graph that takes any number of examples."""
    try:
        with quiet():
            return torch.export.export(network, (example,), dynamic_shapes={INPUT: {0: torch.export.Dim("batch")}})
    except Exception as error:  # torch raises many kinds, all of them about the network
        raise PencilError(f"torch cannot export this network: {first_line(error)}") from error


def probabilities(path: Path, inputs: Tensor) -> Tensor:
    """Compute with the file."""
    with path.open("rb") as file, torch.no_grad():
        found: Tensor = torch.export.load(file).module()(inputs)[1]
    return found


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the exporters' own remarks from the user."""
    before, unread = logging.root.manager.disable, io.StringIO()
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(unread), contextlib.redirect_stderr(unread):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
