"""What is run follows from names: tables, figures, rows and cells, together in one queue."""

import pytest

from pencil.errors import PencilError
from pencil.reproduce.choice import choose
from pencil.reproduce.trial import Wanted


def _names(*asked: str, cells: tuple[str, ...] = (), systems: tuple[str, ...] = ()) -> list[str]:
    return [trial.name for trial in choose(asked, cells=cells, systems=systems, trials=1, wanted=Wanted())]


def test_a_row_or_a_cell_is_named_as_its_trials_are() -> None:
    assert _names("table3/pencil/symmetric-50") == ["table3/pencil/symmetric-50-seed-0"]
    rates = (10, 30, 50, 70, 90)
    assert _names("table3/pencil") == [f"table3/pencil/symmetric-{rate}-seed-0" for rate in rates]


def test_what_is_named_twice_is_run_once_in_the_order_asked_for() -> None:
    found = _names("figure3", "table3/pencil/symmetric-90", "figure2", "table3/pencil/symmetric-70")
    assert found == [
        "table4/pencil/asymmetric-30-seed-0",
        "table3/pencil/symmetric-90-seed-0",
        "table3/pencil/symmetric-70-seed-0",
    ]


def test_options_choose_where_the_name_leaves_it_open() -> None:
    assert _names("ablation", "table3", cells=("symmetric-50",), systems=("pencil",)) == [
        "ablation/pencil/symmetric-50-seed-0",
        "table3/pencil/symmetric-50-seed-0",
    ]
    assert _names("table3/pencil", cells=("symmetric-50",)) == ["table3/pencil/symmetric-50-seed-0"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("table7/pencil", 'no table or figure "table7"'),
        ("figure2/pencil", 'no table or figure "figure2"'),
        ("figure2/pencil", "give figure2 alone"),
        ("table3/", "names no runs"),
        ("table3/pencil/symmetric-50/0", "names no runs"),
        ("table3/pencil/symmetric-55", 'no cell "symmetric-55"'),
    ],
)
def test_other_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(PencilError, match=message):
        _names(name)


def test_a_row_is_chosen_in_one_place() -> None:
    with pytest.raises(PencilError, match="--methods both choose"):
        _names("table3/pencil", systems=("cross_entropy",))
    with pytest.raises(PencilError, match="--cells both choose"):
        _names("table3/pencil/symmetric-50", cells=("symmetric-70",))
    with pytest.raises(PencilError, match='"figure2" and --methods both choose; figure2 is drawn from pencil'):
        _names("figure2", systems=("lq",))
    with pytest.raises(PencilError, match='"figure2" and --cells both choose; figure2 is drawn from symmetric-70'):
        _names("figure2", cells=("symmetric-10",))
