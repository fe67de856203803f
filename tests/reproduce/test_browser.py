"""The page of a study, as a browser shows it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pencil.reproduce.output import write_study
from pencil.reproduce.studies import STUDIES


def test_tables_wider_than_the_window_scroll_alone(
    browser: Any, record: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    write_study(STUDIES["table3"], [record()], tmp_path)
    page = browser.new_page(viewport={"width": 700, "height": 900})
    page.goto((tmp_path / "table3.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 700
    tables = page.evaluate("[...document.querySelectorAll('table')].map(t => [t.scrollWidth, t.clientWidth])")
    assert tables and all(whole > shown for whole, shown in tables), "and can be scrolled"
