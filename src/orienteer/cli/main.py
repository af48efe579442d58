"""The command `orienteer`, assembled from the functions that are marked `@command`.

Exit codes: 0 success, 2 bad usage or bad input (one line on stderr), 3 the command ended without reaching its goal,
130 Ctrl-C, 143 SIGTERM. Heavy imports happen inside the commands, so that `--help` is fast.
"""

from __future__ import annotations

import inspect
import sys
import warnings

import typer

from orienteer.cli import display, interruption
from orienteer.cli.command import Command, CommandGroup, declared_commands
from orienteer.errors import OrienteerError

_ABOUT = "A web crawler that proves how much of what matters it has fetched, and a local search engine."
_MORE = """
Exit codes: 0, success; 2, bad usage or bad input, explained in one line; 3, goal not reached; 130, interrupted by
Ctrl-C; 143, by SIGTERM (serve and mcp, which only end that way, exit with 0). With --json a command prints one JSON
document on stdout, and nothing else.

The only environment variable is _ORIENTEER_COMPLETE, which shells set for completion (orienteer
--install-completion).
"""

_FIRST_STEPS = """Orienteer crawls a site, proves how much of it is fetched, and searches it.
  orienteer crawl URL   crawl a site into a folder; then: orienteer search FOLDER WORDS
  orienteer serve       start, watch and search crawls in the browser; all commands: orienteer --help"""

_GROUPS = {
    "graph": "Inspect, convert, generate and measure link graphs.",
    "topic": "Describe a topic, train it on examples, test how well it classifies pages, and compare policies on it.",
}
_FIRST = ("crawl", "refresh", "status", "search", "serve", "export", "import")  # in the help


def paragraphs(text: str | None) -> str:
    """Join the lines of each paragraph, so that the text wraps at the width of the terminal."""
    blocks = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(block.split()) for block in blocks)


def command_line(only: str | None = None) -> typer.Typer:
    """Build the application; with `only`, that of the command or group of this name."""
    app = typer.Typer(
        name="orienteer",
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        cls=CommandGroup,
    )
    app.callback(help=_ABOUT, epilog=paragraphs(_MORE))(_main)
    groups = {"": app}
    declared = declared_commands(only)
    for words in sorted(declared, key=lambda words: _FIRST.index(words) if words in _FIRST else len(_FIRST)):
        command, heading, _ = declared[words]
        first, _, second = words.partition(" ")
        if second and first not in groups:
            groups[first] = typer.Typer(help=_GROUPS[first], no_args_is_help=True, cls=CommandGroup)
            app.add_typer(groups[first], name=first, rich_help_panel=heading)
        panel = None if second or not heading else heading
        group = groups[first if second else ""]
        group.command(second or first, cls=Command, help=paragraphs(command.__doc__), rich_help_panel=panel)(command)
    return app


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from orienteer import __version__

        print(f"orienteer {__version__}")
        raise typer.Exit


def _main(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Parse the options before any command; without a command print the first steps."""
    if context.invoked_subcommand is None:
        print(_FIRST_STEPS)


def run(command: typer.Typer | None = None, name: str = "orienteer") -> None:
    """Run a command line. Errors that a user can cause print one line, never a traceback."""
    interruption.watch()
    try:
        _run(command, name)
    finally:
        interruption.ignore()


def _run(command: typer.Typer | None, name: str) -> None:
    warnings.showwarning = _show_warning
    try:
        if command is None:  # imports modules, which takes a while
            first = sys.argv[1] if len(sys.argv) > 1 else ""
            command = command_line(first if first.replace("-", "_").isidentifier() and first[0] != "-" else None)
        code = command(prog_name=name, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except OrienteerError as error:
        _end(name, str(error), 2)
    except interruption.Interrupted:
        _end(name, "interrupted", interruption.exit_code())
    except BrokenPipeError:
        display.silence_stdout()
        sys.exit(0)
    except OSError as error:  # such as a full disk while kernels are compiled
        _end(name, f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    except MemoryError:
        _end(name, "not enough memory", 2)
    except Exception as error:
        _end_if_usage(name, error)
        raise


def _end_if_usage(name: str, error: Exception) -> None:
    """Print a usage error of typer in one line; its versions share no base class for them, hence duck typing."""
    if not hasattr(error, "format_message"):
        return
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]  # the help
        sys.exit(2)
    context = getattr(error, "ctx", None)
    path = name if context is None else context.command_path
    _end(name, f"{error.format_message().rstrip('.')} (see {path} --help)", 2)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning in one line, like errors, without its source line."""
    _say("orienteer", f"warning: {message}")


def _end(name: str, message: str, code: int) -> None:
    _say(name, message)
    sys.exit(code)


def _say(name: str, message: str) -> None:
    print(f"{name}: " + " ".join(message.split()), file=sys.stderr)
