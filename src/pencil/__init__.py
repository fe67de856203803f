"""Train on partly wrong labels; get a robust network and corrected labels from one run."""

import importlib
from typing import Any

__version__ = "0.1.0"
DISTRIBUTION = "pencil-labels"
"""What is installed; an unrelated package is called pencil."""

# Loaded on first use, so that `import pencil` costs nothing and does not need torch.
_LAZY = {
    "fit": "pencil.run",
    "load": "pencil.run",
    "Result": "pencil.run",
    "PencilError": "pencil.errors",
    "losses": "pencil.losses",
    "data": "pencil.data",
    "PencilClassifier": "pencil.estimator",
    "LabelTable": "pencil.integrations.own_loop",
    "PencilCallback": "pencil.integrations.lightning",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'pencil' has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    return module if module.__name__ == f"pencil.{name}" else getattr(module, name)


__all__ = [
    "LabelTable",
    "PencilCallback",
    "PencilClassifier",
    "PencilError",
    "Result",
    "__version__",
    "data",
    "fit",
    "load",
    "losses",
]
