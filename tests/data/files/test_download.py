"""A download is checked and unpacked, or leaves nothing behind."""

import functools
import hashlib
import http.server
import threading

import pytest

from pencil.data.files.download import download_archive, unpack
from pencil.errors import PencilError


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """An address that serves a folder of this machine."""
    (tmp_path / "served").mkdir()
    handler = functools.partial(_Quiet, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


@pytest.fixture
def archive(fakes, tmp_path, server):
    folder = fakes.cifar10_binary(tmp_path / "made")
    return fakes.archive(folder, tmp_path / "served" / "cifar.tar.gz")


def md5(path):
    return hashlib.md5(path.read_bytes()).hexdigest()


def test_cifar10_is_downloaded_once(load_data, tmp_path, server, archive, monkeypatch):
    import dataclasses

    from pencil.data.sources import cifar10

    layout = dataclasses.replace(cifar10.LAYOUT, url=f"{server}/cifar.tar.gz", md5=md5(archive))
    monkeypatch.setattr(cifar10, "LAYOUT", layout)
    with pytest.raises(PencilError, match=r"allow the download with download=True"):
        load_data("cifar10")
    assert len(load_data("cifar10", download=True, held_out=0.0).train) == 50
    archive.unlink()
    assert len(load_data("cifar10", held_out=0.0).train) == 50


def test_a_wrong_checksum_leaves_nothing(tmp_path, server, archive):
    with pytest.raises(PencilError, match=r"it is damaged; try again"):
        download_archive(f"{server}/cifar.tar.gz", tmp_path / "out", md5="0" * 32)
    assert list((tmp_path / "out").iterdir()) == []


def test_what_is_not_there_is_said(tmp_path, server):
    with pytest.raises(PencilError, match=r"cannot be downloaded .*404"):
        download_archive(f"{server}/nothing.tar.gz", tmp_path / "out", md5="")


def test_a_corrupted_archive_leaves_nothing(tmp_path, server, archive):
    archive.write_bytes(archive.read_bytes()[:5000])
    with pytest.raises(PencilError, match=r"cannot be unpacked"):
        download_archive(f"{server}/cifar.tar.gz", tmp_path / "out", md5=md5(archive))
    assert list((tmp_path / "out").iterdir()) == []


def test_an_archive_cannot_write_outside(fakes, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(PencilError, match=r"cannot be unpacked"):
        unpack(fakes.escaping_archive(tmp_path / "evil.tar.gz"), tmp_path / "out", name="evil.tar.gz")
    assert not (tmp_path / "escaped.txt").exists() and list((tmp_path / "out").iterdir()) == []
