"""Turns lists of image files into inputs, and says how they are prepared for a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pencil.data.arrays import describe_images
from pencil.data.cache import MappedInputs, decoded_file
from pencil.data.dataset import DataFacts, Preparation
from pencil.data.request import Request
from pencil.errors import PencilError

OPTIONS = ("size", "crop")
"""What every source of image files can be asked: the side kept on disk, and the side the network sees."""
IMAGENET = Preparation("images", (), mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375))
"""The statistics that networks pre-trained on photographs expect."""


def read_images(
    files: Sequence[Path],
    names: Sequence[str],
    request: Request,
    *,
    size: int = 0,
    pretrained: bool = False,
    key: str = "",
) -> tuple[MappedInputs, Preparation, str, DataFacts]:
    """Decode files into the cache; return the inputs, their preparation, a backbone and facts.

    Without a size, small images that are all of one size are kept, others become squares that fit them. What are no
    files of their own have a `key` that names their content.
    """
    side = request.integer("size", size)
    path, shape = decoded_file(files, names, side, request.cache_dir, key)
    preparation, backbone, facts = describe_images(shape, crop=request.integer("crop", 0))
    if preparation.crop > min(shape[:2]):
        raise PencilError(f"option crop is {preparation.crop}, the images are {shape[0]} × {shape[1]}; give less.")
    if pretrained:
        preparation = replace(preparation, mean=IMAGENET.mean, std=IMAGENET.std)
    return MappedInputs(path, 0, len(files)), preparation, backbone, facts
