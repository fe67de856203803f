"""Prints the lowest versions that pyproject.toml allows, as pins: `make lowest` tests with them."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text())["project"]
for wanted in project["dependencies"]:
    print(re.sub(r">=", "==", wanted.partition(",")[0]))
