"""How a run was made, and what to do with it."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pencil.config import DataSettings, override, to_document
from pencil.config.own_code import named_again
from pencil.report.material import Material
from pencil.results.summary import method_of

Rows = list[tuple[str, str]]
SOURCE = ("data", "source")


@dataclass(frozen=True)
class Step:
    """One thing to do next."""

    command: str
    purpose: str


def next_steps(material: Material) -> list[Step]:
    """Return commands that carry on from here."""
    path = str(material.folder.path)
    run = shlex.quote(path)
    source = str(material.settings.get("data", {}).get("source", ""))
    data = shlex.quote(source) if source and not source.startswith("<") else "NEW-DATA"
    steps = []
    if suspects := material.result["num_suspect"]:
        review = f"pencil review {run}{named_again(material.settings, source='--source ')}"
        steps.append(Step(review, f"Look at the {suspects:,} suspects in the browser and decide."))
        steps.append(Step(f"pencil labels {run}", "See how many labels stricter or looser thresholds touch."))
    steps.append(Step(f"pencil labels {run} --apply", "Write the final labels, people’s decisions first."))
    if suspects and material.learned:
        purpose = "Go on from here after the review, people’s decisions locked."
        again = named_again(material.settings, method="--method ", backbone="--backbone ", noise="--noise ")
        out = shlex.quote(f"{path}-reviewed")
        steps.append(Step(f"pencil train {data} --from {run} --out {out}{again}", purpose))
    if not material.learned and material.settings.get("method") != "pencil":
        command = f"pencil train {data} --out {shlex.quote(f'{path}-pencil')}{_data_again(material.settings)}"
        steps.append(Step(command, "Have every training label examined by PENCIL."))
    again = named_again(material.settings, backbone="--backbone ")
    steps.append(Step(f"pencil predict {run} {data}{again}", "Use the trained network."))
    return steps


def in_short(material: Material) -> Rows:
    """Return what identifies the run."""
    result, settings = material.result, material.settings
    rows = [
        ("Method", method_of(result) + (f" (told {told})" if (told := result.get("extra_information")) else "")),
        ("Data", str(result["dataset"])),
        ("Injected noise", str(settings.get("data", {}).get("noise") or "")),
        ("Examples", _examples(material)),
        ("Classes", f"{len(material.classes):,}"),
        ("Network", str(settings.get("backbone", ""))),
        ("Phases", ", ".join(f"{phase.name} ({phase.epochs})" for phase in material.phases)),
        ("Training time", _time(result)),
    ]
    return [(name, text) for name, text in rows if text]


def settings_groups(material: Material) -> dict[str, Rows]:
    """Return every setting, by the table of config.toml that it stands in."""
    groups: dict[str, Rows] = {}
    for table, name, value in _flat(material.settings):
        groups.setdefault(table, []).append((name, _text(value)))
    return groups


def environment_rows(material: Material) -> Rows:
    """Return what the run was made with, and what was different where it went on from an earlier sitting."""
    now = dict(material.result["environment"])
    earlier = now.pop("earlier", [])
    rows = [(str(name), _text(value)) for name, value in sorted(now.items())]
    known = [each for each in earlier if isinstance(each, Mapping)] if isinstance(earlier, list) else []
    return rows + [(f"until epoch {_text(each.get('until_epoch'))}", _difference(each, now)) for each in known]


def _data_again(settings: Mapping[str, Any]) -> str:
    """Return the words by which a new run has the same data with the same labels, after the source."""
    usual = to_document(DataSettings())
    data = {name: value for name, value in settings.get("data", {}).items() if value != usual.get(name)}
    asked = [(f"{table}.{key}", value) for table, key, value in _flat({"data": data}) if (table, key) != SOURCE]
    words = [f" --set {shlex.quote(f'{name}={_spelled(value)}')}" for name, value in asked]
    return "".join(words) + (f" --seed {seed}" if (seed := settings.get("seed")) else "")


def _spelled(value: Any) -> str:
    """Return a setting's value as --set reads it."""
    plain = isinstance(value, str) and override(f"method={value}") == {"method": value}
    return str(value) if plain else json.dumps(value, ensure_ascii=False, default=str)


def _difference(each: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    names = sorted(name for name in {*each, *now} - {"until_epoch"} if each.get(name) != now.get(name))
    return ", ".join(f"{name} {_text(each.get(name))}" for name in names)


def _examples(material: Material) -> str:
    trained = int((material.split == "train").sum())
    apart = len(material.split) - trained
    return f"{trained:,} trained on" + (f", {apart:,} held out" if apart else "")


def _time(result: Mapping[str, Any]) -> str:
    seconds, speed = result.get("seconds"), result.get("images_per_second")
    if not isinstance(seconds, (int, float)):
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    spoken = f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
    return spoken + (f", {speed:,.0f} examples/s" if isinstance(speed, (int, float)) else "")


def _flat(document: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, str, Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{table}.{key}" if table else key)
        else:
            yield table, key, value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "–" if value in ("", None) else str(value)
