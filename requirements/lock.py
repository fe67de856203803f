"""Writes requirements/dev.txt: everything but torch that development needs, pinned, with every hash the index lists.

    .venv/bin/python requirements/lock.py --index URL      (or with PIP_INDEX_URL set)

pip resolves the ranges in pyproject.toml beside torch's own pin. The hashes of all files of a version are
taken, so that one lock serves every platform and Python version that the index has files for.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
TORCH = HERE / "torch.txt"
HEADER = """\
# Written by requirements/lock.py from pyproject.toml; do not edit.
# Install with: pip install --no-deps --require-hashes -r requirements/dev.txt
"""
# What torch brings along on machines with a GPU; it is installed with torch, by torch's own pins.
WITH_TORCH = re.compile(r"torch|(nvidia|cuda)-.*")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", default=os.environ.get("PIP_INDEX_URL"), help="the package index's simple API")
    index = parser.parse_args().index or parser.error("give --index URL")
    entries = [entry(index, name, version) for name, version in sorted(resolve().items())]
    (HERE / "dev.txt").write_text(HEADER + "".join(entries))
    print(f"{len(entries)} packages pinned in requirements/dev.txt")


def wanted() -> list[str]:
    """Return the ranges in pyproject.toml: to run, to build, to document and to develop."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    return [*project["project"]["dependencies"], *project["build-system"]["requires"], *extras["docs"], *extras["dev"]]


def resolve() -> dict[str, str]:
    """Return name → version of all that pip would install, without what comes with torch."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    report = subprocess.run([*install, "-r", str(TORCH), *wanted()], check=True, stdout=subprocess.PIPE).stdout
    found = (item["metadata"] for item in json.loads(report)["install"])
    versions = {normal(item["name"]): item["version"] for item in found}
    return {name: version for name, version in versions.items() if not WITH_TORCH.fullmatch(name)}


def entry(index: str, name: str, version: str) -> str:
    """Return one package's lines: the pin and a hash for each of its files."""
    hashes = sorted({digest for filename, digest in files(index, name) if version_of(filename, name) == version})
    if not hashes:
        sys.exit(f"the index lists no files of {name} {version}")
    return " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{digest}" for digest in hashes)]) + "\n"


def files(index: str, name: str) -> list[tuple[str, str]]:
    """Ask the index for all files of a package (PEP 503): their names and SHA-256."""
    request = urllib.request.Request(f"{index.rstrip('/')}/{name}/", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request) as answer:
        page = answer.read().decode()
    return re.findall(r'href="[^"]*?([^"/]+)#sha256=([0-9a-f]{64})"', page)


def version_of(filename: str, name: str) -> str:
    """Read the version from the name of a wheel or of a source archive."""
    if filename.endswith(".whl"):
        return filename.split("-")[1]
    return re.sub(r"\.(tar\.gz|zip)$", "", filename)[len(name) + 1 :]


def normal(name: str) -> str:
    """Spell a package's name as the index does (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
