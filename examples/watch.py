"""Each epoch's figures in TensorBoard and in a CSV file, while a run trains: python examples/watch.py"""

import csv
import tempfile
from pathlib import Path

import pencil
from pencil.integrations.watch import watching

with tempfile.TemporaryDirectory() as place:
    run = Path(place) / "run"
    # In the shell: pencil train digits --out run --watch tensorboard,csv
    with watching(["tensorboard", "csv"], run) as progress:
        pencil.fit(
            "digits", noise="symmetric:0.4", backbone="mlp", epochs=(3, 3, 2), device="cpu", out=run, progress=progress
        )

    # While it trains: tensorboard --logdir run/watch/tensorboard
    events = list((run / "watch" / "tensorboard").glob("events*"))
    with (run / "watch" / "csv" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    print(f"{len(events)} file for TensorBoard; held-out accuracy after {len(rows)} epochs: ", end="")
    print(f"{float(rows[-1]['held_out_accuracy']):.1f}%")
