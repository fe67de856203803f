"""A table as CSV comes back as it was, whatever is in its cells."""

import csv
import io

import pyarrow.csv as pc
import pytest

from pencil.results.columns_file import csv_text

ODD = ["a\rb", "a\r\nb", "a\nb", '"', "a,b", "", "=1+1", "\r", "é"]


@pytest.mark.parametrize("name", ["id", "i\rd"])
def test_names_of_any_signs_come_back(name: str) -> None:
    text = csv_text({name: ODD, "number": list(range(len(ODD)))})
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows == [[name, "number"], *([cell, str(number)] for number, cell in enumerate(ODD))]
    options = pc.ParseOptions(newlines_in_values=True)
    assert pc.read_csv(io.BytesIO(text.encode()), parse_options=options)[name].to_pylist() == ODD


def test_only_what_must_be_is_quoted() -> None:
    assert csv_text({"id": ["a", "b"], "share": [0.5, None]}) == "id,share\na,0.5\nb,\n"
