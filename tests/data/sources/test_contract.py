"""What every source promises."""

import inspect

import pytest

from pencil import plugins
from pencil.data import Request, load
from pencil.errors import PencilError

SOURCES = plugins.names("pencil.data.sources")


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_says_what_it_reads_and_refuses_unknown_options(name, tmp_path):
    read = plugins.find("pencil.data.sources", name, "read", kind="source")
    assert inspect.getdoc(read) and inspect.getdoc(inspect.getmodule(read))
    with pytest.raises(PencilError, match=f'{name} has no option "no_such_option"'):
        read(Request(options={"no_such_option": 1}, cache_dir=tmp_path))


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "digits"])
def test_a_source_that_finds_nothing_says_so_and_writes_nothing(name, tmp_path):
    read = plugins.find("pencil.data.sources", name, "read", kind="source")
    with pytest.raises(PencilError, match=r"does not exist|holds no"):
        read(Request(location=tmp_path / "nowhere", cache_dir=tmp_path / "cache"))
    assert list(tmp_path.iterdir()) == []


def test_load_is_the_function():
    assert callable(load)
