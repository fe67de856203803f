"""`pencil train`: from data to a run folder."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pencil.cli import complete
from pencil.cli.asked import budget_seconds, document, epoch_counts, names, tidy
from pencil.cli.failure import Terminated, guarded, one_line
from pencil.errors import PencilError

Argument, Option = typer.Argument, typer.Option
WHAT, HOW, WHERE, SHOWN = "What to learn from", "How to train", "Where it computes", "What is shown"


@guarded
def train(
    source: Annotated[
        str | None,
        Argument(
            help="A folder of images, a table, an .npz file, or a source's name.", autocompletion=complete.sources
        ),
    ] = None,
    out: Annotated[
        Path | None, Option(help="The folder to write the run to; it must be new (runs/NAME-1, -2, …).")
    ] = None,
    noise: Annotated[
        str | None,
        Option(
            help="Spoil labels on purpose: symmetric:0.4, crowd:0.2",
            rich_help_panel=WHAT,
            autocompletion=complete.noises,
        ),
    ] = None,
    labels: Annotated[str | None, Option(help="Labels from a FILE or FILE:key.", rich_help_panel=WHAT)] = None,
    root: Annotated[str | None, Option(help="Folder of a named source's files.", rich_help_panel=WHAT)] = None,
    held_out: Annotated[
        float | None, Option(help="Share of the examples kept apart (0.1).", rich_help_panel=WHAT)
    ] = None,
    download: Annotated[bool, Option("--download", help="Fetch a source's files.", rich_help_panel=WHAT)] = False,
    method: Annotated[
        str | None,
        Option(help="pencil, cross_entropy, … (pencil)", rich_help_panel=HOW, autocompletion=complete.methods),
    ] = None,
    backbone: Annotated[
        str | None,
        Option(
            help="A name, timm:NAME, transformers:FOLDER, file.py:factory.",
            rich_help_panel=HOW,
            autocompletion=complete.backbones,
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        Option(
            help="Named settings, see `pencil list recipes` (auto).",
            rich_help_panel=HOW,
            autocompletion=complete.recipes,
        ),
    ] = None,
    epochs: Annotated[
        str | None, Option(help="One number a phase: 20,50,20; or in all: 90", rich_help_panel=HOW)
    ] = None,
    budget: Annotated[
        str | None, Option(help="Time to train, instead of epochs: 90s, 10m, 1h30m", rich_help_panel=HOW)
    ] = None,
    seed: Annotated[int | None, Option(help="Decides everything random (0).", min=0, rich_help_panel=HOW)] = None,
    config: Annotated[
        Path | None, Option(help="Settings file, e.g. another run's config.toml.", rich_help_panel=HOW)
    ] = None,
    assign: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="Any setting: optimizer.batch_size=64", rich_help_panel=HOW),
    ] = None,
    start_from: Annotated[
        Path | None,
        Option("--from", metavar="RUN", help="Start from a run: its network, labels, decisions.", rich_help_panel=HOW),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Go on with the run in --out.", rich_help_panel=HOW)] = False,
    device: Annotated[str | None, Option(help="auto, cpu, cuda, cuda:1, mps (auto).", rich_help_panel=WHERE)] = None,
    precision: Annotated[
        str | None, Option(help="auto, 32-true, bf16-mixed, 64-true (auto).", rich_help_panel=WHERE)
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Say what would be done and how long it takes.", rich_help_panel=SHOWN)
    ] = False,
    watch: Annotated[
        str | None, Option(help="Figures also to: tensorboard, csv, wandb.", rich_help_panel=SHOWN)
    ] = None,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Show nothing.", rich_help_panel=SHOWN)] = False,
    as_json: Annotated[bool, Option("--json", help="End with result.json on stdout.", rich_help_panel=SHOWN)] = False,
) -> None:
    """Train on noisy labels: a network and corrected labels in one run.

    \b
      pencil train photos/
      pencil train table.csv --out run --set data.options.label=kind
      pencil train digits --noise symmetric:0.4 --out run --epochs 10,20,10
      pencil train --resume --out run
      pencil train --from run --out better

    Without --out the run goes to runs/NAME-1, -2, …, named after the data. Settings come from the recipe, then
    --config, then options, then --set; the later one wins.
    """
    flags = dict(
        noise=noise, labels=labels, root=root, held_out=held_out, method=method, backbone=backbone, recipe=recipe,
        seed=seed, device=device, precision=precision,
    )  # fmt: skip
    asked = document(config, flags, assign or ())
    lengths = epoch_counts(epochs)
    if source is None and not resume and start_from is None and not asked.get("data", {}).get("source"):
        raise PencilError("no data is named; give a folder, a file or a source, e.g. pencil train digits --out run.")
    if dry_run and budget:
        raise PencilError("--dry-run describes the usual lengths and how long they take; leave --budget out.")
    if dry_run and resume:
        raise PencilError("--dry-run describes a new run; leave --resume out.")
    if dry_run:
        from pencil.cli.dry_run import describe

        where: dict[str, Any] = dict(out=out, start_from=start_from, download=download)
        describe(tidy(source), asked, epochs=lengths, as_json=as_json, **where)
        return
    how: dict[str, Any] = dict(
        epochs=lengths, budget=budget_seconds(budget), resume=resume, start_from=start_from, download=download
    )
    how |= dict(quiet=quiet, as_json=as_json, watch=names(watch))
    if out is not None or resume:
        _fit(tidy(source), asked, out, **how)
        return
    from pencil.cli.place import place_for

    with place_for(source or asked.get("data", {}).get("source"), start_from) as chosen:
        _fit(tidy(source), asked, chosen, announce=True, **how)


def _fit(
    source: str | None,
    asked: dict[str, Any],
    out: Path | None,
    *,
    quiet: bool,
    as_json: bool,
    watch: list[str],
    announce: bool = False,
    **how: Any,
) -> None:
    from pencil.cli.display import display
    from pencil.cli.place import Announced
    from pencil.cli.report import add_report
    from pencil.cli.summary import print_summary
    from pencil.config import merge, read_toml
    from pencil.config.own_code import resume_command
    from pencil.integrations.watch import watching
    from pencil.run import fit
    from pencil.run.planning.moved import new_place
    from pencil.run.train import Interrupted
    from pencil.runtime import is_leader

    if out is None:
        raise PencilError("--resume needs the run's folder; give it with --out.")
    quiet, as_json = quiet or not is_leader(), as_json and is_leader()
    try:
        with display(quiet=quiet) as shown, watching(watch, out, shown) as progress:
            told = Announced(progress, out) if announce else progress
            result = fit(source, out=out, settings=asked, progress=told, **how)
    except Interrupted as stopped:
        one_line(str(stopped))
        raise typer.Exit(128 + stopped.signal) from None
    except (KeyboardInterrupt, Terminated) as stopped:
        if (out / "checkpoint").is_dir():
            command = resume_command(out, read_toml(out / "config.toml"))
            raise type(stopped)(f"stopped at once; go on from the last checkpoint with: {command}") from None
        raise
    if is_leader():
        named = merge(asked, {"data": {"source": source or ""}})
        place = new_place(read_toml(out / "config.toml"), named) if how["resume"] else {}
        add_report(out, source=place.get("source", ""), root=place.get("root", ""))
    if as_json:
        typer.echo(json.dumps(result.summary, indent=2, ensure_ascii=False))
    elif not quiet:
        print_summary(result.summary, out, str(source or asked.get("data", {}).get("source") or "SOURCE"))
