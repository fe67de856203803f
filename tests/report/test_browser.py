"""The page in a real browser: light and dark, wide and narrow, offline and printed."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
# Boxes whose text is cut off; those that scroll by themselves (wide figures and tables) are meant to.
CUT_OFF = """[...document.querySelectorAll("pre, p, li, dd, h1, h2, h3, .tiles > *")]
  .filter(box => box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).display !== "inline" &&
                 !box.closest(".scroll, .wide, .sr"))
  .map(box => box.outerHTML.slice(0, 200))"""


def test_it_fits_any_width_in_light_and_dark_asks_for_nothing_and_prints(
    browser: Any, text: str, tmp_path: Path
) -> None:
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    grounds = {}
    for scheme in ("light", "dark"):
        for width in (1400, 400):
            page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("console", lambda message, asked=asked: asked.append(message.text))
            page.goto((tmp_path / "report.html").as_uri())
            assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT_OFF) == []
            grounds[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert grounds["light"] != grounds["dark"]
    assert page.pdf(format="A4").startswith(b"%PDF-")
