"""Turns lists of image files into inputs, and says how they are prepared for a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pencil.data.arrays import describe_images
from pencil.data.dataset import DataFacts, Preparation
from pencil.data.images.cache import MappedInputs, decoded_file
from pencil.data.images.decode import DEEP, is_deep
from pencil.data.request import Request
from pencil.errors import PencilError

OPTIONS = ("size", "crop", "bits")
"""What every source of image files can be asked: the side kept on disk, the side the network sees, and how many bits
are used of the sixteen that a grey pixel may have."""
_LOOKED_AT = 256
_DARK = 15
"""The highest value of pixels where the files are taken to use fewer bits than they have."""
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
    side, bits = request.integer("size", size), request.integer("bits", DEEP, least=8)
    if bits > DEEP:
        raise PencilError(f"option bits is {bits}; give 8 to {DEEP}.")
    path, shape = decoded_file(files, names, side, request.cache_dir, key, bits)
    preparation, backbone, facts = describe_images(shape, crop=request.integer("crop", 0))
    if preparation.crop > min(shape[:2]):
        raise PencilError(f"option crop is {preparation.crop}, the images are {shape[0]} × {shape[1]}; give less.")
    if pretrained:
        preparation = replace(preparation, mean=IMAGENET.mean, std=IMAGENET.std)
        facts["usual_flip"] = False
    inputs = MappedInputs(path, 0, len(files))
    facts |= {"resizable": True}
    return inputs, preparation, backbone, facts | (_dark(inputs) if bits == DEEP and is_deep(files[0]) else {})


def _dark(inputs: MappedInputs) -> DataFacts:
    """Return a line on images that are nearly black, if all are, as those of twelve bits in files of sixteen."""
    some = np.linspace(0, len(inputs) - 1, min(_LOOKED_AT, len(inputs))).astype(np.int64)
    highest = int(inputs.read(some).max())
    if highest > _DARK:
        return {}
    used = highest.bit_length() + 8
    return {
        "dark": f"the images have 16 bits a pixel and seem to use {used} of them, so that few shades of grey are left;"
        f" if so, give --set data.options.bits={used}."
    }
