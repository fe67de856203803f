"""Finding wrong labels: one PENCIL run against cleanlab on 5-fold cross-validated predictions of the same network.

    python benchmarks/label_errors.py digits-symmetric-40 digits-asymmetric-30
    python benchmarks/label_errors.py cifar10-symmetric-40 --root DATA --recipes fast fast:10,16,4
    python benchmarks/label_errors.py cifar10-human-aggre --root DATA --human-labels CIFAR-10_human.pt
    python benchmarks/label_errors_page.py                        write docs/label_errors.md from the records

Each cell writes its own record, so that several processes can work on different cells at once; say how many by
`--at-once`. Every finished training is kept under `--work`: a cell that was stopped goes on where it was, and one that
is run again with other `--epochs` trains only those lengths and takes all that are there into account. One that is run
again with other `--recipes` trains those that are missing, and its record shows those asked for now.

On a GPU each system is first trained for an epoch of each phase, which is not counted: it compiles the steps.

cleanlab (`pip install cleanlab`, or on PYTHONPATH) may choose between trainings of several lengths. Each is a training
of its own whose learning rate falls to zero over exactly that length: a snapshot half-way through a longer one would
be a network that has not been cooled, and worse. The length with the best F1, judged by the true labels that it would
not have in real life, is shown, and only that one's time is counted.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from label_errors_systems import (
    FOLDS,
    Recipe,
    cleanlab_figures,
    on_gpu,
    one_run,
    percent,
    predict_fold,
    truth,
    write_json,
)

from pencil.config import DataSettings
from pencil.data import load
from pencil.results.environment import environment

ROOT = Path(__file__).parents[1]
RECIPES = ("auto", "fast")
"""PENCIL's."""


@dataclass(frozen=True)
class Cell:
    """Data with wrong labels, and the lengths cleanlab's network may choose from."""

    source: str
    noise: str = ""
    human: str = ""
    """Key of the labels that people gave, in the file of CIFAR-10N."""
    backbone_options: dict[str, Any] = field(default_factory=dict)
    epochs: tuple[int, ...] = (8, 16, 32)
    """56 epochs of 5 × 40,000 images: under 4 minutes of training at 50,000 images a second. PENCIL's 80 epochs of
    50,000 are under 2, so that a cell stays below 8 minutes with the time that 16 trainings take to start."""


_DIGITS: dict[str, Any] = {"source": "digits", "backbone_options": {"width": 16}, "epochs": (10, 20, 40, 80)}
CELLS = {
    "digits-symmetric-40": Cell(noise="symmetric:0.4", **_DIGITS),
    "digits-asymmetric-30": Cell(noise="asymmetric_next:0.3", **_DIGITS),
    "cifar10-symmetric-40": Cell("cifar10", noise="symmetric:0.4"),
    "cifar10-asymmetric-30": Cell("cifar10", noise="asymmetric_cifar10:0.3"),
    "cifar10-human-aggre": Cell("cifar10", human="aggre_label"),
    "cifar10-human-random1": Cell("cifar10", human="random_label1"),
}


def main(arguments: Sequence[str]) -> None:
    """Run all systems on each cell and write a record of each."""
    asked = _arguments(arguments)
    try:
        import cleanlab.filter
    except ImportError as error:
        sys.exit(f"cleanlab cannot be imported ({error}); pip install cleanlab, or put it on PYTHONPATH.")
    for name in asked.cells:
        record = compare(name, CELLS[name], asked) | {"command": _command(name, asked)}
        record["environment"] |= {"cleanlab": cleanlab.__version__}
        show(record)
        path = asked.records / f"{name}-seed-{asked.seed}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, record)


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="+", choices=CELLS, metavar="CELL", help=", ".join(CELLS))
    parser.add_argument("--root", default="", help="folder of CIFAR-10")
    parser.add_argument("--human-labels", default="", help="file of CIFAR-10N's labels (.pt or .npz)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, nargs="+", help="lengths cleanlab may choose from")
    parser.add_argument(
        "--recipes", nargs="+", type=_recipe, default=[Recipe(name) for name in RECIPES], metavar="RECIPE",
        help="PENCIL's, each a system of its own: auto, fast (default both), or with the epochs of its phases:"
        " fast:10,16,4",
    )  # fmt: skip
    parser.add_argument(
        "--held-out", type=float, default=0.1, help="share PENCIL does not train on; scored all the same"
    )
    parser.add_argument("--backbone", default="", help="network of both; default the data's")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--at-once", type=int, default=1, help="processes that share the device, for the record")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "label_errors", help="finished trainings")
    parser.add_argument("--records", type=Path, default=ROOT / "reference" / "label_errors")
    return parser.parse_args(arguments)


def _recipe(text: str) -> Recipe:
    found = re.fullmatch(rf"({'|'.join(RECIPES)})(?::([1-9]\d*),([1-9]\d*),([1-9]\d*))?", text, re.ASCII)
    if found is None:
        names = " or ".join(RECIPES)
        raise argparse.ArgumentTypeError(
            f"no recipe is {text!r}; give {names}, or one with three lengths: fast:10,16,4"
        )
    name, *lengths = found.groups()
    return Recipe(name, tuple(int(length) for length in lengths if length))


def _command(name: str, asked: argparse.Namespace) -> str:
    """Return the command that repeats a cell, without places of this machine."""
    given = {"--seed": str(asked.seed), "--held-out": str(asked.held_out)}
    given |= {"--recipes": " ".join(map(str, asked.recipes))}
    given |= {"--root": "DATA" * bool(asked.root), "--human-labels": "FILE" * bool(CELLS[name].human)}
    given |= {"--backbone": Path(asked.backbone).name, "--epochs": " ".join(map(str, asked.epochs or ()))}
    words = [f"{option} {value}" for option, value in given.items() if value]
    return " ".join(["python benchmarks/label_errors.py", name, *words])


def compare(name: str, cell: Cell, asked: argparse.Namespace) -> dict[str, Any]:
    """Train what is not there yet, and return the record of a cell."""
    if cell.human and not asked.human_labels:
        sys.exit(f"{name} needs the labels that people gave: --human-labels FILE")
    labels = f"{asked.human_labels}:{cell.human}" if cell.human else ""
    # Every example is scored by both systems, so none is held out here; nor does either look at a test set.
    root = asked.root if cell.source == "cifar10" else ""
    settings = DataSettings(source=cell.source, root=root, noise=cell.noise, labels=labels, held_out=0.0)
    dataset = replace(load(settings, seed=asked.seed), test=None)
    shared = {
        "backbone": asked.backbone,
        "backbone_options": {} if asked.backbone else cell.backbone_options,
        "hardware": {"device": asked.device},
    }
    work = opened(asked.work / f"{name}-seed-{asked.seed}", cell, shared, asked)
    ours = {recipe.title: one_run(dataset, recipe, shared, asked, work) for recipe in asked.recipes}
    for epochs in asked.epochs or cell.epochs:
        for fold in range(FOLDS):
            predict_fold(dataset, epochs, fold, shared, asked.seed, work)
    tried = sorted({int(path.name.split("-")[1]) for path in work.glob("cleanlab-*-fold-*.npz")})
    rivals = [figures for epochs in tried if (figures := cleanlab_figures(dataset, epochs, work))]
    devices = {figures.pop("device") for figures in ours.values()}
    return {
        "study": "label_errors",
        "cell": name,
        "dataset": dataset.name,
        "noise": cell.noise or cell.human,
        "seed": asked.seed,
        "num_examples": len(dataset.train),
        "given_label_accuracy": percent(dataset.train.given == truth(dataset)),
        "flagged": "suspects",
        "systems": {**ours, "cleanlab": max(rivals, key=lambda rival: rival["f1"])},
        "cleanlab_lengths": rivals,
        "cleanlab_by_epochs": {str(rival["epochs"]): rival["f1"] for rival in rivals},
        "compiled_before": on_gpu(shared),
        "processes_at_once": asked.at_once,
        "load_average": round(os.getloadavg()[0], 1),
        "environment": environment({"device": ", ".join(devices)}),
    }


def opened(work: Path, cell: Cell, shared: dict[str, Any], asked: argparse.Namespace) -> Path:
    """Return the folder of a cell's finished trainings; refuse one that other settings or other code made."""
    made = {**asdict(cell), **shared, "held_out": asked.held_out, "commit": environment().get("commit")}
    settings = json.loads(json.dumps(made))
    work.mkdir(parents=True, exist_ok=True)
    path = work / "settings.json"
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != settings:
        sys.exit(f"{work} holds trainings with other settings or of another commit; remove it, or give another --work.")
    write_json(path, settings)
    return work


def show(record: dict[str, Any]) -> None:
    """Print the systems side by side."""
    print(f"{record['cell']}: {record['given_label_accuracy']}% of the given labels are right")
    width = max(map(len, record["systems"]))
    for name, figures in record["systems"].items():
        print(f"  {name:<{width}} " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()))
    theirs = record["systems"]["cleanlab"]["seconds"]
    ours = {name: figures["seconds"] / theirs for name, figures in record["systems"].items() if name != "cleanlab"}
    print(f"  time: {'; '.join(f'{name} {share:.2f}' for name, share in ours.items())} of cleanlab's")


if __name__ == "__main__":
    main(sys.argv[1:])
