"""`pencil bench`: how fast this machine trains, as ratios within one run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pencil.cli.failure import guarded
from pencil.errors import PencilError


@guarded
def bench(
    backbone: Annotated[str | None, typer.Option(help="The network; chosen by the device otherwise.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1.")] = "auto",
    batch_size: Annotated[int, typer.Option(help="Examples in a batch.", min=4)] = 128,
    seconds: Annotated[
        float | None, typer.Option(help="Length of one turn; 2 on a GPU, 1 on a CPU otherwise.", min=0.1)
    ] = None,
    parallel: Annotated[
        int | None,
        typer.Option(
            help="Let 2, 4, 8, … and this many runs train at once; 0: none. 4 on a GPU, none on a CPU otherwise.",
            min=0,
            max=64,
        ),
    ] = None,
    sizes: Annotated[bool, typer.Option(help="Also with other batch sizes and more examples.")] = True,
    record: Annotated[Path | None, typer.Option(help="Also write the figures to this JSON file.")] = None,
    table: Annotated[bool, typer.Option("--table", help="Instead: labels in a file against labels in memory.")] = False,
    examples: Annotated[int, typer.Option(help="With --table: examples.", min=1000)] = 10_000_000,
    classes: Annotated[int, typer.Option(help="With --table: classes.", min=2)] = 1000,
    side: Annotated[int, typer.Option(help="With --table: height and width of the images.", min=32)] = 224,
    as_json: Annotated[bool, typer.Option("--json", help="Show the figures as JSON on stdout.")] = False,
) -> None:
    """Measure the engine: against a plain loop, label learning against cross entropy, batch sizes, time to start.

    Several runs at once on one device are measured in growing numbers, which shows where more of them stop paying.
    Beside the figures stand the limits: what the device would allow by the bytes and FLOPs of a step.

    \b
      pencil bench
      pencil bench --backbone resnet34 --record reference/bench/resnet34.json
      pencil bench --parallel 16
      pencil bench --table --examples 10000000 --classes 1000 --batch-size 16

    What is compared takes turns in one process, so the ratios mean something on a busy machine too.
    Numbers of runs at once are measured one after another, which needs an idle one.
    """
    from pencil.bench import rate_text, run_suite, run_tables
    from pencil.results.documents import write_json
    from pencil.runtime import choose_device

    if record is not None:
        # A place that cannot be written to is known before anything is measured.
        if record.is_dir():
            raise PencilError(f"{record} is a folder; give --record the name of a file.")
        record.parent.mkdir(parents=True, exist_ok=True)
    where = choose_device(device)
    on_gpu = where.type == "cuda"
    name = backbone or ("preact_resnet32" if on_gpu else "small_cnn")
    turn = seconds or (2.0 if on_gpu else 1.0)

    def tell(line: str) -> None:
        typer.echo(line, err=True)

    if table:
        name = backbone or "resnet50"
        size = {"examples": examples, "classes": classes, "side": side}
        report = run_tables(name, device=device, batch_size=batch_size, seconds=turn, tell=tell, **size)
    else:
        runs = parallel if parallel is not None else 4 if on_gpu else 0
        report = run_suite(
            name, device=device, batch_size=batch_size, slice_seconds=turn, parallel=runs, sizes=sizes, tell=tell
        )
    figures = report.record()
    if record is not None:
        write_json(record, figures)
    if as_json:
        typer.echo(json.dumps(figures, indent=2, ensure_ascii=False))
        return
    typer.echo(f"{name} on {report.device}, batches of {batch_size}")
    for line in report.notes:
        typer.echo(f"  {line}")
    for title, group, form in (
        ("images per second", report.rates, rate_text),
        ("ratios", report.ratios, "{:.3f}".format),
        ("seconds", report.seconds, "{:.1f}".format),
        ("megabytes", report.megabytes, "{:,.0f}".format),
        ("work", report.work, "{:,.3g}".format),
    ):
        if group:
            typer.echo(f"\n{title}")
        for what, value in group.items():
            typer.echo(f"  {what:<40} {form(value):>12}")
