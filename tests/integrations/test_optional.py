"""Training needs none of the libraries that are only integrated with."""

import subprocess
import sys
from pathlib import Path

OPTIONAL = (
    "accelerate", "cleanlab", "datasets", "lightning", "onnx", "onnxruntime", "onnxscript", "pytorch_lightning",
    "starlette", "tensorboard", "timm", "torchvision", "transformers", "wandb",
)  # fmt: skip


def test_the_command_trains_and_exports_without_any_of_them(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules |= dict.fromkeys({OPTIONAL!r}); from pencil.cli import run;"
        "train = 'train digits --out run --backbone mlp --epochs 1,0,0 --quiet --set hardware.threads=1'.split();"
        "sys.exit(run(train) or run('export run --to csv --out labels.csv'.split())"
        " or run('export run --torch-export --out network.pt2'.split()))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "labels.csv").is_file() and (tmp_path / "network.pt2").is_file()
