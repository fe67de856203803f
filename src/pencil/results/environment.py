"""What a result was made with: versions, machine, commit."""

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("torch", "numpy", "scikit-learn", "pyarrow", "safetensors", "lightning-fabric")
_GIT_PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


def environment(extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return versions of Python and of the packages that matter, the platform, the commit, and what the caller adds."""
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "pencil": pencil_version(),
    }
    facts |= {name: found for name in _PACKAGES if (found := _version(name)) is not None}
    # Where the code was copied to a machine without its repository, the variable says which commit it is.
    if (commit := os.environ.get("PENCIL_COMMIT") or checkout_commit(Path(__file__))) is not None:
        facts["commit"] = commit
    return facts | dict(extra or {})


def pencil_version() -> str:
    """Return the installed version of this package."""
    return _version("pencil-labels") or "unknown"


def checkout_commit(file: Path) -> str | None:
    """Return the commit of the git checkout that tracks a file, None where none does."""
    # A package installed into a user's own repository lies inside a checkout that does not track it.
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return None
    return _git(file.parent, "rev-parse", "HEAD")


def _git(folder: Path, *arguments: str) -> str | None:
    # Inside a git hook these variables point at the repository of the hook.
    variables = {name: value for name, value in os.environ.items() if name not in _GIT_PLACES}
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
