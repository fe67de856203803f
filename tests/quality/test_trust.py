"""A network that knows little of the task is told from one that knows it, by labels it did not learn."""

import re

import pytest

from pencil.quality.trust import caution, hint, nothing_learned


@pytest.mark.parametrize(
    ("agreeing", "held_out", "kept", "learned"),
    [
        (148, 300, 2241, 2700),  # half right about clean pictures, a sixth of the labels changed
        (109, 300, 2160, 2700),  # people's labels, a weak network
        (832, 1200, 10368, 10800),  # more clean pictures, seven of ten right
        (718, 1200, 9169, 10800),  # the same with people's labels
        (29, 144, 763, 1294),  # digits as rows, 80% noise, not solved
    ],
)
def test_a_network_that_knows_little_is_noticed(agreeing: int, held_out: int, kept: int, learned: int) -> None:
    words = caution(agreeing=agreeing, held_out=held_out, kept=kept, learned=learned)
    shares = [f"{agreeing / held_out:.0%}", f"{kept / learned:.0%}"]
    assert words and re.findall(r"\d+%", words) == shares and "backbone" in words


@pytest.mark.parametrize(
    ("agreeing", "held_out", "kept", "learned"),
    [
        (93, 144, 852, 1294),  # digits, 40% noise, solved
        (44, 144, 390, 1294),  # digits, 80% noise, solved
        (5, 14, 100, 128),  # so few that chance explains it
        (874, 5000, 9509, 45000),  # CIFAR-10, 90% noise, solved
        (4300, 5000, 40000, 45000),  # people's labels of CIFAR-10
        (95, 100, 900, 900),  # no label was changed, and the network agrees with those it did not learn
        (0, 0, 5, 10),
    ],
)
def test_one_that_knows_its_task_is_trusted(agreeing: int, held_out: int, kept: int, learned: int) -> None:
    assert caution(agreeing=agreeing, held_out=held_out, kept=kept, learned=learned) is None


@pytest.mark.parametrize(
    ("agreeing", "held_out", "kept", "learned"),
    [
        (17, 30, 253, 270),  # clean labels of 1,000 columns, 17 of them changed
        (25, 40, 300, 360),  # clean labels of a convolutional network's features, 67 of them changed
        (5, 14, 100, 128),
    ],
)
def test_where_few_are_held_out_a_person_is_asked(agreeing: int, held_out: int, kept: int, learned: int) -> None:
    known = {"agreeing": agreeing, "held_out": held_out, "kept": kept, "learned": learned}
    words = hint(**known)
    assert words and f"of the {held_out} labels it did not learn" in words and "Look at a few" in words
    assert re.findall(r"\d+%", words) == [f"{agreeing / held_out:.0%}", f"{kept / learned:.0%}"]
    assert caution(**known) is None


@pytest.mark.parametrize(("agreeing", "kept"), [(83, 90), (75, 84), (75, 100)])
def test_nobody_is_asked_where_as_many_agree_or_nothing_was_changed(agreeing: int, kept: int) -> None:
    assert hint(agreeing=agreeing, held_out=100, kept=kept, learned=100) is None


def test_a_network_beside_labels_that_never_moved_is_no_witness() -> None:
    words = caution(agreeing=39, held_out=100, kept=900, learned=900)
    assert words and "39% of the labels it did not learn, and training moved none of the others" in words


@pytest.mark.parametrize(
    ("agreeing", "common", "kept"),
    [
        (6, 12, 118),  # chance labels of three classes, equal rows with unlike labels
        (12, 12, 162),  # chance labels of three classes
        (29, 29, 269),  # one label changed, and all rows called by the name of the large class
    ],
)
def test_a_network_that_only_guesses_is_noticed(agreeing: int, common: int, kept: int) -> None:
    words = caution(agreeing=agreeing, held_out=30, kept=kept, learned=270, common=common)
    assert words and f"{agreeing / 30:.0%} of the labels it did not learn, no more than one class for all" in words


@pytest.mark.parametrize(
    ("agreeing", "common", "kept"),
    [
        (30, 30, 260),  # held-out labels of one class, all as the network says
        (13, 12, 162),
        (29, 29, 270),  # no label was changed
    ],
)
def test_one_that_does_better_or_changes_nothing_is_not_blamed(agreeing: int, common: int, kept: int) -> None:
    assert caution(agreeing=agreeing, held_out=30, kept=kept, learned=270, common=common) is None


@pytest.mark.parametrize(
    ("agreeing", "learned", "common"),
    [
        (44, 87, 44),  # 2,000 columns: after the first phase it agreed with all of them, then with half
        (46, 87, 44),
        (95, 100, 95),
    ],
)
def test_a_network_that_has_come_away_from_what_it_learned_is_noticed(agreeing: int, learned: int, common: int) -> None:
    words = nothing_learned(agreeing=agreeing, learned=learned, common=common)
    assert words and f"agrees with {agreeing / learned:.0%} of the labels it learned" in words


@pytest.mark.parametrize(
    ("agreeing", "learned", "common"),
    [
        (230, 1294, 140),  # digits, two epochs
        (98, 100, 95),  # classes of unlike size
        (40, 120, 24),
        (0, 0, 0),
    ],
)
def test_one_that_holds_to_what_it_learned_is_not(agreeing: int, learned: int, common: int) -> None:
    assert nothing_learned(agreeing=agreeing, learned=learned, common=common) is None
