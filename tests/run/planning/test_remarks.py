"""What is remarkable about data is said before training, in a line each."""

from pathlib import Path

import numpy as np
import pytest

from pencil.data import from_arrays
from pencil.run.planning.plan import plan

RANDOM = np.random.default_rng(0).random((300, 3))


def told(y: object, **arrays: object) -> tuple[str, ...]:
    labels = np.asarray(y)
    return plan(from_arrays(RANDOM[: len(labels)], labels, **arrays), {}).warnings  # type: ignore[arg-type]


def test_classes_that_differ_only_in_capitals_are_told() -> None:
    def of(*names: str) -> tuple[str, ...]:
        return told(np.resize(names, 12))

    line = 'the classes "RED" and "Red" differ only in capitals; if they are one, spell them alike.'
    assert of("Red", "RED", "blue") == (line,)
    assert "(and 1 more such)" in of("Red", "RED", "blue", "Blue")[0]
    assert of("a", "A", "b") == () == of("red", "reed"), "letters, and other words"


def test_a_label_of_which_each_example_has_its_own_looks_like_a_quantity(tmp_path: Path) -> None:
    (line,) = told(np.arange(300))
    assert line == (
        "300 of 300 classes have one example alone, so that the label looks like a quantity; if it is, take another"
        " label (of a table: --set data.options.label=NAME), or turn it into classes such as low, middle and high."
    )
    (line,) = told([f"row {n}" for n in range(300)])
    assert "looks like names of the examples; if it is, take another label (of a table: --set" in line
    table = tmp_path / "t.csv"
    table.write_text("a,price\n" + "".join(f"{n / 7},{n // 2 if n < 100 else n}\n" for n in range(300)))
    (line,) = plan(str(table), {"data": {"options": {"label": "price"}}}).warnings
    assert line.startswith("200 of 250 classes have one example alone")


@pytest.mark.parametrize("y", [np.arange(300) // 2, np.arange(20), np.resize(np.arange(150), 300)])
def test_many_classes_of_several_examples_are_classes(y: np.ndarray) -> None:
    assert told(y) == ()


def test_a_share_to_hold_out_beside_a_set_of_its_own_is_told(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(
        "a,split,label\n" + "".join(f"{n},{'val' if n % 4 else 'train'},{n // 4 % 2}\n" for n in range(40))
    )
    (line,) = plan(str(table), {"data": {"held_out": 0.0}}).warnings
    assert line.endswith("of 30 examples, and no others are: held_out (0) changes nothing.")
    assert plan(str(table), {}).warnings == ()


def test_classes_that_true_labels_alone_have_are_told() -> None:
    y = np.resize(["cat", "dog"], 12)
    truth = np.where(np.arange(12) < 3, ["kat", "dog", "bat"] * 4, y)
    line = "and each is a class all the same; where one is misspelt, mend the true labels."
    assert told(y, clean=truth) == (f'only true labels name "bat", "kat", {line}',)
    assert told(y, clean=[*"aeiou", *y[5:]])[0].startswith('only true labels name "a", "e", "i" and 2 more, and each')
    assert told(y, clean=y[::-1]) == () == told(y, clean=[None, *y[1:]]), "other true labels, and missing ones"
    votes = np.resize([[3, 0, 1], [0, 3, 1]], (12, 3))
    assert told(votes, clean=np.resize([0, 1, 2], 12)) == (), "one vote names a class"


def test_a_class_whose_labels_injected_noise_has_turned_into_others_is_none_of_these(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "t.csv", [[1, 0, 0], [0, 1, 0], [1, 0, 0]], delimiter=",")
    planned = plan((RANDOM[:12], np.resize([0, 1, 2], 12)), {"data": {"noise": f"matrix:{tmp_path / 't.csv'}"}})
    assert 2 not in planned.dataset.train.given and planned.warnings == ()


def test_missing_labels_are_counted() -> None:
    assert told([-1, 0, 1, 0, 1, 0, 1, 0, 1, 0])[0].startswith("1 of 9 training labels is missing")
    assert told([-1] * 5 + [0, 1] * 20)[0].startswith("5 of 4")


def test_many_copies_are_told() -> None:
    x, y = np.concatenate([RANDOM[:60], RANDOM[:20]]), np.resize(["a", "b"], 60)
    planned = plan((x, np.concatenate([y, y[:20]])), {"data": {"held_out": 0.0}})
    assert planned.warnings == (
        "20 of 80 training examples have the input and the label of another one. A wrong label that stands there more"
        " than once is the sooner learned by heart; if these are copies, leave them out.",
    )
    others = np.where(y == "a", "b", "a")
    assert plan((x, np.concatenate([y, others[:20]])), {}).warnings == (), "alike, but no copies"
    assert plan((x[:63], np.concatenate([y, y[:3]])), {}).warnings == (), "a few"
