"""The columns of cleanlab's table of label issues, as CSV.

`CleanLearning.get_label_issues()` has is_label_issue, label_quality, given_label and predicted_label;
`Datalab.get_issues("label")` calls the quality label_score. Both names are written. Labels are class numbers.
"""

from pathlib import Path
from typing import Any

import numpy as np

from pencil.export.labels import Labels
from pencil.results.atomic import write_atomic
from pencil.results.columns_file import csv_text

FOLDER = False


def write(labels: Labels, out: Path, wanted: Any) -> int:
    """Write one line for each example that has a given label; cleanlab knows no others."""
    given, final, corrected = (labels.whole(name) for name in ("given", "final", "corrected"))
    predicted = np.where(labels.by_person, final, corrected)
    doubted = np.where(labels.by_person, final != given, np.asarray(labels.table["decision"]) != "keep")
    quality = np.asarray(labels.table["quality"].fill_null(np.nan))
    rows = np.flatnonzero(given >= 0)
    columns: dict[str, list[Any]] = {
        "id": [labels.ids[row] for row in rows],
        "is_label_issue": doubted[rows].tolist(),
        "label_quality": quality[rows].tolist(),
        "label_score": quality[rows].tolist(),
        "given_label": given[rows].tolist(),
        "predicted_label": predicted[rows].tolist(),
    }
    write_atomic(out, csv_text(columns).encode())
    return len(rows)
