"""A method of one's own that does something wrong: one line says what, and where."""

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import numpy as np
import pytest

import pencil
from pencil.errors import PencilError

START = """
import torch
from pencil.losses import cross_entropy
from pencil.methods import Method
from pencil.table import Fixed, MovingAverage
from pencil.types import Phase, Terms

class Rule(MovingAverage):
    def update(self, rows, gradient, prediction, step):
        return {"label_logits": self.moved(prediction)}

class Own(Method):
    rule = Fixed()
    def phases(self, settings):
        setting = self.phase_setting(settings, "training")
        return (Phase("training", setting.epochs, setting.lr, self.rule),)
    def loss(self, batch):
        return Terms({"mine": cross_entropy(batch.logits, batch.given)})
"""


def fit(text: str, place: Path) -> Any:
    file = place / "mine.py"
    file.write_text(START + indent(text, "    "))
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=40)
    x = (rng.normal(size=(40, 3)) + y[:, None]).astype(np.float32)
    # As many examples in a batch as there are classes: a loss for each class has the shape of one for each pair then.
    settings = {"optimizer": {"batch_size": 4}, "hardware": {"device": "cpu", "threads": 1}}
    return pencil.fit(x, y, out=place / "run", method=f"{file}:Own", epochs=[1], settings=settings)


def test_the_method_as_it_should_be_runs(tmp_path: Path) -> None:
    assert len(fit("", tmp_path).history) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def loss(self, batch): return Terms({'mine': -batch.given * batch.logits.log_softmax(-1)})", r"\[4, 4\]"),
        ("def loss(self, batch): return Terms({'mine': batch.logits.sum(-1, keepdim=True)})", r"\[4, 1\] in its part"),
        ("def loss(self, batch): return Terms({'mine': batch.logits.detach().sum(-1)})", "loss has no gradient"),
        ("def loss(self, batch): return cross_entropy(batch.logits, batch.given)", "gives a Tensor; let it return"),
        ("def loss(self, batch): pass", "gives a NoneType"),
        ("def loss(self, batch): return Terms({})", "has no parts"),
        ("def loss(self, batch): return Terms({'mine': 1.0})", 'has a float as its part "mine"'),
        (
            "def loss(self, batch): return Terms({'mine': batch.logits.sum(-1)}, rows=batch.anchor)",
            "rows .* are torch.float32",
        ),
        ("def loss(self, batch): return Terms({'mine': batch.logits.sum(-1)}, scale=0)", "scale .* is 0"),
        (
            "def loss(self, batch): return Terms({'mine': batch.logits.sum(-1)}, whole_batch={'all': batch.anchor})",
            'shape \\[4\\] in its part "all" of the whole batch',
        ),
        ("def loss(self, batch): return batch.nothing", r"mine\.py, line 19: AttributeError: .*nothing"),
        ("def before_epoch(self, view, phase): 1 / 0", r"mine\.py, line 19: ZeroDivisionError"),
        ("loss = Method.loss", "the method Own defines no loss"),
    ],
)
def test_a_loss_that_is_none_ends_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=message):
        fit(text, tmp_path)


@pytest.mark.parametrize(
    ("moved", "message"),
    [
        ("lambda self, f: f.double()", r"label_logits\" as torch.float64 \[4, 4\]; it must be torch.float32"),
        ("lambda self, f: f.argmax(-1, keepdim=True).float()", r"as torch.float32 \[4, 1\]; it must be"),
        ("lambda self, f: 0", "as a int; it must be"),
    ],
)
def test_labels_that_do_not_fit_the_table_are_refused(moved: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=message):
        fit(f"Rule.moved = {moved}\nrule = Rule()", tmp_path)


def test_a_part_may_be_one_number_that_counts_for_each_example(tmp_path: Path) -> None:
    loss = """
    def loss(self, batch):
        zero = batch.logits.new_zeros(())
        return Terms({"mine": cross_entropy(batch.logits, batch.given), "two": zero + 2, "three": zero + 3})
    """
    parts = fit(dedent(loss), tmp_path).history[0]["loss_parts"]
    assert (parts["two"], parts["three"]) == (2, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("phases = Method.phases", "the method Own defines no phases"),
        ("phase_names = ('training')", r"phase_names of .*mine.py:Own must be a tuple, of one name at least"),
        ("phase_names = ()", "must be a tuple, of one name at least"),
        ("def phases(self, settings): pass", "must be a tuple of pencil.types.Phase"),
        ("def phases(self, settings): return ()", "one at least"),
        ("rule = 'fixed'", "one of pencil.table's label rules"),
        ("def phases(self, settings): return (Phase('training', 1, 0.1, self.rule),)", "a Schedule as its learning"),
        ("def phases(self, settings): return settings['nothing']", "line 19: KeyError"),
        ("def __init__(self): super().__init__({}, 4)", r"cannot be made of \(options, num_classes\): too many"),
        ("def __init__(self, options, num_classes): self.margin = 1", "leaves something out; let it call super"),
        ("class Options: margin = 1", "Options of .*mine.py:Own are no dataclass; put @dataclass"),
    ],
)
def test_wrong_phases_are_refused_before_anything_is_written(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=message):
        fit(text, tmp_path)
    assert not (tmp_path / "run").exists()


def test_a_phase_goes_by_its_own_rule_whatever_it_is_called(tmp_path: Path) -> None:
    twice = """
    Rule.moved = lambda self, f: f.log()
    def phases(self, settings):
        setting = self.phase_setting(settings, "training")
        return tuple(Phase("training", setting.epochs, setting.lr, rule) for rule in (Fixed(), Rule()))
    """
    before, after = (record["relabelled"] for record in fit(dedent(twice), tmp_path).history)
    assert before == 0 < after


@pytest.mark.parametrize("hook", ["last_word", "unlearned"])
def test_final_labels_that_are_no_distributions_can_be_mended_and_the_run_goes_on(hook: str, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=rf"{hook} gives the shape .* a share for each class"):
        fit(f"def {hook}(self, one, other): return one.argmax(-1)", tmp_path)
    (tmp_path / "mine.py").write_text(START)
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=40)
    x = (rng.normal(size=(40, 3)) + y[:, None]).astype(np.float32)
    how: dict[str, Any] = {"method": f"{tmp_path / 'mine.py'}:Own", "resume": True}
    assert len(pencil.fit(x, y, out=tmp_path / "run", **how).corrected_labels) == 40
