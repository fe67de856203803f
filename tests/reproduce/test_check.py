"""What no trial can be run with is said in one line, before anything is queued or written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pencil.reproduce.studies import STUDIES
from pencil.reproduce.trial import Wanted, plan_trials

Command = Callable[..., tuple[int, str, str]]
ASKED = ("reproduce", "table3", "--dataset", "digits", "--methods", "pencil", "--cells", "symmetric-50", "--out", "out")


@pytest.mark.parametrize("dry", [("--dry-run",), ()])
@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("--set foo=1", 'pencil cannot be run so: there is no setting "options.foo"'),
        ("--set optimizer.batch_size=abc", 'optimizer.batch_size is "abc"; give a value of type int'),
        ("--set optimizer.batchsize=1", 'Did you mean "batch_size"'),
        ("--set hardware=3", "hardware is a group of settings"),
        ("--set phases.labels.epochs=abc", 'phases.labels.epochs is "abc"'),
        ("--set phases.label.lr=0.1", 'this method has no phase "label". Did you mean "labels"'),
        ("--set options.compatibility=none", "options.compatibility"),
        ("--set teaching.mixup=1 --set teaching.average_epochs=0", "teaching.mixup needs averaged weights"),
        ("--backbone nope", 'there is no backbone "nope"'),
        ("--backbone nofile.py:x", "nofile.py does not exist; give the backbone as path/to/file.py:name"),
        ("--backbone mlp --set backbone_options.foo=1", 'the backbone mlp has no option "foo"'),
        ("--backbone timm:no_such_network", "timm"),
        ("--set seed=3 --trials 2", "seed is not to be set: it says which trial a run is; choose by --trials."),
        ("--set data.noise=symmetric:0.9", "data.noise is not to be set: it says which trial a run is"),
        ("--set data.source=cifar10", "choose by --dataset."),
        ("--set method=lq", "choose by --methods."),
    ],
)  # fmt: skip
def test_it_is_refused_and_nothing_is_written(
    given: str, line: str, dry: tuple[str, ...], pencil: Command, place: Path
) -> None:
    code, out, err = pencil(*ASKED, *given.split(), *dry)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert line in err
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("given", ["backbone_options.foo=1", "hardware.device=gpu"])
def test_what_only_data_or_the_machine_can_tell_is_refused_before_the_queue(
    given: str, pencil: Command, place: Path
) -> None:
    code, out, err = pencil(*ASKED, "--set", given)
    assert (code, out) == (2, ""), err
    assert not (place / "out").exists()


def test_an_option_that_some_methods_have_is_laid_over_those_alone(pencil: Command, place: Path) -> None:
    asked = ("reproduce", "table3", "--dataset", "digits", "--cells", "symmetric-50", "--out", "out")
    code, _, err = pencil(*asked, "--methods", "cross_entropy,pencil", "--set", "anchor=0.5", "--dry-run")
    assert code == 0, err
    wanted = Wanted(dataset="digits", settings={"options": {"anchor": 0.5}})
    trials = plan_trials(STUDIES["table3"], cells=["symmetric-50"], trials=1, wanted=wanted)
    assert {trial.system.name: trial.settings.options.get("anchor") for trial in trials} == {
        trial.system.name: 0.5 if trial.system.method == "pencil" else None for trial in trials
    }
    code, _, err = pencil(*asked, "--methods", "cross_entropy", "--set", "anchor=0.5", "--dry-run")
    assert code == 2 and 'cross_entropy cannot be run so: there is no setting "options.anchor"' in err


@pytest.mark.parametrize("dry", [("--dry-run",), ()])
def test_a_cell_that_a_method_refuses_is_named_before_anything_is_run(
    dry: tuple[str, ...], pencil: Command, place: Path
) -> None:
    asked = ("reproduce", "table4", "--dataset", "digits", "--methods", "cross_entropy,backward", "--out", "out")
    code, out, err = pencil(*asked, "--cells", "asymmetric-10,asymmetric-50", "--trials", 2, "--epochs", 1, *dry)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert "pencil: table4/backward/asymmetric-50 cannot be run: the transition matrix cannot be inverted" in err
    assert "take forward instead." in err
    assert list(place.iterdir()) == []
    assert pencil(*asked, "--cells", "asymmetric-10,asymmetric-40", "--dry-run")[0] == 0


def test_all_cells_that_methods_refuse_are_named_at_once(pencil: Command) -> None:
    cells = ("--cells", "symmetric-50,aggre,random1", "--methods", "forward,cnn_crf", "--dry-run")
    code, _, err = pencil("reproduce", "default", *cells)
    assert code == 2
    assert (
        "default/forward/aggre, default/forward/random1 cannot be run: this method must be told the transition" in err
    )
    assert "default/cnn_crf/aggre, default/cnn_crf/random1 cannot be run: cnn_crf needs a clean subset" in err
    assert "symmetric-50" not in err


def test_a_clean_subset_is_the_settings_or_the_sources_own(pencil: Command) -> None:
    asked = ("reproduce", "table3/cnn_crf/symmetric-50", "--dataset", "digits", "--dry-run")
    assert pencil(*asked)[0] == 0
    code, _, err = pencil(*asked, "--set", "data.trusted=0")
    assert code == 2 and "table3/cnn_crf/symmetric-50 cannot be run: cnn_crf needs a clean subset" in err
    its_own = ("--set", "data.trusted=0", "--set", "data.options.clean_train=true")
    assert pencil("reproduce", "table6/cnn_crf", "--dry-run", *its_own)[0] == 0


def test_what_fails_in_a_users_own_method_is_one_line(pencil: Command, place: Path) -> None:
    (place / "mine.py").write_text(
        "from pencil.methods.cross_entropy import CrossEntropy\n\n"
        "class Mine(CrossEntropy):\n    def inform(self, known):\n        raise ValueError('not so')\n"
    )
    asked = ("reproduce", "table3", "--dataset", "digits", "--cells", "symmetric-50", "--methods", "mine.py:Mine")
    code, _, err = pencil(*asked, "--dry-run")
    assert code == 2 and "Mine cannot be run so: mine.py, line 5: ValueError: not so" in err
