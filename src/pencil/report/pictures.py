"""A run's pictures, each a file of its own to look at or pass on: curves, confusion, suspects."""

import base64
import io

from pencil.report.drawings import MOST_CLASSES, quietly
from pencil.report.material import Material
from pencil.report.suspects import Gallery


def draw_pictures(material: Material, gallery: Gallery) -> dict[str, bytes]:
    """Return PNGs by name; what cannot be drawn (many classes, rows of a table, no matplotlib) is left out."""
    with quietly():
        try:
            import matplotlib.figure  # noqa: F401
        except Exception:  # The report says why.
            return {}
        return {"curves": _curves(material), **_confusion(material), **_suspects(gallery)}


def _curves(material: Material) -> bytes:
    from pencil.figures.panels import draw_panels
    from pencil.figures.style import render

    return render(draw_panels(material.history, material.result), "png", trim=False)


def _confusion(material: Material) -> dict[str, bytes]:
    from pencil.figures.style import render
    from pencil.figures.transition import draw_transition

    if len(material.classes) > MOST_CLASSES:
        return {}
    figure = draw_transition(material.noise.transition, material.classes)
    figure.set_facecolor("white")
    return {"confusion": render(figure, "png", trim=False)}


def _suspects(gallery: Gallery) -> dict[str, bytes]:
    from matplotlib.image import imread

    from pencil.figures.gallery import draw_gallery
    from pencil.figures.style import render

    seen = [card for card in gallery.suspects if card.picture]
    if not seen:
        return {}
    images = [imread(io.BytesIO(base64.b64decode(card.picture.partition(",")[2]))) for card in seen]
    figure = draw_gallery(images, [card.given for card in seen], [card.corrected for card in seen])
    return {"suspects": render(figure, "png", trim=False)}
