"""Whatever a class or a file is called, its name on disk is one plain part of a path."""

from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pencil.export.images import _is_inside
from pencil.export.names import MOST_TOLD, class_folders, file_name, part, renamed


@given(st.text())
def test_a_part_never_leads_elsewhere(text: str) -> None:
    named = part(text)
    assert named and len(named.encode("utf-8", "surrogatepass")) <= 255
    for kind in (PurePosixPath, PureWindowsPath):
        assert kind(named).parts == (named,) and kind(named).name == named
    assert not named.startswith(".") and named == named.rstrip(" .")
    assert part(text) == named


@given(st.lists(st.text(max_size=6), max_size=12))
def test_folders_of_classes_differ_whatever_the_case(names: list[str]) -> None:
    folders = class_folders(names)
    assert len({folder.casefold() for folder in folders}) == len(names)
    assert all(PurePosixPath(folder).parts == (folder,) for folder in folders)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat", "cat"), ("été 2", "été 2"), ("../x", "___x"), ("a/b", "a_b"), ("..", "__"), ("", "_"), (".git", "_git"),
        ("con", "con_"), ("nul.txt", "nul.txt_"), ("a\\b", "a_b"), ("x\0y", "x_y"), ("end. ", "end"),
    ],
)  # fmt: skip
def test_known_names(text: str, expected: str) -> None:
    assert part(text) == expected


def test_changed_names_are_told() -> None:
    assert renamed(["cat", "dog"]) == ""
    line = renamed(["cat's", "dog", "a/b"])
    assert line == 'names that not every system takes are changed: "cat\'s" is in cat_s, "a/b" is in a_b.'
    assert renamed([f"{n}?" for n in range(MOST_TOLD + 2)]).endswith(" and 2 more.")


def test_file_names_begin_with_the_row() -> None:
    assert file_name(12, "cat/tom.jpg", ".jpg") == "0000012_tom.jpg"
    assert file_name(3, "../../etc/passwd", ".png") == "0000003_passwd.png"


@pytest.mark.parametrize("name", ["../a.png", "/a.png", "a/../../b.png", "a\\b.png", "a.txt", "passwd"])
def test_only_images_below_the_data_count_as_its_files(name: str) -> None:
    assert not _is_inside(name, {".png": "PNG"})
    assert _is_inside("cat/a.PNG", {".png": "PNG"})
