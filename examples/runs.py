"""Runs that choose their own folder, their list, and a result as a notebook shows it: python examples/runs.py"""

import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

import pencil


def command(*words):
    print("$ pencil", *words)
    subprocess.run([sys.executable, "-m", "pencil", *words], check=True)


quick = ("--noise", "symmetric:0.4", "--backbone", "mlp", "--epochs", "2,3,1", "--device", "cpu")
with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
    command("train", "digits", *quick)  # No --out: it says where the run went.
    command("runs")
    print("pictures:", *sorted(file.name for file in Path("runs/digits-1/pictures").iterdir()))

    result = pencil.fit("digits", noise="symmetric:0.4", backbone="mlp", epochs=(1, 1, 1), device="cpu")
    page = result._repr_html_()  # What a notebook shows for a cell that ends in `result`.
    print(f"a notebook shows {page.count('<table')} tables and {page.count('<svg')} drawing of the curves")
