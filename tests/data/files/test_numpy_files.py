"""A header's claim costs no memory, and nothing in a file is run."""

import io
import resource
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pencil.data.files.numpy_files import read_npy, read_npz
from pencil.errors import PencilError

HUGE = {"shape": (10 * 2**30,), "fortran_order": False, "descr": "|u1"}


def claiming(header: dict[str, object]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + bytes(100)


@pytest.fixture
def little_memory():
    """Leave two GiB beyond what the process has."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2 * 2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def test_arrays_come_back(tmp_path: Path) -> None:
    x = np.arange(6.0).reshape(2, 3)
    np.savez_compressed(tmp_path / "a.npz", x=x, empty=np.zeros((0, 3)), word=np.array("cat"))
    np.save(tmp_path / "a.npy", x.T)
    found = read_npz(tmp_path / "a.npz")
    assert np.array_equal(found["x"], x) and found["empty"].shape == (0, 3) and str(found["word"]) == "cat"
    assert set(read_npz(tmp_path / "a.npz", ["x"])) == {"x"}
    assert np.array_equal(read_npy(tmp_path / "a.npy"), x.T)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [((10 * 2**30,), "its header claims"), ((2**40, 2**40), "its header claims"), ((2**62, 0, 2**62), "")],
)
def test_a_header_that_claims_ten_gibibytes_is_refused(
    tmp_path: Path, little_memory: None, shape: tuple[int, ...], reason: str
) -> None:
    content = claiming(HUGE | {"shape": shape})
    (tmp_path / "l.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "l.npz", "w") as archive:
        archive.writestr("x.npy", content)
    for read, name in ((read_npy, "l.npy"), (read_npz, "l.npz")):
        with pytest.raises(PencilError, match=rf"{name} cannot be read .{reason}"):
            read(tmp_path / name)


def test_an_array_packed_ten_thousandfold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pencil.data.files.claims.UNASKED", 2**20)
    np.savez_compressed(tmp_path / "zeros.npz", x=np.zeros((2**19,), np.uint8))
    assert len(read_npz(tmp_path / "zeros.npz")["x"]) == 2**19
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros((2**22,), np.uint8))
    with pytest.raises(PencilError, match=r"bomb.npz cannot be read .it would unpack to 0.0 GiB out of [\d,]+ bytes"):
        read_npz(tmp_path / "bomb.npz")


def test_objects_are_refused(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return mark.write_text, ("run",)

    objects = np.array([Evil()], dtype=object)
    np.save(tmp_path / "o.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "o.npz", x=objects)
    for read, name in ((read_npy, "o.npy"), (read_npz, "o.npz")):
        with pytest.raises(PencilError, match=rf"{name} cannot be read"):
            read(tmp_path / name)
    assert not mark.exists()
