"""Options that several commands share, and options that are generated from settings.

`@with_fields` replaces a parameter of a command by options for the fields of a settings class. A command marked
`@with_settings()` gets an option for each setting of a crawl that names one, at the place of its parameter `given`,
which receives what the user has typed; then `--set` and `--settings` for all settings, and `--help-all`, since `--help`
shows only what most crawls need.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli.display import add_fact, facts_grid
from orienteer.errors import InputError
from orienteer.settings import SettingsField, fields_of, from_text, merged, set_tables, stated
from orienteer.wording import counted, plain

if TYPE_CHECKING:
    from orienteer.hooks import Hook, HookFailures
    from orienteer.ledger.plan import CrawlPlan
    from orienteer.library.library import Library

HOOK: Any = typer.Option(
    [],
    metavar="NAME|FILE.py",
    help="Run this page hook on each page: an installed one, or a file with a function on_page(page). May be repeated.",
)
# The goal of a crawl of a known graph, where coverage is proved if not stated otherwise.
GRAPH_GOAL = {"until": None, "budget": None, "stop_when": "proved"}
PROCESSES: Any = typer.Option(
    None,
    "--processes",
    min=1,
    metavar="N",
    help="Read pages in N processes; default: one per core, at most 8, and no extra process for few pages.",
    show_default=False,
)
LIBRARY: Any = typer.Option(
    None, "--library", metavar="DIR", help="The folder of crawls; default: ~/.local/share/orienteer/crawls."
)


def chosen_library(path: Path | None, may_be_new: bool = False) -> Library:
    """Return the library at `path`, or the user's default. A given path must exist, unless `may_be_new`."""
    from orienteer.library.library import Library, default_library

    if path is not None and not path.is_dir() and (path.exists() or not may_be_new):
        raise InputError(f"{path}: {'not a folder of crawls' if path.exists() else 'no such folder of crawls'}")
    return Library(default_library() if path is None else path)


def token_of(token: str | None, where: str, only_this_machine: bool) -> str | None:
    """Return the password that clients of a server must send: the given `--token`, or a generated one.

    `where` is the option with the listening address.
    """
    import secrets

    from orienteer.web.security import MIN_TOKEN_CHARS, MIN_TOKEN_VARIETY

    if token is not None and not token.strip():
        raise InputError("--token is empty; give one, or have one generated with --token auto")
    if token is not None and token != "auto" and len(token) < MIN_TOKEN_CHARS:
        raise InputError(
            f"--token has {len(token)} characters and could be guessed; it needs {MIN_TOKEN_CHARS}, or say --token auto"
        )
    if token is not None and token != "auto" and len(set(token)) < MIN_TOKEN_VARIETY:
        raise InputError(
            f"--token has {len(set(token))} different characters and could be guessed; it needs {MIN_TOKEN_VARIETY}, "
            "or say --token auto"
        )
    if token is None and not only_this_machine:
        raise InputError(f"{where} can be reached from other machines: give --token T, or --token auto")
    return secrets.token_urlsafe(18) if token == "auto" else token


def describe_failures(failures: Mapping[str, HookFailures]) -> list[str]:
    """Return a line for each hook that failed."""
    return [
        f"{plain(name, 100)} on {counted(failed.n, 'page')} (it added nothing there); first {failed.first}"
        for name, failed in failures.items()
    ]


_MAX_CHARS = 40  # characters of a default
_METAVARS = {"a whole number": "N", "a number": "NUMBER"}
_NETWORK = "Network"
# What a run of a crawl needs and does not store: the parameters and their options.
_RUN: dict[str, tuple[Any, Any]] = {
    "hook": (list[str], HOOK),
    "no_hooks": (
        bool,
        typer.Option(
            False, "--no-hooks", hidden=True, help="Run no hooks, not even those that the crawl was started with."
        ),
    ),
    "credentials": (
        Path | None,
        typer.Option(
            None,
            metavar="FILE",
            help="TOML file with headers, cookies, certificates and logins by host, outside the crawl folder. It is "
            "not copied: name it again to resume.",
            rich_help_panel=_NETWORK,
        ),
    ),
    "cluster": (
        str | None,
        typer.Option(
            None,
            metavar="local-ray|HOST:PORT",
            hidden=True,
            help="Run the workers on Ray (extra: ray): local-ray, or the cluster at HOST:PORT. For this run only.",
            rich_help_panel=_NETWORK,
        ),
    ),
    "browser": (
        Path | None,
        typer.Option(
            None,
            metavar="PATH",
            hidden=True,
            help="Path of the browser, any Chromium; default: the first one found. For this run only.",
            rich_help_panel=_NETWORK,
        ),
    ),
}


@dataclass
class GivenSettings:
    """The settings that a command line gives, as tables of crawl.toml, and what a run needs but does not store.

    None means the default, whatever an earlier run has set. `hooks` None: those of the crawl.
    """

    tables: dict[str, dict[str, Any]]
    file: Path | None = None
    hooks: Sequence[Hook] | None = None
    credentials: Path | None = None
    cluster: str | None = None
    browser: str = ""

    def plan(self, folder: Path | None, stored: str | None) -> CrawlPlan:
        """Return the plan of the crawl: its stored settings (the text of crawl.toml), changed by the given ones."""
        from orienteer.ledger.plan import CrawlPlan, expect_allowed, tables_of

        path = str((folder or Path()) / "crawl.toml")
        tables = merged({} if stored is None else tables_of(stored, path), self.tables)
        if not tables.get("crawl", {}).get("seeds"):
            raise InputError(f"{folder} is not a crawl folder; to begin a crawl, name the pages to start from")
        plan = CrawlPlan.of_tables(tables, path if self.file is None else str(self.file))
        if folder is not None and stored is not None:
            expect_allowed(folder, CrawlPlan.parse(stored, path), self.tables)
        return plan


def tables_in(path: Path | None) -> dict[str, dict[str, Any]]:
    """Return the tables of a settings file; empty if none is given."""
    from orienteer.ledger.plan import tables_of

    if path is None:
        return {}
    try:
        return tables_of(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{path}: {reason}") from None


def with_settings(*options: str, runs: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of settings to a command: these, or all.

    With `runs`, the command runs a crawl: it also gets what a run needs, and the other settings that may change between
    two runs as further options.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = list(signature.parameters.values())
        place = next(k for k, one in enumerate(own) if one.name == "given")
        settings = {f"{table}__{one.name}": (table, one) for table, one in optional(options, runs)}
        of_settings = [
            _parameter(name, one, _first(one) in options if options else one.about.basic)
            for name, (_, one) in settings.items()
        ]
        run = [_of(name, kind, option) for name, (kind, option) in (_RUN if runs else {}).items()]
        more = [_of(name, kind, option) for name, (kind, option) in _MORE.items()]

        @wraps(command)
        def wrapper(**values: Any) -> None:
            texts = {name: values.pop(name) for name in settings}
            tables = [tables_in(values["settings"]), _set(values.pop("set")), _tables(texts, settings)]
            given = GivenSettings(_with_everything(merged(*tables)), values.pop("settings"))
            values.pop("help_all")
            if runs:
                _add_run(given, *(values.pop(name) for name in _RUN))
            command(**values, given=given)

        parameters = [*own[:place], *of_settings, *run, *own[place + 1 :], *more]
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return wrapper

    return decorate


def with_fields(
    parameter: str, kind: type[Any], *names: str, defaults: Mapping[str, Any] | None = None, hidden: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a parameter of a command by options for these fields of a settings class, or for all that have one.

    The parameter receives the typed values by field, and the `defaults`, which replace those of the class.
    """
    given = dict(defaults or {})
    fields = {
        name: one._replace(default=given.get(name, one.default))
        for name, one in fields_of(kind).items()
        if one.about.option and (name in names or not names)
    }

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())
        place = next(k for k, one in enumerate(own) if one.name == parameter)

        @wraps(command)
        def wrapper(**values: Any) -> None:
            typed = {name: _value(values.pop(f"{parameter}__{name}"), one) for name, one in fields.items()}
            command(**values, **{parameter: given | stated(**typed)})

        options = [_parameter(f"{parameter}__{name}", one, is_basic=not hidden) for name, one in fields.items()]
        wrapper.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*own[:place], *options, *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own[place + 1 :])]
        )
        return wrapper

    return decorate


def optional(options: Sequence[str], with_others: bool) -> Iterator[tuple[str, SettingsField]]:
    """Yield the settings with these options, or with any, and their tables; with others, those of a resumed crawl."""
    from orienteer.ledger.plan import settings_classes

    for table, kind in settings_classes().items():
        for one in fields_of(kind).values():
            is_other = not options or (with_others and not one.about.fixed)
            if one.about.option and (is_other or _first(one) in options):
                yield table, one


def _first(one: SettingsField) -> str:
    """Return the first way to write the option of a setting."""
    return one.about.option.partition(" ")[0]


def _with_everything(tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the tables where a coverage of 1 (everything) also removes an earlier limit, unless one is given."""
    crawl = tables.setdefault("crawl", {})
    if crawl.get("until") == 1:
        tables["crawl"] = {"budget": None} | crawl | {"until": None}
    return tables


def _tables(texts: dict[str, Any], settings: dict[str, tuple[str, SettingsField]]) -> dict[str, dict[str, Any]]:
    """Return the values of the options as tables."""
    tables: dict[str, dict[str, Any]] = {}
    for name, typed in texts.items():
        table, one = settings[name]
        if typed is not None and typed != []:
            tables.setdefault(table, {})[one.name] = _value(typed, one)
    return tables


def _value(typed: Any, one: SettingsField) -> Any:
    """Return the value of an option as it was typed: None, a text, a truth value, or a list of texts."""
    if isinstance(typed, str):
        return from_text(typed, one, _first(one))
    return tuple(typed) if isinstance(typed, list) else typed


def _set(texts: list[str]) -> dict[str, dict[str, Any]]:
    from orienteer.ledger.plan import settings_classes

    return set_tables(texts, settings_classes()) if texts else {}


def _add_run(
    given: GivenSettings, hooks: list[str], no_hooks: bool, credentials: Path | None, cluster: str | None,
    browser: Path | None,
) -> None:  # fmt: skip
    given.credentials, given.cluster, given.browser = credentials, cluster, str(browser or "")
    if hooks and no_hooks:
        raise InputError("--hook and --no-hooks contradict each other")
    if hooks or no_hooks:
        from orienteer.hooks import hooks_from_arguments, names_of

        given.hooks = hooks_from_arguments(hooks) if hooks else ()
        given.tables["crawl"]["hooks"] = names_of(given.hooks)


# -- the options --------------------------------------------------------------------------------------------------


def _of(name: str, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)


def _parameter(name: str, one: SettingsField, is_basic: bool) -> inspect.Parameter:
    """Return the option of a setting as a parameter of the command."""
    about, is_flag, is_list = one.about, one.hint is bool, isinstance(one.default, tuple)
    option = typer.Option(
        [] if is_list else None,
        *about.option.split(),
        help=_help(about.help, _default(one)) + " May be repeated." * is_list,
        metavar=None if is_flag else about.metavar or "|".join(about.choices) or _METAVARS.get(one.kind, "TEXT"),
        show_default=False,
        rich_help_panel=about.group or None,
        hidden=not is_basic,
    )
    return _of(name, bool | None if is_flag else list[str] if is_list else str | None, option)


def _default(one: SettingsField) -> str:
    """Return the default of a setting as text; empty if there is none, or it is long."""
    if isinstance(one.default, bool) or one.default in (MISSING, None, ()):
        return ""
    text = f"{one.default:g}" if isinstance(one.default, float) else str(one.default)
    return text if len(text) <= _MAX_CHARS else ""


def _help(text: str, *more: str) -> str:
    """Return a help text with more about it in parentheses."""
    added = ", ".join(filter(None, more))
    return f"{text.rstrip('.')} ({added})." if added else text


def _print_all(context: typer.Context, is_requested: bool) -> None:
    """Print the help with all options, and all settings."""
    if not is_requested:
        return
    from orienteer.cli import display
    from orienteer.ledger.plan import settings_classes

    for parameter in context.command.params:
        parameter.hidden = False  # type: ignore[attr-defined]
    typer.echo(context.get_help())
    rows = facts_grid()
    for name, kind in settings_classes().items():
        for one in fields_of(kind).values():
            add_fact(rows, f"{name}.{one.name}", _help(one.about.help, _default(one), one.about.allowed()))
    console = display.console()
    console.print("Settings, for --set and crawl.toml:\n", markup=False)
    console.print(rows)
    raise typer.Exit


_MORE: dict[str, tuple[Any, Any]] = {
    "set": (
        list[str],
        typer.Option(
            [],
            "--set",
            metavar="TABLE.KEY=VALUE",
            help="Any setting of crawl.toml, such as fetch.timeout_s=10; --help-all lists them. May be repeated.",
        ),
    ),
    "settings": (Path | None, typer.Option(None, help="TOML file with any settings, as in crawl.toml.")),
    "help_all": (
        bool,
        typer.Option(False, "--help-all", callback=_print_all, is_eager=True, help="Show all options and settings."),
    ),
}
