"""What no trial can be run with is said in one line, before anything is queued or written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pencil.reproduce.study import STUDIES
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
