"""Why a curve of labels need not end at the headline's figure: it shows them as learned, before they settled."""

from collections.abc import Mapping

from pencil.report.headline import percent
from pencil.report.material import Material


def settling(material: Material) -> str:
    """Say what became of the labels after the last epoch; nothing where they stayed as they were learned."""
    options = material.settings.get("options")
    # A network that may know too little has no say.
    if not isinstance(options, Mapping) or options.get("settle") is not True or material.result.get("caution"):
        return ""
    learned, ended = _correct(material) or _changed(material) or ("", "")
    return (
        f"The labels here are as they were learned{learned}. Then the network had half a say in them"
        f" (options.settle){ended}."
    )


def _correct(material: Material) -> tuple[str, str] | None:
    learned, ended = _last(material, "label_accuracy"), (material.result.get("label_accuracy") or {}).get("corrected")
    if learned is None or ended is None:
        return None
    return (
        f": after the last epoch {percent(learned)} of the training labels were correct",
        f", and the run ended with {percent(ended)} correct",
    )


def _changed(material: Material) -> tuple[str, str] | None:
    learned, ended = _last(material, "relabelled"), int((material.changed & (material.split == "train")).sum())
    if learned is None:
        return None
    return (
        f": after the last epoch {learned:,.0f} of the training labels were changed",
        f", and the run ended with {ended:,} changed",
    )


def _last(material: Material, name: str) -> float | None:
    """Return the last number of that name in the history, which is where its curve ends."""
    values = [record.get(name) for record in material.history]
    return next((float(v) for v in reversed(values) if isinstance(v, int | float) and v == v), None)
