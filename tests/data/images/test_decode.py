"""Every kind of image becomes upright RGB; what is damaged or huge is refused by name."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from pencil.data.images.decode import decode, image_size
from pencil.errors import PencilError


def decoded(image, path, **save):
    image.save(path, **save)
    return decode(path, image_size(path))


def test_grey_palette_alpha_and_deep_images(tmp_path):
    grey = Image.new("L", (4, 4), 100)
    np.testing.assert_array_equal(decoded(grey, tmp_path / "grey.png"), np.full((4, 4, 3), 100))
    palette = Image.new("RGB", (4, 4), (10, 200, 30)).convert("P", palette=Image.Palette.ADAPTIVE)
    np.testing.assert_array_equal(decoded(palette, tmp_path / "p.png")[0, 0], [10, 200, 30])
    clear = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    np.testing.assert_array_equal(decoded(clear, tmp_path / "a.png"), np.full((4, 4, 3), 255))
    deep = Image.fromarray(np.full((4, 4), 0x8000, np.uint16))
    np.testing.assert_array_equal(decoded(deep, tmp_path / "deep.png"), np.full((4, 4, 3), 0x80))


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        ([0, 0.2, 1], np.float32, [0, 51, 255]),
        ([0, 51, 254.6], np.float32, [0, 51, 255]),
        ([0, 51, 255], np.int32, [0, 51, 255]),
        ([0, 0x3300, 0xFFFF], np.int32, [0, 0x33, 0xFF]),
        ([0, 51, 0xFFFF], np.uint16, [0, 0, 0xFF]),
        ([0, 51, 255], np.uint16, [0, 0, 0]),
    ],
)
def test_numbers_of_many_bits(tmp_path, values, kind, found):
    seen = decoded(Image.fromarray(np.array([values], kind)), tmp_path / "deep.tif")
    np.testing.assert_array_equal(seen, np.repeat(np.array(found)[None, :, None], 3, axis=2))


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
@pytest.mark.parametrize(("bits", "values"), [(12, [0, 0x333, 0xFFF]), (10, [0, 0xCC, 0x3FF]), (8, [0, 51, 255])])
def test_fewer_bits_than_the_file_has(tmp_path, kind, bits, values):
    Image.fromarray(np.array([values], kind)).save(tmp_path / "deep.tif")
    np.testing.assert_array_equal(decode(tmp_path / "deep.tif", (1, 3), bits)[0, :, 0], [0, 51, 255])
    with pytest.raises(PencilError, match=rf"deep\.tif has values up to .* than {bits} bits .*bits to {bits + 1} or"):
        Image.fromarray(np.array([[0, 2**bits]], kind)).save(tmp_path / "deep.tif")
        decode(tmp_path / "deep.tif", (1, 2), bits)


@pytest.mark.parametrize(
    ("values", "kind", "reach"),
    [
        ([-1, 1], np.float32, "-1 to 1"),
        ([0, 300], np.float32, "0 to 300"),
        ([0, np.nan], np.float32, "nan to nan"),
        ([0, 70_000], np.int32, "0 to 70000"),
        ([-5, 255], np.int32, "-5 to 255"),
    ],
)
def test_numbers_that_are_no_pixels_are_refused(tmp_path, values, kind, reach):
    with pytest.raises(PencilError, match=rf"deep\.tif has values from {reach}; .*0 to 255"):
        decoded(Image.fromarray(np.array([values], kind)), tmp_path / "deep.tif")


def test_the_camera_s_orientation_is_applied(tmp_path):
    picture = np.zeros((4, 8, 3), np.uint8)
    picture[:, :4] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter to the right: the left half comes up
    found = decoded(Image.fromarray(picture), tmp_path / "turned.png", exif=exif)
    assert found.shape == (8, 4, 3)
    assert found[:4].min() == 255 and found[4:].max() == 0


def test_resizing(tmp_path):
    Image.new("RGB", (40, 20), (9, 8, 7)).save(tmp_path / "wide.jpg", quality=100)
    found = decode(tmp_path / "wide.jpg", (6, 6))
    assert found.shape == (6, 6, 3) and abs(found.astype(int) - [9, 8, 7]).max() <= 2


def test_what_is_no_image_is_named(tmp_path):
    (tmp_path / "text.png").write_text("hello")
    with pytest.raises(PencilError, match=r"text\.png is not an image .*no known image format"):
        decode(tmp_path / "text.png", (4, 4))


def test_a_cut_off_image_is_named(tmp_path, fakes):
    path = fakes.save_image(tmp_path / "cut.jpg", fakes.pixels(1, 64)[0])
    path.write_bytes(path.read_bytes()[:-800])
    with pytest.raises(PencilError, match=r"cut\.jpg is not an image or is damaged \(.*truncated"):
        decode(path, (64, 64))


@pytest.mark.parametrize(("width", "height"), [(20_000, 10), (60_000, 60_000)])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    (tmp_path / "bomb.png").write_bytes(content)
    with pytest.raises(PencilError, match=r"bomb\.png .*too many"):
        decode(tmp_path / "bomb.png", (32, 32))


def test_a_file_that_would_start_another_program_is_refused(tmp_path):
    """PostScript is a program; Pillow hands it to Ghostscript whatever the file is called."""
    mark = tmp_path / "mark"
    script = f"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n({mark}) (w) file closefile\nshowpage\n"
    (tmp_path / "cat.png").write_text(script)
    with pytest.raises(PencilError, match=r"cat.png is not an image.*no known image format"):
        image_size(tmp_path / "cat.png")
    assert not mark.exists()


@pytest.mark.parametrize("turn", range(1, 9))
def test_a_tiff_is_turned_once(tmp_path, turn):
    picture = np.zeros((4, 8, 3), np.uint8)
    picture[:2, :3] = 255
    exif = Image.Exif()
    exif[0x0112] = turn
    found = decoded(Image.fromarray(picture), tmp_path / "turned.tif", exif=exif)
    np.testing.assert_array_equal(found, decoded(Image.fromarray(picture), tmp_path / "turned.png", exif=exif))


def test_a_turned_tiff_that_is_cut_off_is_named(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (64, 32)).save(tmp_path / "cut.tif", exif=exif, compression="tiff_adobe_deflate")
    whole = (tmp_path / "cut.tif").read_bytes()
    # The strip of pixels lies behind the header; its own bytes alone are spoiled.
    (tmp_path / "cut.tif").write_bytes(whole[:8] + bytes(40) + whole[48:])
    with pytest.raises(PencilError, match=r"cut\.tif is not an image or is damaged"):
        image_size(tmp_path / "cut.tif")
