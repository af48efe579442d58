"""The command `orienteer`. One file of this folder is one command; this one puts them together.

Exit codes: 0 the goal was reached, 2 bad usage or bad input (one line on stderr), 3 stopped for another reason,
130 interrupted. Heavy imports happen inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import signal
import sys

import typer

from orienteer.cli import (
    compare,
    crawl,
    demo,
    display,
    estimate,
    explain,
    export,
    graph_convert,
    graph_generate,
    graph_info,
    import_,
    index,
    replay,
    search,
    seeds,
    serve,
    simulate,
    status,
    topic_test,
    topic_train,
    topic_train_policy,
)
from orienteer.errors import OrienteerError

app = typer.Typer(
    name="orienteer",
    help="A web crawler that can say where to start, what to fetch next, when to stop, and what pages are worth.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
graph_app = typer.Typer(help="Look at link graphs, convert them, generate them.", no_args_is_help=True)
app.add_typer(graph_app, name="graph")
topic_app = typer.Typer(
    help="Describe a topic, train it on examples, and test how well it tells pages.", no_args_is_help=True
)
app.add_typer(topic_app, name="topic")

app.command("demo")(demo.demo)
app.command("crawl")(crawl.crawl)
app.command("import")(import_.import_)
app.command("status")(status.status)
app.command("explain")(explain.explain)
app.command("replay")(replay.replay)
app.command("seeds")(seeds.seeds)
app.command("estimate")(estimate.estimate)
app.command("index")(index.index)
app.command("search")(search.search)
app.command("serve")(serve.serve)
app.command("export")(export.export)
app.command("simulate")(simulate.simulate)
app.command("compare")(compare.compare)
graph_app.command("info")(graph_info.info)
graph_app.command("convert")(graph_convert.convert)
graph_app.command("generate")(graph_generate.generate)
topic_app.command("train")(topic_train.train)
topic_app.command("train-policy")(topic_train_policy.train_policy)
topic_app.command("test")(topic_test.examine)


def _print_version(wanted: bool) -> None:
    if wanted:
        from orienteer import __version__

        print(f"orienteer {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """A web crawler that can say where to start, what to fetch next, when to stop, and what pages are worth."""


class _Interrupted(BaseException):
    """Ctrl-C. Typer would take a KeyboardInterrupt for itself and end without a word."""


def _interrupt(*_: object) -> None:
    raise _Interrupted


def run() -> None:
    """Run the command line; what a user can cause ends in one line, never in a traceback."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        app()
    except OrienteerError as error:
        _end(str(error), 2)
    except _Interrupted:
        _end("interrupted", 130)
    except BrokenPipeError:
        display.silence_stdout()
        sys.exit(0)
    except OSError as error:  # whatever the disk refuses, such as room for compiled kernels
        _end(f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    except MemoryError:
        _end("not enough memory", 2)


def _end(message: str, code: int) -> None:
    print("orienteer: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(code)
