"""Decodes one image file into uint8 RGB, upright; refuses what is damaged or far too large."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pencil.data.arrays import as_pixels
from pencil.errors import PencilError

LONGEST_SIDE = 12_000
DEEP = 16
"""Bits of a grey pixel in files that have more than eight."""
FORMATS = ("BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
"""Those that are read; Pillow knows others that start other programs (EPS) or have seen few hostile files."""
_SUFFIXES = {"BMP": ".bmp", "GIF": ".gif", "JPEG": ".jpg", "JPEG2000": ".jp2", "MPO": ".jpg", "PNG": ".png"}
_SUFFIXES |= {"PPM": ".ppm", "TIFF": ".tif", "WEBP": ".webp"}
"""What files of each format are called; MPO is a JPEG that holds more pictures."""
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What makes an image upright, by the orientation its camera noted."""


def image_size(path: Path) -> tuple[int, int]:
    """Return (height, width) from a file's header, turned as its camera noted."""
    with _open(path) as image:
        if image.format == "TIFF" and _orientation(image) > 1:
            _load(image, path)
        return _upright_size(image)


def image_suffix(path: Path) -> str:
    """Return the ending by which other programs know a file as an image: its own, else that of its content."""
    own = path.suffix.lower()
    if own in _known_suffixes():
        return own
    with _open(path) as image:
        return _SUFFIXES.get(image.format or "", "")


def is_image_name(name: str) -> bool:
    """Say whether a text ends as names of image files do."""
    return Path(name).suffix.lower() in _known_suffixes()


@cache
def _known_suffixes() -> frozenset[str]:
    return frozenset(suffix for suffix, name in Image.registered_extensions().items() if name in FORMATS)


def is_deep(path: Path) -> bool:
    """Say whether a file has grey pixels of more than eight bits."""
    with _open(path) as image:
        return image.mode[0] == "I"


def decode(path: Path, size: tuple[int, int], bits: int = DEEP) -> NDArray[np.uint8]:
    """Return a file's image as uint8 [H, W, 3], upright, resized where it has another size.

    Of sixteen bits of a grey pixel it may use only the lower `bits`.
    """
    try:
        with _open(path) as image:
            # A JPEG can be decoded at a fraction of its size; twice the wanted side keeps the resize sharp.
            image.draft("RGB", (2 * size[1], 2 * size[0]))
            picture = _to_rgb(image, path, bits)
            # Asked only now: Pillow turns a TIFF itself when it loads it, and then drops the note.
            turn = _TURNS.get(_orientation(image))
        if turn is not None:
            picture = picture.transpose(turn)
        if picture.size != (size[1], size[0]):
            picture = picture.resize((size[1], size[0]), Image.Resampling.BILINEAR)
        return np.asarray(picture, dtype=np.uint8)
    except PencilError:
        raise
    except Exception as error:  # decoders fail in their own ways on damaged files
        raise _unreadable(path, error) from error


def _open(path: Path) -> Image.Image:
    try:
        image = Image.open(path, formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise PencilError(f"{path} unpacks to too many pixels; remove it or make it smaller.") from error
    except Exception as error:
        raise _unreadable(path, error) from error
    width, height = image.size
    if max(width, height) > LONGEST_SIDE or width * height > (Image.MAX_IMAGE_PIXELS or LONGEST_SIDE**2):
        image.close()
        raise PencilError(f"{path} has {width} × {height} pixels, too many; remove it or make it smaller.")
    return image


def _load(image: Image.Image, path: Path) -> None:
    try:
        image.load()
    except Exception as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> PencilError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "cannot identify" in reason:
        reason = "its content is no known image format"
    return PencilError(f"{path} is not an image or is damaged ({reason}); remove it or replace it.")


def _upright_size(image: Image.Image) -> tuple[int, int]:
    width, height = image.size
    return (width, height) if _orientation(image) >= 5 else (height, width)


def _orientation(image: Image.Image) -> int:
    """Return the camera's note, 1 to 8; 1, upright, where there is none or it is damaged."""
    try:
        noted = image.getexif().get(0x0112, 1)
    except Exception:  # a damaged note does not make the picture unreadable
        return 1
    return noted if isinstance(noted, int) and 1 <= noted <= 8 else 1


def _to_rgb(image: Image.Image, path: Path, bits: int) -> Image.Image:
    if image.mode[0] in "IF":
        # Plain conversion would clip these to black or white.
        return Image.fromarray(_eight_bits(image, path, bits)).convert("RGB")
    if image.has_transparency_data:
        layered = image.convert("RGBA")
        ground = Image.new("RGBA", layered.size, (255, 255, 255, 255))
        return Image.alpha_composite(ground, layered).convert("RGB")
    return image.convert("RGB")


def _eight_bits(image: Image.Image, path: Path, bits: int) -> NDArray[np.uint8]:
    """Return numbers of more bits as pixels: the upper eight bits of those used, others by the rule of arrays."""
    values = np.asarray(image)
    lowest, highest = float(values.min()), float(values.max())
    # Only a TIFF has 32 bits a pixel, and its numbers may be those of 8, of 16 or any others.
    whole = image.mode != "F"
    sixteen = whole and (image.mode != "I" or image.format != "TIFF")
    if sixteen or (whole and lowest >= 0 and (highest > 255 or bits < DEEP) and highest <= 65535):
        if bits < DEEP and highest >= 2**bits:
            raise PencilError(
                f"{path} has values up to {highest:g}, more than {bits} bits hold; set data.options.bits to"
                f" {int(highest).bit_length()} or more."
            )
        return (values.clip(0, 65535) >> bits - 8).astype(np.uint8)
    if not (lowest >= 0 and highest <= 255):
        raise PencilError(
            f"{path} has values from {lowest:g} to {highest:g}; save it with values from 0 to 255 or from 0 to 1."
        )
    return as_pixels(values)
