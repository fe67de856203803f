"""The page stands alone, can be used by everyone, and takes no name for markup."""

import itertools
import re

import pytest

from pencil.results.folder import RunFolder

from .conftest import PICTURE, Element, MakeRun, read_page, report_of

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "$\\frac{", "--><b>", "]]>&amp;{{ 7*7 }}",
    "\u202eevil\x00\x1b[31m", "名前" * 30, "</style></svg>",
]  # fmt: skip


def test_nothing_outside_the_page_is_needed(text: str, page: Element) -> None:
    assert not page.all("script") and not page.all("link") and not page.all("iframe")
    assert "http:" not in text and "https:" not in text and "@import" not in text
    assert all(address.startswith("#") for address in re.findall(r"url\(([^)]*)\)", text))
    for element in page.all():
        for name in ("src", "href", "xlink:href", "data"):
            assert element.attributes.get(name, "#").startswith(("#", "data:image/png;base64,"))
        assert not any(name.startswith("on") for name in element.attributes)


def test_the_same_run_gives_the_same_page(run: RunFolder, text: str) -> None:
    assert report_of(run, lambda ids: [PICTURE] * len(ids)) == text


def test_ids_are_unique_and_links_lead_somewhere(text: str, page: Element) -> None:
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    inside = [e.attributes["href"][1:] for e in page.all() if e.attributes.get("href", "").startswith("#")]
    inside += re.findall(r"url\(#([^)]*)\)", text)
    inside += [section.attributes["aria-labelledby"] for section in page.all("section")]
    assert inside and set(inside) <= set(ids)


def test_headings_tables_and_figures_can_be_read_aloud(page: Element) -> None:
    levels = [int(e.tag[1]) for e in page.all() if re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.all("html")[0].attributes["lang"] == "en" and page.all("main") and page.all("nav")
    assert all(cell.attributes.get("scope") in ("row", "col") for cell in page.all("th"))
    assert all(table.all("caption") for table in page.all("table"))
    assert all(image.attributes.get("alt") for image in page.all("img"))
    for svg in page.all("svg"):
        named = svg.attributes.get("role") == "img" and len(svg.attributes.get("aria-label", "")) > 20
        assert named or svg.attributes.get("aria-hidden") == "true"
    skip = page.all("a")[0]
    assert skip.attributes == {"class": "skip", "href": "#content"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_have_contrast(page: Element, theme: str) -> None:
    style = page.all("style")[0].text
    light, dark = re.findall(r":root \{([^}]*)\}", style)[:2]
    variables = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", light if theme == "light" else dark))
    for ground in ("ground", "card", "well"):
        for ink in ("ink", "soft", "accent", "given", "corrected", "doubt-ink"):
            assert contrast(variables[ink], variables[ground]) >= 4.5, (ink, ground)


def test_names_are_never_markup(make_run: MakeRun) -> None:
    names = HOSTILE
    ids = [f"{HOSTILE[number % len(HOSTILE)]}{number}" for number in range(160)]
    folder = make_run(num_classes=len(names), n=160, names=names, ids=ids, dataset="<script>alert(2)</script>")
    rows = [(HOSTILE[0], HOSTILE[1]), (HOSTILE[4], HOSTILE[5])]
    text = report_of(folder, lambda wanted: [rows] * len(wanted))
    page = read_page(text)
    assert not page.all("script") and not page.all("b") and not page.all("img")
    assert len(page.all("style")) == 1
    assert "<script>alert(1)</script>" in page.text and "<script>alert(2)</script>" in page.all("h1")[0].text
    assert "{{ 7*7 }}" in page.text and "49" not in page.all("ol", kind="gallery")[0].text.split()
    assert any("<script>" in element.text for svg in page.all("svg") for element in svg.all("text"))


def test_ten_classes_make_a_page_below_two_megabytes(make_run: MakeRun) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(112 * 112 * 3)
    text = report_of(make_run(num_classes=10, n=1000, epochs=(40, 80, 40)), lambda ids: [picture] * len(ids))
    assert len(text.encode()) < 2_000_000


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
