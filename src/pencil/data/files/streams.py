"""Pipes and devices are no files of data: what came out of them once cannot be read again."""

from pathlib import Path

from pencil.errors import PencilError


def refuse_stream(path: Path, example: str) -> None:
    """Refuse what is there but is neither a file nor a folder; `example` is what a file of it may be called."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise PencilError(
            f"{path} is a pipe or a device, and data must lie in a file that can be read again; write it into one, such"
            f" as {example}, and give that."
        )
