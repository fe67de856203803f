"""Names of others never break a line, nor command a terminal."""

import pytest

from pencil.lines import in_one_line, is_unicode


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cat", "cat"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[2J\x85", "\\x1b[2J\\x85"),
        ("\u2028\u2029\ud800", "\\u2028\\u2029\\ud800"),
        ("été 猫 👩\u200d🔬 שלום", "été 猫 👩\u200d🔬 שלום"),
    ],
)
def test_what_breaks_a_line_is_spelled_out(text: str, shown: str) -> None:
    assert in_one_line(text) == shown


@pytest.mark.parametrize(("text", "whole"), [("", True), ("cat", True), ("Größe 🐈", True), ("caf\udce9", False)])
def test_halves_of_characters_are_no_text(text: str, whole: bool) -> None:
    assert is_unicode(text) is whole
