"""Final labels as a CSV file: index, id, given, given_name, final, final_name, source, split."""

from pathlib import Path
from typing import Any

from pencil.export.labels import Labels
from pencil.results.atomic import write_atomic
from pencil.results.columns_file import csv_text

FOLDER = False


def write(labels: Labels, out: Path, wanted: Any) -> int:
    """Write a header and one line an example."""
    write_atomic(out, csv_text({name: labels.final[name] for name in labels.final.column_names}).encode())
    return len(labels.final)
