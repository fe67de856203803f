"""A slip is answered by the names that were probably meant."""

import pytest

from pencil.errors import did_you_mean

NOISES = ["symmetric", "symmetric_excluding", "asymmetric_next", "asymmetric_cifar10", "crowd"]


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("asymmetric", ' Did you mean "asymmetric_next" or "asymmetric_cifar10"?'),
        ("crow", ' Did you mean "crowd"?'),
        ("symetric", ' Did you mean "symmetric"?'),
        ("a", f" Known: {', '.join(sorted(NOISES))}."),
        ("", f" Known: {', '.join(sorted(NOISES))}."),
    ],
)
def test_names_that_begin_so_come_before_names_that_look_alike(word: str, answer: str) -> None:
    assert did_you_mean(word, NOISES) == answer


def test_at_most_three_names_are_suggested() -> None:
    names = [f"resnet{depth}" for depth in (18, 34, 50, 101, 152)]
    assert did_you_mean("resnet", names) == ' Did you mean "resnet18" or "resnet34" or "resnet50"?'


def test_nothing_known_suggests_nothing() -> None:
    assert did_you_mean("symmetric", []) == ""
