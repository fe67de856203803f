"""Decodes one image file into uint8 RGB, upright; refuses what is damaged or far too large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from pencil.errors import PencilError

LONGEST_SIDE = 12_000


def image_size(path: Path) -> tuple[int, int]:
    """Return (height, width) from a file's header, turned as its camera noted."""
    with _open(path) as image:
        return _upright_size(image)


def decode(path: Path, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Return a file's image as uint8 [H, W, 3], upright, resized where it has another size."""
    try:
        with _open(path) as image:
            # A JPEG can be decoded at a fraction of its size; twice the wanted side keeps the resize sharp.
            image.draft("RGB", (2 * size[1], 2 * size[0]))
            upright = ImageOps.exif_transpose(image)
            picture = _to_rgb(upright)
        if picture.size != (size[1], size[0]):
            picture = picture.resize((size[1], size[0]), Image.Resampling.BILINEAR)
        return np.asarray(picture, dtype=np.uint8)
    except PencilError:
        raise
    except Exception as error:  # decoders fail in their own ways on damaged files
        raise _unreadable(path, error) from error


def _open(path: Path) -> Image.Image:
    try:
        image = Image.open(path)
    except Image.DecompressionBombError as error:
        raise PencilError(f"{path} unpacks to too many pixels; remove it or make it smaller.") from error
    except Exception as error:
        raise _unreadable(path, error) from error
    width, height = image.size
    if max(width, height) > LONGEST_SIDE or width * height > (Image.MAX_IMAGE_PIXELS or LONGEST_SIDE**2):
        image.close()
        raise PencilError(f"{path} has {width} × {height} pixels, too many; remove it or make it smaller.")
    return image


def _unreadable(path: Path, error: Exception) -> PencilError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "cannot identify" in reason:
        reason = "its content is no known image format"
    return PencilError(f"{path} is not an image or is damaged ({reason}); remove it or replace it.")


def _upright_size(image: Image.Image) -> tuple[int, int]:
    width, height = image.size
    turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
    return (width, height) if turned else (height, width)


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):
        # Sixteen bits a pixel: the upper eight are the picture, plain conversion would clip it to white.
        return Image.fromarray((np.asarray(image).clip(0, 65535) >> 8).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        layered = image.convert("RGBA")
        ground = Image.new("RGBA", layered.size, (255, 255, 255, 255))
        return Image.alpha_composite(ground, layered).convert("RGB")
    return image.convert("RGB")
