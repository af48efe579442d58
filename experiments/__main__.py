"""`python -m experiments PAPER`: the papers' experiments, run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.main import paragraphs, run
from orienteer.errors import InputError

if TYPE_CHECKING:
    from experiments.experiment import Experiment
    from experiments.reproduction import Judged, Reproduction
    from experiments.webs import Webs
    from orienteer.progress import Progress

_NAME = "python -m experiments"
_STYLES = {"holds": "green", "holds in shape": "yellow", "does not hold": "red"}


def experiments(
    paper: str = typer.Argument(help="rankmass, fractional, ... or all; another name lists those that there are."),
    quick: bool = typer.Option(False, "--quick", help="Small generated webs only: minutes instead of an hour."),
    data: Path | None = typer.Option(
        None, metavar="DIR", help="Folder of the real graphs; default: shared/data next to the checkout."
    ),
    output: Path = typer.Option(Path("reproduced"), "--output", "-o", metavar="DIR", help="Where to write the report."),
    write_experiments: bool = typer.Option(
        False, "--write-experiments", help="Write README.md and plots into the folders of the papers, too."
    ),
    processes: int = typer.Option(
        1, min=1, help="Papers, and long runs within one, that go side by side; each needs memory of its own."
    ),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Run a paper's experiments, and say of each claim whether it holds here.

    Writes report.html (one file that opens offline), results.json and the plots. Real data that is not at hand is said,
    and what needs it is not tried. The full run of all papers takes about an hour and 10 GB of temporary files, and
    wants 16 GB of memory. With --processes 8 it took 17 minutes on 16 cores, where three runs want 12 GB each at once.

    Exit code 0: all came out as it did before, whatever the verdicts; 3: something did not.

    Example: [bold]python -m experiments rankmass --quick[/bold]
    """
    from experiments import report
    from experiments.drawing import check_drawing
    from experiments.papers import experiments_folder, experiments_named
    from experiments.reproduction import as_document
    from experiments.webs import Webs

    # What can be wrong is said before the work.
    wanted = experiments_named(paper)
    check_drawing()
    home = _checked_data(data)
    if write_experiments and quick:
        raise InputError("--write-experiments is for full runs: what is committed is not quick")
    folder = report.prepare(output)
    command = _command(paper, quick, processes)
    with display.progress_bar() as progress:
        _check_hashes(wanted, Webs(home, quick))
        done = _reproduced(wanted, Webs(home, quick, n_processes=processes), progress)
        written = report.write_report(done, folder, command)
        if write_experiments:
            for reproduction in done:
                report.write_experiment(reproduction, experiments_folder(), command)
    if json:
        display.print_json(as_document(done, command) | {"report": str(written)})
    else:
        _print(done)
        print(f"The report: {written}")
    if any(one.differences for one in done):
        raise typer.Exit(3)


def _reproduced(wanted: list[Experiment], webs: Webs, progress: Progress) -> list[Reproduction]:
    """Run them; several processes at once only say which are done."""
    from experiments.reproduction import reproduced
    from experiments.side_by_side import side_by_side

    with side_by_side(webs.n_processes if len(wanted) > 1 else 1) as pool:
        started = []
        for one in wanted:

            def show(stage: str, now: int, total: int, name: str = one.name) -> None:
                progress(f"{name}: {stage}", now, total)

            started.append(pool.submit(reproduced, one, replace(webs, progress=show).to_send()))
        done = []
        for one, run in zip(wanted, started, strict=True):
            done.append(run.result())
            progress(f"{one.name} is done", len(done), len(wanted))
        return done


def _checked_data(data: Path | None) -> Path | None:
    """The folder of real data: the one that is named, or the usual one if it is there."""
    if data is not None:
        if not data.is_dir():
            raise InputError(f"--data {data}: there is no such folder")
        return data
    usual = Path(__file__).parents[2] / "shared" / "data"
    return usual if usual.is_dir() else None


def _check_hashes(wanted: list[Experiment], webs: Webs) -> None:
    """Another file than the experiment was made with is said before any work."""
    for one in wanted:
        webs.missing(one.data)


def _command(paper: str, quick: bool, processes: int) -> str:
    return f"{_NAME} {paper}" + " --quick" * quick + (f" --processes {processes}" if processes > 1 else "")


def _print(done: list[Reproduction]) -> None:
    from rich.markup import escape

    out = display.console()
    for one in done:
        table = display.columns_table(
            one.experiment.title, ("where", False), ("the paper says", False), ("published", False), ("ours", False),
            ("verdict", False),
        )  # fmt: skip
        for row in one.judged:
            claim = row.claim
            table.add_row(*map(escape, (claim.where, claim.says, claim.published, row.ours)), _verdict(row))
        out.print(table)
        for note in one.notes:
            out.print(escape(note), style="dim")
        for line in one.differences:
            out.print(f"Not as expected: {escape(line)}", style="red", soft_wrap=True)
        out.print()


def _verdict(row: Judged) -> str:
    style = _STYLES.get(row.verdict, "dim")
    mark = " [red](!)[/red]" if row.difference else ""
    return f"[{style}]{row.verdict}[/{style}]{mark}"


def main() -> None:
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="rich", add_completion=False)
    app.command(help=paragraphs(experiments.__doc__), no_args_is_help=True)(experiments)
    run(app, _NAME)


if __name__ == "__main__":
    main()
