"""The command `orienteer`. One file of this folder is one command; this one puts them together.

Exit codes: 0 the goal was reached, 2 bad usage or bad input (one line on stderr), 3 stopped for another reason,
130 interrupted. Heavy imports happen inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable

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
    interruption,
    plugins,
    repair,
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
from orienteer.cli.plugin_names import Command
from orienteer.errors import OrienteerError

_ABOUT = "A web crawler that can say where to start, what to fetch next, when to stop, and what pages are worth."
_MORE = """
Exit codes: 0, the goal was reached; 2, bad usage or bad input, said in one line; 3, it ended without reaching its goal;
130, interrupted. With --json a command prints one JSON document on stdout, and nothing else.

Orienteer has no environment variables of its own, but for _ORIENTEER_COMPLETE, by which shells ask for completions
(orienteer --install-completion).
"""

app = typer.Typer(
    name="orienteer",
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


def paragraphs(text: str | None) -> str:
    """A text whose lines are as long as the terminal is wide: only empty lines end one."""
    parts = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in parts)


def _add(group: typer.Typer, name: str, command: Callable[..., None]) -> None:
    group.command(name, cls=Command, help=paragraphs(command.__doc__))(command)


_add(app, "demo", demo.demo)
_add(app, "crawl", crawl.crawl)
_add(app, "import", import_.import_)
_add(app, "status", status.status)
_add(app, "explain", explain.explain)
_add(app, "replay", replay.replay)
_add(app, "repair", repair.repair)
_add(app, "seeds", seeds.seeds)
_add(app, "estimate", estimate.estimate)
_add(app, "index", index.index)
_add(app, "search", search.search)
_add(app, "serve", serve.serve)
_add(app, "export", export.export)
_add(app, "simulate", simulate.simulate)
_add(app, "compare", compare.compare)
_add(app, "plugins", plugins.plugins)
_add(graph_app, "info", graph_info.info)
_add(graph_app, "convert", graph_convert.convert)
_add(graph_app, "generate", graph_generate.generate)
_add(topic_app, "train", topic_train.train)
_add(topic_app, "train-policy", topic_train_policy.train_policy)
_add(topic_app, "test", topic_test.examine)


def _print_version(wanted: bool) -> None:
    if wanted:
        from orienteer import __version__

        print(f"orienteer {__version__}")
        raise typer.Exit


@app.callback(help=_ABOUT, epilog=paragraphs(_MORE))
def main(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """What stands before any command."""


def run(command: typer.Typer = app, name: str = "orienteer") -> None:
    """Run a command line; what a user can cause ends in one line, never in a traceback."""
    interruption.watch()
    warnings.showwarning = _show_warning
    try:
        code = command(prog_name=name, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except OrienteerError as error:
        _end(name, str(error), 2)
    except interruption.Interrupted:
        _end(name, "interrupted", 130)
    except BrokenPipeError:
        display.silence_stdout()
        sys.exit(0)
    except OSError as error:  # whatever the disk refuses, such as room for compiled kernels
        _end(name, f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    except MemoryError:
        _end(name, "not enough memory", 2)
    except Exception as error:
        _end_if_usage(name, error)
        raise


def _end_if_usage(name: str, error: Exception) -> None:
    """What typer says of an option or an argument, as one line. Its versions have no name in common for such errors."""
    if not hasattr(error, "format_message"):
        return
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]  # the help
        sys.exit(2)
    context = getattr(error, "ctx", None)
    path = name if context is None else context.command_path
    _end(name, f"{error.format_message().rstrip('.')} (see {path} --help)", 2)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning in one line, as errors are told, without the line of code it comes from."""
    _say("orienteer", f"warning: {message}")


def _end(name: str, message: str, code: int) -> None:
    _say(name, message)
    sys.exit(code)


def _say(name: str, message: str) -> None:
    print(f"{name}: " + " ".join(message.split()), file=sys.stderr)
