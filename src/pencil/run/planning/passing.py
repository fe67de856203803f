"""A run folder that nobody named."""

import shutil
import tempfile
import weakref
from pathlib import Path


class PassingFolder:
    """An empty folder that is gone with this object, or when Python ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="pencil-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
