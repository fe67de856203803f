"""A run that starts from another takes over its network, its labels and people's decisions, and leaves it alone."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import pencil
from pencil.config import read_toml
from pencil.engine import guard, harm
from pencil.errors import PencilError
from pencil.quality.decide import Thresholds
from pencil.quality.thresholds import decide_again
from pencil.report.headline import lead
from pencil.report.material import gather
from pencil.results.arrays import read_arrays
from pencil.results.decisions import Decisions, reviewed
from pencil.results.folder import RunFolder
from pencil.review.index import Index
from pencil.run.planning.inherit import open_parent, plan_from
from pencil.run.train import Interrupted
from pencil.run.training.session import Silent

EPOCHS = (5, 4, 1)
OTHER_BACKBONE = {"settings": {"backbone_options": {"hidden": 8, "depth": 1}}}


class Stopping(Silent):
    """Asks to stop after so many steps, as Ctrl-C does; keeps the notes."""

    def __init__(self, after: int = -1) -> None:
        self.after, self.notes = after, []

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.after -= 1
        if self.after == 0:
            import os
            import signal

            os.kill(os.getpid(), signal.SIGINT)

    def note(self, line: str) -> None:
        self.notes.append(line)


def hashes(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def data() -> tuple[Any, Any]:
    digits = load_digits()
    y = digits.target.copy()
    wrong = np.random.default_rng(0).choice(len(y), 500, replace=False)
    y[wrong] = (y[wrong] + 1 + np.arange(500) % 9) % 10
    return digits.data.astype(np.float32)[:1200], y[:1200]


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A finished run of which three training labels and a held-out one were reviewed."""
    settings = {
        "backbone": "mlp",
        "backbone_options": {"hidden": 32, "depth": 1},
        "optimizer": {"batch_size": 64},
        "hardware": {"device": "cpu", "threads": 1},
        "options": {"label_step": "2.5 -> 0"},
    }
    out = tmp_path_factory.mktemp("runs") / "parent"
    result = pencil.fit(data(), out=out, settings=settings, epochs=EPOCHS, seed=3)
    rows = result.labels.to_pylist()
    train = [row for row in rows if row["split"] == "train"]
    apart = next(row for row in rows if row["split"] == "held-out")
    # One kept against the network, one given a class nobody proposed, one as the run believes it.
    contested = next(row for row in train if row["corrected"] != row["given"])
    odd = next(row for row in train if row["id"] != contested["id"])
    agreed = next(row for row in train if row["corrected"] != row["given"] and row["id"] != contested["id"])
    chosen = {
        contested["id"]: contested["given"],
        odd["id"]: (odd["corrected"] + 3) % 10,
        agreed["id"]: agreed["corrected"],
        apart["id"]: (apart["given"] + 1) % 10,
    }
    with Decisions(out / "decisions.sqlite") as store:
        for name, label in chosen.items():
            store.decide(name, label, reviewer="me", key=name)
    return result, chosen


def by_id(result: Any) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in result.labels.to_pylist()}


def test_reviewed_labels_are_locked_and_the_others_go_on(parent: Any, tmp_path: Path) -> None:
    old, chosen = parent
    before, progress = hashes(old.folder), Stopping()
    new = pencil.fit(data(), out=tmp_path / "new", start_from=old.folder, progress=progress)
    assert hashes(old.folder) == before
    rows, was = by_id(new), by_id(old)
    assert {rows[name]["split"] for name in chosen} == {"train", "held-out"}
    for name, label in chosen.items():
        assert rows[name]["corrected"] == label and rows[name]["num_changes"] == 0
        assert rows[name]["given"] == was[name]["given"], "what was given stays on record"
        assert rows[name]["decision"] == ("keep" if label == rows[name]["given"] else "relabel")
        assert rows[name]["confidence"] > 0.99 and rows[name]["trusted"]
    assert sum(row["trusted"] for row in rows.values()) == len(chosen)
    doubted = [name for name, row in rows.items() if row["decision"] != "keep" and name not in chosen]
    material = gather(new.run)
    assert new.summary["num_suspect"] == material.suspect.sum() == len(doubted), "nobody need look at them again"
    assert f"Of {len(doubted):,} suspects" in lead(material)
    assert Index(new.labels, 10, new.folder).suspects.sum() == len(doubted)
    assert not any(name in new._repr_html_() for name in chosen)
    stricter = decide_again(new.labels, Thresholds(keep_quality=1.0, relabel_confidence=1.0))
    for row, decision in zip(new.labels.to_pylist(), stricter, strict=True):
        assert not row["trusted"] or decision == row["decision"], "no threshold moves what a person chose"
    assert {row["id"]: row["split"] for row in rows.values()} == {row["id"]: row["split"] for row in was.values()}
    trained = np.array([row["split"] == "train" and row["id"] not in chosen for row in was.values()])
    moved = np.abs(new.label_distributions - old.label_distributions).max(1)[trained]
    assert (moved > 0.01).sum() > 50, "labels in doubt go on moving"
    assert reviewed(RunFolder.open(new.folder)) == chosen, "they stand in the new run, for the next one too"
    status = json.loads((new.folder / "status.json").read_text())
    assert (status["parent"], status["state"]) == (str(old.folder.resolve()), "finished")
    assert any("4 reviewed and locked" in note for note in progress.notes)


def test_it_starts_with_the_parents_settings_weights_and_labels(parent: Any, tmp_path: Path) -> None:
    old, chosen = parent
    out = tmp_path / "new"
    with pytest.raises(Interrupted):
        pencil.fit(data(), out=out, start_from=old.folder, progress=Stopping(1), settings={"phases": {"labels": {"lr": 0}}, "options": {"label_step": 0}})  # fmt: skip  # noqa: E501
    settings, saved = read_toml(out / "config.toml"), read_toml(old.folder / "config.toml")
    assert settings["phases"]["backbone"]["epochs"] == 0
    assert settings["phases"]["labels"]["epochs"] == saved["phases"]["labels"]["epochs"] == 4
    assert settings["backbone_options"] == saved["backbone_options"] and settings["seed"] == 3
    state = read_arrays(next((out / "checkpoint").glob("00000002-*.safetensors")))
    for name, value in read_arrays(old.folder / "model.safetensors").items():
        np.testing.assert_allclose(state[f"model.{name}"], value, atol=1e-6, err_msg=name)
    train = [row for row in old.labels.to_pylist() if row["split"] == "train"]
    logits, free = state["table.label_logits"], [n for n, row in enumerate(train) if row["id"] not in chosen]
    y = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(y[free], old.label_distributions[[train[n]["index"] for n in free]], atol=1e-6)


def test_schedules_that_are_given_for_its_lengths_do_not_stretch_and_the_parents_do(parent: Any) -> None:
    old, _ = parent
    run = open_parent(old.folder)
    mine = {"phases": {"labels": {"lr": "0.1, 0.01@5"}}, "options": {"label_step": "2, 1@6"}}
    planned = plan_from(run, data(), mine, epochs=[0, 8, 2])
    assert str(planned.phases[1].lr) == "0.1, 0.01@5", "the parent's four epochs of this phase say nothing of it"
    assert planned.settings.options["label_step"] == "2, 1@6"
    mine["phases"]["labels"]["epochs"] = 4
    planned = plan_from(run, data(), mine, epochs=[0, 8, 2])
    assert str(planned.phases[1].lr) == "0.1, 0.01@10", "given for four epochs, as without a parent"


def test_injected_noise_is_the_parents_whatever_the_seed(tmp_path: Path) -> None:
    x, y = (array[:300] for array in data())
    how: Any = {"settings": {"hardware": {"device": "cpu", "threads": 1}, "backbone": "mlp"}, "epochs": (1, 1, 1)}
    old = pencil.fit(x, y, out=tmp_path / "old", noise="symmetric:0.4", seed=3, **how)
    given = {name: row["given"] for name, row in by_id(old).items()}

    def differing(name: str, **more: Any) -> int:
        new = pencil.fit(x, y, out=tmp_path / name, start_from=old.folder, epochs=(0, 1, 0), **more)
        return sum(row["given"] != given[key] for key, row in by_id(new).items())

    assert differing("same") == differing("seed", seed=4) == 0
    assert differing("noise_seed", settings={"data": {"noise_seed": 4}}) > 50
    assert differing("noise", seed=4, noise="symmetric:0.2") > 50


def test_labels_that_do_harm_at_once_go_back_to_those_taken_over(
    parent: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, chosen = parent
    monkeypatch.setattr(guard.Guard, "judge", lambda *_: "harm")
    monkeypatch.setattr(harm, "STANDING", 0.0)  # So that it never gives in.
    still = {"phases": {"tuning": {"lr": 0}}, "teaching": {"guard": True}}
    new = pencil.fit(data(), out=tmp_path / "new", start_from=old.folder, settings=still)
    assert all("went_back" in record for record in new.history if record["phase"] == "labels")
    rows, was = by_id(new), by_id(old)
    assert all(rows[name]["corrected"] == label and rows[name]["trusted"] for name, label in chosen.items())
    free = [name for name, row in rows.items() if row["split"] == "train" and name not in chosen]
    assert np.mean([rows[name]["corrected"] == was[name]["corrected"] for name in free]) > 0.95
    assert new.history[-1]["held_out_accuracy"] > old.history[-1]["held_out_accuracy"] - 10


def test_stopped_and_resumed_it_ends_the_same_to_the_bit(parent: Any, tmp_path: Path) -> None:
    old, _ = parent
    whole = pencil.fit(data(), out=tmp_path / "whole", start_from=old.folder)
    with pytest.raises(Interrupted):
        pencil.fit(data(), out=tmp_path / "broken", start_from=old.folder, progress=Stopping(30))
    pencil.fit(data(), out=tmp_path / "broken", resume=True)
    for name in ("model.safetensors", "label_distributions.safetensors", "labels.parquet", "config.toml"):
        assert (tmp_path / "broken" / name).read_bytes() == (whole.folder / name).read_bytes(), name


@pytest.mark.parametrize("table", ["mapped", "top"])
def test_every_kind_of_table_takes_the_labels_over(parent: Any, tmp_path: Path, table: str) -> None:
    old, chosen = parent
    settings = {"hardware": {"table": table}}
    whole = pencil.fit(data(), out=tmp_path / "whole", start_from=old.folder, settings=settings)
    rows = by_id(whole)
    assert all(rows[k]["corrected"] == v for k, v in chosen.items() if rows[k]["split"] == "train")
    with pytest.raises(Interrupted):
        pencil.fit(data(), out=tmp_path / "new", start_from=old.folder, settings=settings, progress=Stopping(30))
    again = pencil.fit(data(), out=tmp_path / "new", resume=True)
    assert np.array_equal(again.label_distributions, whole.label_distributions)


def test_data_may_be_reordered_extended_and_cut(parent: Any, tmp_path: Path) -> None:
    old, chosen = parent
    x, y = data()
    more = load_digits()
    order = np.random.default_rng(1).permutation(1300)[100:]
    x = np.concatenate([x, more.data[1200:1300].astype(np.float32)])[order]
    y = np.concatenate([y, more.target[1200:1300]])[order]
    progress = Stopping()
    new = pencil.fit((x, y), out=tmp_path / "new", start_from=old.folder, progress=progress, epochs=(0, 1, 0))
    rows = by_id(new)
    assert all(rows[k]["corrected"] == v for k, v in chosen.items() if k in rows and rows[k]["split"] == "train")
    assert reviewed(RunFolder.open(new.folder)) == {k: v for k, v in chosen.items() if k in rows}
    assert any("new examples start from their given label" in note for note in progress.notes)


def test_a_run_from_a_run_from_a_run_keeps_the_locks(parent: Any, tmp_path: Path) -> None:
    old, chosen = parent
    middle = pencil.fit(data(), out=tmp_path / "middle", start_from=old.folder, epochs=(0, 1, 0))
    last = by_id(pencil.fit(data(), out=tmp_path / "last", start_from=middle.folder, epochs=(0, 1, 0)))
    assert all(last[k]["corrected"] == v for k, v in chosen.items() if last[k]["split"] == "train")


@pytest.mark.parametrize("method", ["joint_optimization", "cross_entropy", "truncated_lq"])
def test_another_method_can_start_from_it(parent: Any, tmp_path: Path, method: str) -> None:
    old, chosen = parent
    phases = {"backbone": 0, "labels": 1, "final": 1, "training": 1, "all": 1, "kept": 1}
    names = {"joint_optimization": ("labels", "final"), "cross_entropy": ("training",), "truncated_lq": ("all", "kept")}
    settings = {"phases": {name: {"epochs": phases[name]} for name in names[method]}}
    new = pencil.fit(data(), out=tmp_path / "new", start_from=old.folder, method=method, settings=settings)
    assert {record["phase"] for record in new.history} == set(names[method])
    rows = by_id(new)
    assert all(rows[k]["corrected"] == v for k, v in chosen.items() if rows[k]["split"] == "train")


def test_what_does_not_fit_is_refused_and_nothing_written(parent: Any, tmp_path: Path) -> None:
    old, _ = parent
    x, y = data()
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (None, {}, "given in Python; give it again"),
        ((x, np.where(y == 9, 0, y)), {}, "has other classes"),
        ((x + 0.5, y), {}, "no example of this data was in the run"),
        ((x, y), OTHER_BACKBONE, "do not fit the network mlp"),
        ((x, y), {"resume": True}, "give one of them"),
    ]
    for source, more, message in cases:
        with pytest.raises(PencilError, match=message):
            pencil.fit(source, out=tmp_path / "new", start_from=old.folder, **more)
        assert not (tmp_path / "new").exists()


def test_columns_in_another_order_are_refused_as_such(tmp_path: Path, quick: dict[str, Any]) -> None:
    rows = [(place % 2 + place / 100, place % 3, "ab"[place % 2]) for place in range(40)]
    for name, order in (("one", (0, 1, 2)), ("other", (1, 0, 2))):
        lines = [("x", "z", "label"), *rows]
        text = "\n".join(",".join(str(line[place]) for place in order) for line in lines)
        (tmp_path / f"{name}.csv").write_text(text)
    pencil.fit(tmp_path / "one.csv", out=tmp_path / "run", settings=quick, epochs=(1, 1, 0))
    with pytest.raises(PencilError, match=r"in another order \(x, z\); give them in that order"):
        pencil.fit(tmp_path / "other.csv", out=tmp_path / "next", start_from=tmp_path / "run")
    assert not (tmp_path / "next").exists()


def test_an_unfinished_parent_is_refused(parent: Any, tmp_path: Path) -> None:
    old, _ = parent
    with pytest.raises(Interrupted):
        pencil.fit(data(), out=tmp_path / "half", start_from=old.folder, progress=Stopping(2))
    with pytest.raises(PencilError, match="not finished; go on with it first"):
        pencil.fit(data(), out=tmp_path / "new", start_from=tmp_path / "half")


def test_killed_before_its_first_checkpoint_it_does_not_go_on_from_nothing(parent: Any, tmp_path: Path) -> None:
    old, _ = parent
    with pytest.raises(Interrupted):
        pencil.fit(data(), out=tmp_path / "half", start_from=old.folder, progress=Stopping(2))
    for file in (tmp_path / "half" / "checkpoint").iterdir():
        file.unlink()
    with pytest.raises(PencilError, match="remove the folder and start again"):
        pencil.fit(data(), out=tmp_path / "half", resume=True)
