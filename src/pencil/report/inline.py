"""Makes a drawn figure part of a page: its colours and letters become the page's, and nothing in it points outside."""

import re
from xml.etree import ElementTree

from markupsafe import Markup

LARGEST = 1.5
"""How much larger than drawn a figure may become."""
_DROPPED = ("metadata", "style")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_FONT = re.compile(r"font-family:[^;]*;?\s*")


def inline(svg: bytes, *, name: str, description: str, variables: dict[str, str]) -> Markup:
    """Return an SVG file as an element for a page; `variables` name the page's colour for each of the figure's."""
    # The text comes from our own drawing, never from a run folder.
    root = ElementTree.fromstring(svg)
    _drop(root)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {
            key.rpartition("}")[2]: _rewritten(key.rpartition("}")[2], value, name, variables)
            for key, value in element.attrib.items()
            if not (key == "id" and element.tag == "g")
        }
        element.tail = None if element.tail and not element.tail.strip() else element.tail
        element.text = None if element.text and not element.text.strip() else element.text
    for unused in ("width", "height", "version"):
        root.attrib.pop(unused, None)
    width = float(root.attrib["viewBox"].split()[2])
    # A small figure is not blown up to the width of the page.
    root.attrib |= {
        "role": "img",
        "aria-label": description,
        "class": "figure",
        "style": f"max-width:{LARGEST * width:.0f}px",
    }
    # Serialised with every special letter of texts and attributes escaped.
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=True))


def _drop(parent: ElementTree.Element) -> None:
    for child in list(parent):
        if child.tag.rpartition("}")[2] in _DROPPED:
            parent.remove(child)
        else:
            _drop(child)


def _rewritten(key: str, value: str, name: str, variables: dict[str, str]) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return f"#{name}-{value.removeprefix('#')}"
    if key == "style":
        coloured = _COLOUR.sub(lambda found: variables.get(found[0], found[0]), value)
        return _FONT.sub("", coloured)
    if key == "d":
        return " ".join(value.split())
    return _REFERENCE.sub(rf"url(#{name}-\1)", value)
