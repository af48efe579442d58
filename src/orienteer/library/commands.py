"""Which commands may be started from a library, and with which options.

Options come from forms, so they are taken one by one from a list: a name that is not on it is refused, and a value is
read, checked and written anew. Nothing that somebody typed becomes a flag or a path. Texts are taken as well as
numbers; an empty text is no answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import InputError, unknown_name
from orienteer.exports import all_exporters
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import KINDS as SCOPES
from orienteer.settings import merged
from orienteer.url import canonical_url
from orienteer.wording import plain

KINDS = ("crawl", "refresh", "index", "estimate", "export")
Options = Mapping[str, str | int | float | bool]

RENDER_MODES = ("auto", "never", "always")
MIN_DELAY_S = 0.1  # where strangers' hosts are asked
_MAX_TEXT_CHARS = 500
_TIMES_THE_DOMAIN = re.compile(r"\d{1,3}(\.\d{1,3})?n", re.ASCII)
_NUMBER = re.compile(r"\d{1,12}", re.ASCII)
_YES, _NO = ("on", "true", "yes", "1"), ("off", "false", "no", "0")
_NONE = "none"


def checked_url(text: str) -> str:
    """The URL that a crawl is to begin at, in its canonical form; `example.org` will do for `https://example.org/`."""
    shown = plain(text, 200)
    if len(text) > 8 * _MAX_TEXT_CHARS:
        raise InputError(f"{shown}: the address is too long")
    scheme, colon, rest = text.strip().partition("://")
    if not colon:
        scheme, rest = "https", text.strip()
    if scheme.lower() not in ("http", "https"):
        raise InputError(f"{shown}: only addresses with http or https can be crawled")
    if "@" in re.split(r"[/\\?#]", rest.lstrip("/\\"), maxsplit=1)[0]:
        raise InputError(f"{shown}: there is a name or a password in the address; leave out what is before the @")
    url = canonical_url(f"{scheme}://{rest}")
    if url is None or (not colon and rest.lower().startswith(("http:", "https:"))):
        raise InputError(f"{shown!r} is not a valid URL; write it like https://example.org/")
    return url


@dataclass(frozen=True)
class _Option:
    """How the text of an option is read, the flag that it becomes, and the setting of a plan that it is, if any."""

    read: Callable[[str], Any]
    flag: str
    table: str = ""
    key: str = ""


def _share(text: str) -> float | str:
    number, per = (text[:-1], 100.0) if text.endswith("%") else (text, 1.0)
    if text.lower() == _NONE:
        return _NONE
    value = _number(number) / per
    if not 0 < value <= 1:
        raise ValueError("a coverage is above 0 and at most 1, such as 0.98 or 98 %")
    return value


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or "_" in text:
        raise ValueError("it must be a number")
    return value


def _count(text: str) -> int:
    digits = text.replace(",", "")
    if not _NUMBER.fullmatch(digits):
        raise ValueError("it must be a whole number")
    return int(digits)


def _pages(text: str) -> int | str:
    return _NONE if text.lower() == _NONE else _count(text)


def _times_the_domain(text: str) -> str:
    if not (_TIMES_THE_DOMAIN.fullmatch(text) or _NUMBER.fullmatch(text)):
        raise ValueError("give a number of pages, or times the domain, such as 2n")
    return text


def _yes(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise ValueError("it must be on or off")
    return text.lower() in _YES


def _text(text: str) -> str:
    if len(text) > _MAX_TEXT_CHARS or not text.isprintable():
        raise ValueError(f"it must be one line of at most {_MAX_TEXT_CHARS} characters")
    return text


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return text

    return read


_GOAL = {
    "until": _Option(_share, "--until", "crawl", "until"),
    "budget": _Option(_pages, "--budget", "crawl", "budget"),
}
_RUN = _GOAL | {
    "delay": _Option(_number, "--delay", "politeness", "delay_s"),
    "user_agent": _Option(_text, "--user-agent", "fetch", "user_agent"),
    "render": _Option(_one_of(*RENDER_MODES), "--render", "render", "mode"),
    "screenshots": _Option(_yes, "--screenshots", "render", "screenshots"),
    "requisites": _Option(_yes, "--requisites", "crawl", "requisites"),
    "index": _Option(_yes, "--index"),
}
_NEW = _RUN | {
    "url": _Option(checked_url, ""),
    "scope": _Option(_one_of(*SCOPES), "--scope", "scope", "kind"),
    "max_depth": _Option(_count, "--max-depth", "scope", "max_depth"),
}
_OPTIONS: dict[str, dict[str, _Option]] = {
    "new crawl": _NEW,
    "crawl": _RUN,
    "refresh": _RUN,
    "index": {"rebuild": _Option(_yes, "--rebuild")},
    "estimate": {"budget": _Option(_times_the_domain, "--budget")},
    "export": {
        "format": _Option(_text, "--format"),
        "all_pages": _Option(_yes, "--all"),
        "full_text": _Option(_yes, "--full-text"),
    },
}


def option_names(kind: str, is_new: bool = False) -> tuple[str, ...]:
    """What may be said about a job of this kind."""
    return tuple(_OPTIONS["new crawl" if kind == "crawl" and is_new else kind])


def checked_options(kind: str, options: Options) -> dict[str, Any]:
    """The options as values; InputError names the one that cannot be. What is empty or off is left out."""
    if kind not in KINDS:
        raise unknown_name("kind of job", plain(kind, 40), KINDS)
    known = _OPTIONS["new crawl" if kind == "crawl" and str(options.get("url", "")).strip() else kind]
    found: dict[str, Any] = {}
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
            why = str(error) if "convert" not in str(error) else "it must be a number"
            raise InputError(f"{name} is {plain(text, 80)!r}; {why}") from None
        if value is not False:
            found[name] = value
    if kind == "export":
        _check_export(found)
    return found


def _check_export(found: dict[str, Any]) -> None:
    if "format" not in found:
        raise InputError(f"an export needs a format: {', '.join(sorted(all_exporters()))}")
    if found["format"] not in all_exporters():
        raise unknown_name("export format", found["format"], all_exporters())


def settings_of(kind: str, found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The options as tables of a plan; a goal that is taken back is none."""
    known = _OPTIONS["new crawl"] if kind == "crawl" else _OPTIONS[kind]
    tables: dict[str, dict[str, Any]] = {}
    for name, value in found.items():
        option = known[name]
        if option.table and value != _NONE:
            tables.setdefault(option.table, {})[option.key] = value
    return tables


def planned(url: str, found: Mapping[str, Any], allow_private: bool) -> CrawlPlan:
    """The plan of a new crawl; InputError says what is wrong with it."""
    tables = merged(settings_of("crawl", found), {"crawl": {"seeds": [url]}, "fetch": {"allow_private": allow_private}})
    plan = CrawlPlan.of_tables(tables, "the new crawl")
    if plan.scope.kind == "web" and plan.crawl.budget is None:
        raise InputError("a crawl of the whole web needs a budget: say how many pages at most")
    return plan


def command(kind: str, folder: Path, found: Mapping[str, Any], out: Path | None = None) -> tuple[str, ...]:
    """What to type: `orienteer index /…/example.org --rebuild`; `out` is where an export goes."""
    known = _OPTIONS["new crawl" if "url" in found else kind]
    flags = []
    for name, value in found.items():
        flag = known[name].flag
        if flag:
            flags.append(flag if value is True else f"{flag}={value}")
    if "url" in found:
        return ("orienteer", "crawl", found["url"], f"--output={folder}", *flags)
    if kind == "refresh":
        return ("orienteer", "crawl", str(folder), "--refresh", *flags)
    if out is not None:
        flags.append(f"--out={out}")
    return ("orienteer", kind, str(folder), *flags)
