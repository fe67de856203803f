"""Prints the lowest versions that pyproject.toml allows, as pins: `make lowest` tests with them.

With the packages of the extras, but for `vision` (torchvision's versions go with torch's) and `docs`.
"""

import re
import tomllib
from pathlib import Path

EXTRAS = ("hf", "lightning", "onnx", "tensorboard")
TESTED_WITH = ("accelerate", "cleanlab", "onnxruntime")
"""Of the packages for development, those that tests compare with or load into."""

project = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text())["project"]
optional = project["optional-dependencies"]
wanted = [*project["dependencies"], *(package for extra in EXTRAS for package in optional[extra])]
wanted += [package for package in optional["dev"] if package.startswith(TESTED_WITH)]
for package in wanted:
    print(re.sub(r">=", "==", package.partition(",")[0]))
