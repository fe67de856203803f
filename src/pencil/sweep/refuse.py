"""What a sweep is not started for: runs that are others by now, that would all fail, or write over other files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pencil import backbones, methods, recipes
from pencil.config import build_record, from_document, merge, read_toml, write_toml
from pencil.data.load import resolve
from pencil.errors import PencilError, did_you_mean
from pencil.results.documents import read_object
from pencil.results.folder import RunFolder
from pencil.run.planning.misplaced import refuse_misplaced
from pencil.run.planning.plan import DEFAULT_METHOD, DEFAULT_RECIPE, checked, differing
from pencil.run.planning.refuse import refuse_place_in_data
from pencil.run.queue import Job, state_of
from pencil.run.training.sittings import changed, own_code

Document = Mapping[str, Any]
GIVEN_ELSEWHERE = ("backbone", "optimizer", "teaching", "phases", "options")
"""What a recipe or the data set where a file does not."""


def refuse_overwriting(jobs: Sequence[Job]) -> None:
    """Refuse a place among the data, or where a file of the user's own would be written over, as that of the sweep."""
    for job in jobs:
        refuse_place_in_data(job.folder, None, job.document, None)
        for place in job.folder.parents:
            if place.exists() and not place.is_dir():
                raise PencilError(f"{place} is no folder, so no run can be kept there; give another --out.")
        # Whatever began here has left a log.
        begun = job.log.exists() or job.folder.is_dir()
        if not begun and job.settings.is_file() and job.settings.read_bytes() != write_toml(job.document).encode():
            raise PencilError(
                f"the settings of the run {job.name} would be written over {job.settings}, which is of no run; give it"
                " another name, or give another --out."
            )


def refuse_edited(jobs: Sequence[Job]) -> None:
    """Refuse a run under settings or code that are not those it has: its figures would be taken for theirs."""
    for job in jobs:
        config = RunFolder(job.folder).config
        if not config.exists():
            continue
        saved = read_toml(config)
        other = differing(from_document(saved), job.document) or [*_taken_out(job, saved)]
        finished = state_of(job.folder) == "finished"
        if other:
            done = "is finished, with" if finished else "was begun with"
            raise PencilError(
                f"the run {job.name} {done} other settings than the file has now ({', '.join(other)}); give"
                f" it another name, or remove {job.folder}."
            )
        if finished:
            _refuse_edited_code(job)


def _taken_out(job: Job, saved: Document) -> Iterator[str]:
    """Return the settings that a run has and the file no longer gives it."""
    now = checked(merge({"method": DEFAULT_METHOD, "recipe": DEFAULT_RECIPE}, job.document))
    yield from differing(now, {key: value for key, value in saved.items() if key not in GIVEN_ELSEWHERE})
    if job.settings.is_file():
        before = read_toml(job.settings)
        yield from _missing({key: before[key] for key in GIVEN_ELSEWHERE if key in before}, job.document)


def _missing(before: Document, now: Document, path: str = "") -> Iterator[str]:
    for key, value in before.items():
        if isinstance(value, Mapping):
            inner = now.get(key, {})
            yield from _missing(value, inner if isinstance(inner, Mapping) else {}, f"{path}{key}.")
        elif key not in now:
            yield f"{path}{key}"


def _refuse_edited_code(job: Job) -> None:
    before = read_object(RunFolder(job.folder).result).get("environment", {}).get("own_code", {})
    edited = changed(before, own_code(job.document))
    if edited:
        raise PencilError(
            f"the run {job.name} is finished, with other code in {', '.join(edited)} than there is now; restore it, or"
            f" remove {job.folder}."
        )


def refuse_hopeless(jobs: Sequence[Job]) -> None:
    """Refuse what would fail in every run, and for the same reason; what is wrong in one of several stops no other."""
    if all(state_of(job.folder) == "finished" for job in jobs):
        return
    reasons = {_wrong(job.document) for job in jobs}
    if len(reasons) == 1 and (reason := reasons.pop()):
        raise PencilError(f"no run can be started: {reason}")


def _wrong(document: Document) -> str:
    """Return what is wrong with settings as far as it shows before data is read; empty where nothing is."""
    try:
        refuse_misplaced(document, str(document.get("method") or DEFAULT_METHOD))
        settings = checked(document)
        resolve(settings.data)
        kind = methods.kind(settings.method)
        build_record(kind.Options, settings.options, "options.")
        kind.check_phases(settings.phases)
        if (recipe := settings.recipe) and recipe not in recipes.RECIPES:
            raise PencilError(f'there is no recipe "{recipe}".{did_you_mean(recipe, recipes.RECIPES)}')
        if settings.backbone:
            backbones.check(settings.backbone, settings.backbone_options)
    except PencilError as error:
        return str(error)
    return ""
