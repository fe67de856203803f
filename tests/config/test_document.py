"""Settings documents: layered, checked, written and read back."""

import math
import re
import tomllib
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pencil.config import (
    Schedule,
    Settings,
    build_record,
    from_document,
    merge,
    override,
    read_toml,
    to_document,
    write_toml,
)
from pencil.errors import PencilError

NUMBERS = st.integers() | st.floats(allow_nan=False) | st.booleans()
VALUES = NUMBERS | st.text() | st.lists(st.text() | NUMBERS, max_size=3)
DOCUMENTS = st.recursive(
    st.dictionaries(st.text(), VALUES, max_size=4), lambda inner: st.dictionaries(st.text(), VALUES | inner, max_size=4)
)


@given(DOCUMENTS)
def test_any_document_reads_back_from_its_toml_text(document: dict[str, Any]) -> None:
    assert tomllib.loads(write_toml(document)) == document


def test_toml_text_of_values_that_are_not_json() -> None:
    back = tomllib.loads(write_toml({"a": math.inf, "b": -math.inf, "c": math.nan, "d": Schedule.parse("1 -> 0")}))
    assert (back["a"], back["b"], math.isnan(back["c"]), back["d"]) == (math.inf, -math.inf, True, "1 -> 0")
    dates = {"a": date(2024, 1, 2), "b": time(3, 4), "c": [datetime(2024, 1, 2, 3, 4, 5)]}
    assert tomllib.loads(write_toml(dates)) == dates


def test_nothing_is_written_for_none() -> None:
    assert tomllib.loads(write_toml({"a": None, "b": {"c": None, "d": 1}})) == {"b": {"d": 1}}


def test_tables_in_a_list_are_written_too() -> None:
    blocks = {"blocks": [{"width": 64, "a b": [1, 2]}, {}, {"width": 128}]}
    assert tomllib.loads(write_toml({"backbone_options": blocks})) == {"backbone_options": blocks}


@pytest.mark.parametrize("value", [None, b"x", {3}, object, Path("x")])
def test_what_no_file_can_hold_is_named_and_not_written(value: Any) -> None:
    with pytest.raises(PencilError, match=r"^backbone_options\.act is .*, which no file of settings can hold"):
        write_toml({"method": "pencil", "backbone_options": {"act": [value]}})
    with pytest.raises(PencilError, match="a setting is called 1; give a text"):
        write_toml({"backbone_options": {1: {"a": 2}}})


def test_later_layers_win_and_tables_merge_key_by_key() -> None:
    base = {"a": 1, "t": {"x": 1, "y": {"p": 1, "q": 1}}}
    merged = merge(base, {"t": {"y": {"q": 2}}}, {"a": 3, "t": {"z": 3}})
    assert merged == {"a": 3, "t": {"x": 1, "y": {"p": 1, "q": 2}, "z": 3}}
    assert base == {"a": 1, "t": {"x": 1, "y": {"p": 1, "q": 1}}}, "layers are left as they are"
    assert merge({"a": {"b": 1}}, {"a": 2}) == {"a": 2}
    assert merge({"a": 2}, {"a": {"b": 1}}) == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("assignment", "layer"),
    [
        ("seed=3", {"seed": 3}),
        ("optimizer.batch_size=64", {"optimizer": {"batch_size": 64}}),
        ("phases.labels.lr=0.2, 0.02@40", {"phases": {"labels": {"lr": "0.2, 0.02@40"}}}),
        ("data.augment.flip=true", {"data": {"augment": {"flip": True}}}),
        ("data.noise=symmetric:0.4", {"data": {"noise": "symmetric:0.4"}}),
        ('backbone="mlp"', {"backbone": "mlp"}),
        ("anchor=0.5", {"options": {"anchor": 0.5}}),
        ("anchor=.5", {"options": {"anchor": 0.5}}),
        ("anchor = 2.", {"options": {"anchor": 2.0}}),
        ("options.anchor=0.5", {"options": {"anchor": 0.5}}),
        ("label_lr=3000 -> 0", {"options": {"label_lr": "3000 -> 0"}}),
        ("data.options.columns=['a', 'b']", {"data": {"options": {"columns": ["a", "b"]}}}),
        ("data.root=C:\\x=y", {"data": {"root": "C:\\x=y"}}),
        ("backbone=", {"backbone": ""}),
        ("seed = 3", {"seed": 3}),
    ],
)
def test_assignments_of_the_command_line(assignment: str, layer: dict[str, Any]) -> None:
    assert override(assignment) == layer


@pytest.mark.parametrize("assignment", ["seed", "=3", "", "seed:3"])
def test_what_is_no_assignment_is_refused(assignment: str) -> None:
    with pytest.raises(PencilError, match="--set takes key=value"):
        override(assignment)


def test_a_group_that_there_is_not_is_no_option_of_the_method() -> None:
    with pytest.raises(PencilError, match=r'no setting "optimzer\.batch_size"\. Did you mean "optimizer"'):
        override("optimzer.batch_size=3")


def test_a_number_with_endless_digits_is_a_text() -> None:
    assert override(f"seed={'9' * 5000}") == {"seed": "9" * 5000}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"sede": 3}, r'there is no setting "sede"\. Did you mean "seed"'),
        ({"optimizer": {"batchsize": 3}}, r'there is no setting "optimizer\.batchsize"\. Did you mean "batch_size"'),
        ({"phases": {"a": {"epochs": 1, "lr": 1, "epoch": 1}}}, r'"phases\.a\.epoch"\. Did you mean "epochs"'),
        ({"phases": {"a": {"epochs": 1}}}, r"the setting phases\.a\.lr is missing"),
        ({"seed": "three"}, 'seed is "three"; give a value of type int'),
        ({"seed": 1.5}, 'seed is "1.5"; give a value of type int'),
        ({"seed": True}, 'seed is "True"; give a value of type int'),
        ({"optimizer": {"nesterov": 1}}, "optimizer.nesterov .* type bool"),
        ({"optimizer": {"momentum": "high"}}, "optimizer.momentum .* type float"),
        ({"data": {"noise_seed": 0.5}}, "data.noise_seed .* type int"),
        ({"optimizer": {"weight_decay": 10**400}}, "optimizer.weight_decay is inf; give a number"),
        ({"optimizer": 3}, r"optimizer is a group of settings; give optimizer\.NAME=value"),
        ({"phases": {"a": 3}}, r"phases\.a is a group of settings"),
        ({"options": 3}, r"options is a group of settings"),
        ({"phases": {"a": {"epochs": 1, "lr": "fast"}}}, 'cannot read the schedule "fast"'),
    ],
)
def test_wrong_settings_are_named(document: dict[str, Any], message: str) -> None:
    with pytest.raises(PencilError, match=message) as e:
        from_document({"method": "pencil", **document})
    assert "\n" not in str(e.value)


def test_a_missing_method_is_named() -> None:
    with pytest.raises(PencilError, match="the setting method is missing"):
        from_document({})


def test_whole_numbers_are_taken_where_fractions_are_meant() -> None:
    momentum = from_document({"method": "x", "optimizer": {"momentum": 0}}).optimizer.momentum
    assert momentum == 0 and type(momentum) is float


def test_settings_survive_the_way_through_toml() -> None:
    document = {
        "method": "pencil",
        "seed": 7,
        "data": {"source": 'a "quoted" päth\\with\nlines', "held_out": 0.1, "augment": {"flip": True}},
        "phases": {"labels": {"epochs": 3, "lr": "0.123456789, 0.0123456789@13.333333333333334"}},
        "options": {"label_lr": "3333.3333333 -> 0.1", "anchor": 1 / 3},
    }
    settings = from_document(document)
    again = from_document(tomllib.loads(write_toml(to_document(settings))))
    assert again == settings
    assert again.phases["labels"].lr.values == (0.123456789, 0.0123456789)
    assert again.data.source == document["data"]["source"]  # type: ignore[index]


def test_a_file_is_read_or_named(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    with pytest.raises(PencilError, match=r"my\.toml does not exist"):
        read_toml(path)
    path.write_text("seed = ", encoding="utf-8")
    with pytest.raises(PencilError, match=r"my\.toml is not a readable TOML file"):
        read_toml(path)
    path.write_text(f"seed = {'9' * 5000}", encoding="utf-8")
    with pytest.raises(PencilError, match=r"my\.toml is not a readable TOML file"):
        read_toml(path)
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(PencilError, match=r"my\.toml is not a readable TOML file"):
        read_toml(path)
    path.write_text("[options]\nanchor = 0.5\n", encoding="utf-8")
    assert read_toml(path) == {"options": {"anchor": 0.5}}
    path.write_bytes(b"\xef\xbb\xbfseed = 3\n")
    assert read_toml(path) == {"seed": 3}, "some editors mark a file as UTF-8"


def test_defaults_are_complete() -> None:
    settings = Settings(method="pencil")
    assert from_document(to_document(settings)) == settings


@dataclass(frozen=True, kw_only=True)
class _Options:
    rate: Schedule | None = None


def test_an_optional_schedule_may_be_none() -> None:
    assert build_record(_Options, {"rate": None}).rate is None
    assert build_record(_Options, {"rate": 3}).rate == Schedule.parse("3")


@dataclass(frozen=True, kw_only=True)
class Typed:
    """Types of settings that people give their own methods."""

    margin: Optional[float] = None  # noqa: UP045
    kind: Literal["near", "far"] = "near"
    sizes: list[int] | None = None
    more: Any = None


@pytest.mark.parametrize(
    ("name", "value"), [("margin", 1), ("margin", None), ("kind", "far"), ("sizes", [1, 2]), ("more", "x")]
)
def test_any_usual_type_is_read(name: str, value: Any) -> None:
    assert getattr(build_record(Typed, {name: value}), name) == value


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"margin": "wide"}, 'margin is "wide"; give a value of type float or NoneType'),
        ({"kind": "fare"}, 'kind cannot be "fare". Did you mean "far"?'),
        ({"sizes": 3}, 'sizes is "3"; give a value of type list or NoneType'),
    ],
)
def test_and_refused_where_it_is_another(document: dict[str, Any], message: str) -> None:
    with pytest.raises(PencilError, match=re.escape(message)):
        build_record(Typed, document)
