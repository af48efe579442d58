"""The commands that may be started from a library, and their options.

Options come from untrusted forms, so there is an allow-list: an unknown name is an error, a value is parsed, checked
and formatted again. User input never becomes a flag or a path. A number may be given as text; an empty text counts as
not given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import InputError, unknown_name
from orienteer.exports import all_exporters
from orienteer.ledger.plan import CrawlPlan, settings_classes
from orienteer.settings import SettingsField, fields_of, from_text, merged, option_word
from orienteer.url import canonical_url
from orienteer.wording import plain

KINDS = ("crawl", "refresh", "index", "estimate", "export")
Options = Mapping[str, str | int | float | bool]

MIN_DELAY_S = 0.1  # between requests to a public host
_MAX_TEXT_CHARS = 500
_WALK_BUDGET = re.compile(r"\d{1,3}(\.\d{1,3})?n", re.ASCII)
_NUMBER = re.compile(r"\d{1,12}", re.ASCII)
_ON, _OFF = ("on", "true", "yes", "1"), ("off", "false", "no", "0")


def checked_url(text: str) -> str:
    """Return the start URL of a crawl in its canonical form; https if it has no scheme."""
    display = plain(text, 200)
    if len(text) > 8 * _MAX_TEXT_CHARS:
        raise InputError(f"{display}: the address is too long")
    scheme, colon, rest = text.strip().partition("://")
    if not colon:
        scheme, rest = "https", text.strip()
    if scheme.lower() not in ("http", "https"):
        raise InputError(f"{display}: only http and https can be crawled")
    if "@" in re.split(r"[/\\?#]", rest.lstrip("/\\"), maxsplit=1)[0]:
        raise InputError(f"{display}: the address contains a user name or password; leave out the part before the @")
    url = canonical_url(f"{scheme}://{rest}")
    if url is None or (not colon and rest.lower().startswith(("http:", "https:"))):
        raise InputError(f"{display!r} is not a valid URL; write it like https://example.org/")
    return url


def typed_url(text: str) -> str:
    """Return the start URL of a crawl as an argument of the command: without a scheme if none was typed.

    The command then tries https and http.

    >>> typed_url("Example.org/a b"), typed_url("http://example.org")
    ('example.org/a%20b', 'http://example.org/')
    """
    url = checked_url(text)
    host = url.split("/")[2]
    return url.removeprefix("https://") if "://" not in text and ("." in host or ":" in host) else url


@dataclass(frozen=True)
class _Option:
    """How the text of an option is parsed, and its flag. One that is a setting has its table and field."""

    read: Callable[[str], Any]
    flag: str = ""
    table: str = ""
    field: SettingsField | None = None

    def word(self, value: Any) -> str:
        """Return the word for the command line; empty if there is none."""
        if self.field is not None:
            return option_word(self.table, self.field, value)
        return self.flag if value is True or not self.flag else f"{self.flag}={value}"


def _setting(name: str, option: str) -> _Option:
    """Return the option for a setting of crawl.toml, such as `politeness.delay_s`."""
    table, _, key = name.partition(".")
    field = fields_of(settings_classes()[table])[key]
    return _Option(lambda text: from_text(_text(text), field, option), "", table, field)


def _walk_budget(text: str) -> str:
    if not (_WALK_BUDGET.fullmatch(text) or _NUMBER.fullmatch(text)):
        raise ValueError("give a number of pages, or times the domain, such as 2n")
    return text


def _switch(text: str) -> bool:
    if text.lower() not in (*_ON, *_OFF):
        raise ValueError("it must be on or off")
    return text.lower() in _ON


def _text(text: str) -> str:
    if len(text) > _MAX_TEXT_CHARS or not text.isprintable():
        raise ValueError(f"it must be one line of at most {_MAX_TEXT_CHARS} characters")
    return text


def _settings(**names: str) -> dict[str, _Option]:
    return {option: _setting(name, option) for option, name in names.items()}


_INDEX = {"index": _Option(_switch, "--index")}
_GOAL = _settings(until="crawl.until", budget="crawl.budget")
_MORE = _settings(
    stop_when="crawl.stop_when", render="render.mode", screenshots="render.screenshots", assets="crawl.assets"
)
_RUN = _GOAL | _settings(delay="politeness.delay_s", user_agent="fetch.user_agent") | _MORE | _INDEX
_DEPTH = _settings(max_depth="scope.max_depth")
_NEW = _RUN | {"url": _Option(typed_url)} | _settings(scope="scope.kind") | _DEPTH
_OPTIONS: dict[str, dict[str, _Option]] = {
    "new crawl": _NEW,
    "crawl": _RUN,
    "refresh": _GOAL | {"due": _Option(_switch, "--due")} | _INDEX,
    "index": {"rebuild": _Option(_switch, "--rebuild")},
    "estimate": {"budget": _Option(_walk_budget, "--budget")},
    "export": {
        "format": _Option(_text, "--format"),
        "all_pages": _Option(_switch, "--all"),
        "full_text": _Option(_switch, "--full-text"),
    },
}


def further_settings() -> dict[str, SettingsField]:
    """Return the settings of a new crawl that few crawls need, by the names of their options."""
    return {name: option.field for name, option in (_DEPTH | _MORE).items() if option.field is not None}


def settings_of_new_crawl() -> dict[str, SettingsField]:
    """Return the settings that the options of a new crawl set, by the names of the options."""
    return {name: option.field for name, option in _NEW.items() if option.field is not None}


def checked_options(kind: str, options: Options) -> dict[str, Any]:
    """Return the parsed options without those that are empty or off; InputError names an invalid one."""
    if kind not in KINDS:
        raise unknown_name("kind of job", plain(kind, 40), KINDS)
    known = _OPTIONS["new crawl" if kind == "crawl" and str(options.get("url", "")).strip() else kind]
    values: dict[str, Any] = {}
    for name, given in options.items():
        if name not in known:
            if str(given).strip():
                raise unknown_name(f"option of this {kind}", plain(name, 40), known)
            continue
        text = str(given).strip()
        if not text:
            continue
        try:
            value = known[name].read(text)
        except InputError:
            raise
        except ValueError as error:
            raise InputError(f"{name} is {plain(text, 80)!r}; {error}") from None
        if value is not False:
            values[name] = value
    if kind == "export":
        _check_export(values)
    return values


def _check_export(values: dict[str, Any]) -> None:
    if "format" not in values:
        raise InputError(f"an export needs a format: {', '.join(sorted(all_exporters()))}")
    if values["format"] not in all_exporters():
        raise unknown_name("export format", values["format"], all_exporters())


def settings_of(kind: str, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the options as tables of a plan."""
    known = _OPTIONS["new crawl"] if kind == "crawl" else _OPTIONS[kind]
    tables: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        option = known[name]
        if option.field is not None:
            tables.setdefault(option.table, {})[option.field.name] = value
    return tables


def plan_of_new_crawl(url: str, values: Mapping[str, Any], allow_private: bool) -> CrawlPlan:
    """Return the plan of a new crawl; InputError if it is invalid."""
    fixed: dict[str, dict[str, Any]] = {"crawl": {"seeds": [url]}, "fetch": {"allow_private": allow_private}}
    plan = CrawlPlan.of_tables(merged(settings_of("crawl", values), fixed), "the new crawl")
    if plan.scope.kind == "web" and plan.crawl.budget is None:
        raise InputError("a crawl of the whole web needs a budget, the largest number of pages")
    return plan


def command_line(kind: str, folder: Path, values: Mapping[str, Any], out: Path | None = None) -> tuple[str, ...]:
    """Return the arguments of a command: `orienteer index /…/example.org --rebuild`; `out` is the file of an export."""
    known = _OPTIONS["new crawl" if "url" in values else kind]
    flags = list(filter(None, (known[name].word(value) for name, value in values.items())))
    if "url" in values:
        return ("orienteer", "crawl", values["url"], f"--output={folder}", *flags)
    if kind == "refresh":
        return ("orienteer", "refresh", str(folder), f"--library={folder.parent}", *flags)
    if out is not None:
        flags.append(f"--output={out}")
    return ("orienteer", kind, str(folder), *flags)
