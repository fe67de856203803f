"""Downloads a published archive, checks it and unpacks it, or leaves nothing behind."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import tarfile
import tempfile
import urllib.request
import zlib
from pathlib import Path

from pencil.errors import PencilError

_CHUNK = 2**20
_TIMEOUT_SECONDS = 60


def download_archive(url: str, folder: Path, *, md5: str) -> None:
    """Unpack the tar archive at a URL into a folder, if its checksum is the published one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PencilError(f"{folder} cannot be made ({error}); give another folder with --root.") from error
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as scratch:
        archive = Path(scratch) / "archive"
        _fetch(url, archive, md5)
        unpack(archive, folder, name=url)


def _fetch(url: str, path: Path, md5: str) -> None:
    # MD5 is what the datasets' authors publish; it guards against damage on the way, HTTPS against the rest.
    digest = hashlib.md5(usedforsecurity=False)
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as answer, path.open("wb") as file:
            while chunk := answer.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
    except (OSError, http.client.HTTPException) as error:
        raise PencilError(f"{url} cannot be downloaded ({error}); get it by hand and unpack it there.") from error
    if digest.hexdigest() != md5:
        raise PencilError(f"{url} arrived with checksum {digest.hexdigest()}, not {md5}: it is damaged; try again.")


def unpack(archive: Path, folder: Path, *, name: str) -> None:
    """Unpack a tar archive, refusing members that would land outside; each top folder appears whole or not at all."""
    scratch = Path(tempfile.mkdtemp(prefix=".unpack-", dir=folder))
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(scratch, filter="data")
        for item in scratch.iterdir():
            target = folder / item.name
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(item, target)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise PencilError(f"{name} cannot be unpacked ({error}); it is damaged, download it again.") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
