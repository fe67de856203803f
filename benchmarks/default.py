"""Writes the README's table of the default beside the paper, from the records of `pencil reproduce`.

python benchmarks/default.py
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from generated import Generated

from pencil.reproduce.compare import compare
from pencil.reproduce.record import Record, read_records
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.study import Cell, Study

ROOT = Path(__file__).parents[1]
PART = Generated("default", "reference/default* by benchmarks/default.py")
SHOWN = {"default": "CIFAR-10", "default-preact18": "CIFAR-10, PreAct ResNet-18", "default-cifar100": "CIFAR-100"}
HEADS = (
    "| data and wrong labels | the paper, tuned to each | default, told nothing | correct labels, given → corrected |"
)
NOTE = (
    "Test accuracy in percent after the last epoch, {runs} a cell, on {device}; PreAct ResNet-32, and ResNet-34 for "
    "CIFAR-100, where not said otherwise. Beside correcting labels in its own way the default learns distorted "
    "images and averages weights, which the paper does not. Symmetric noise draws from all classes, the true one "
    "included; 45,000 training and 5,000 held-out images, both with noisy labels. Human labels are CIFAR-10N. The "
    "paper's numbers are means of five trials; that of PreAct ResNet-18 is others' re-run of PENCIL, that without "
    "noise is cross entropy. CIFAR-100's images were read class by class. Everything else is in "
    "[docs/results.md](docs/results.md)."
)


def table(reference: Path) -> str:
    """Return one line a cell that was run, and a line on how it was measured."""
    lines, counts, devices = [HEADS, "|---|---|---|---|"], set(), set()
    for name, title in SHOWN.items():
        records = [record for record in read_records(reference, name) if record["system"] == "pencil"]
        for cell in STUDIES[name].cells:
            mine = [record for record in records if record["cell"] == cell.name]
            if mine:
                lines.append(_line(STUDIES[name], title, cell, mine))
                counts.add(len(mine))
                devices |= {str(record["environment"]["device"]) for record in mine}
    runs = "one run" if counts == {1} else f"the mean of {' or '.join(map(str, sorted(counts)))} runs"
    return "\n".join(lines) + f"\n\n{NOTE.format(runs=runs, device=' or '.join(sorted(devices)))}\n"


def _line(study: Study, title: str, cell: Cell, records: Sequence[Record]) -> str:
    lines = compare(study, records)
    found = {line.system.name: entry for line in lines for entry in line.of("last") if entry.cell == cell}
    # The paper has no PENCIL without noise, but cross entropy.
    printed = found["pencil"].printed or (found["cross_entropy"].printed if not (cell.noise or cell.human) else None)
    paper = "–" if printed is None else printed.text.partition("±")[0]
    given, corrected = (mean(r["label_accuracy"][when] for r in records) for when in ("given", "corrected"))
    return f"| {title}, {cell.title} | {paper} | **{found['pencil'].mean:.2f}** | {given:.1f}% → {corrected:.1f}% |"


def main() -> None:
    """Write the README."""
    readme = ROOT / "README.md"
    page = readme.read_text(encoding="utf-8")
    readme.write_text(PART.put(page, table(ROOT / "reference")), encoding="utf-8")


if __name__ == "__main__":
    main()
