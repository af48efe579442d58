"""Render templates as HTML responses. Every value is escaped."""

from __future__ import annotations

import re
import shlex
import time
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from orienteer import __version__
from orienteer.graph.proved import percent
from orienteer.url import host_of
from orienteer.web.archived.views import time_text
from orienteer.web.served_crawl import served_crawl
from orienteer.wording import counted, duration, is_link, moment, plain, share_text, size, time_left, visible

_MAX_LINE_CHARS = 1000
_CODE = re.compile("`([^`]+)`")
_JOINT = re.compile(r"(?<=[./?&=_-])(?=\w)")


class NavEntry(NamedTuple):
    """An entry of the navigation: a path and its label."""

    path: str
    label: str


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page or a fragment of one.

    In addition to `values`, templates can use the navigation (`entries`), `current_path`, the name of the crawl, the
    path prefix of its pages (`root`), and whether only a fragment is requested (`is_fragment`)."""
    root = root_of(request)
    text = _environment().get_template(template).render(
        entries=request.app.state.entries,
        root=root,
        current_path=request.scope["path"].removeprefix(request.scope.get("root_path", "")),
        crawl_name=served_crawl(request).name if hasattr(request.app.state, "crawl") else "",
        is_fragment=is_fragment_request(request),
        version=__version__,
        **values,
    )  # fmt: skip
    return HTMLResponse(text, status, {"Vary": "HX-Request"})


def root_of(request: Request) -> str:
    """Return the quoted path prefix of all pages of a crawl; empty if there is none."""
    return quote(request.scope.get("root_path", ""))


def path_of_crawl(name: str) -> str:
    """Return the quoted path prefix of all pages of a crawl in a library."""
    return "/crawls/" + quote(name, safe="")


def is_fragment_request(request: Request) -> bool:
    """Whether htmx requests only the changing fragment of a page; restoring the history needs the whole page."""
    return request.headers.get("HX-Request") == "true" and "HX-History-Restore-Request" not in request.headers


def details_of(url: str) -> str:
    """Return the address of the details of a page, relative to the prefix of its crawl."""
    return "/page?" + urlencode({"url": url}, errors="replace")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("orienteer.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": visible,
        "message": _message,
        "plain": lambda text, max_chars=_MAX_LINE_CHARS: plain(str(text), max_chars),
        "counted": counted,
        "duration": duration,
        "moment": moment,
        "archive_time": time_text,
        "size": size,
        "sentence": lambda text: text[:1].upper() + text[1:] + ".",
        "percent": _percent,
        "rank": share_text,
        "at_least": percent,
        "at_most": lambda share: percent(share, up=True),
        "time_left": time_left,
        "figure": lambda number: f"{number:,}",
        "short": lambda number: f"{number:.2g}",
        "host": host_of,
        "address": lambda url: url.partition("://")[2] or url,
        "broken": _broken,
        "path": lambda url: "/" + url.partition("://")[2].partition("/")[2],
        "query": lambda values: urlencode(values, doseq=True, errors="replace"),
        "details": details_of,
        "crawl_path": path_of_crawl,
        "lines": lambda text: "\n".join(visible(line) for line in text.splitlines()),
        "shell": shlex.quote,
        "ago": _ago,
        "phase": lambda phase: "Not started" if phase == "new" else phase.capitalize(),
    }
    environment.tests["link"] = is_link
    return environment


def _message(text: object, max_chars: int = _MAX_LINE_CHARS) -> Markup:
    """Format a message in which commands are in backticks.

    >>> _message("run `orienteer index <DIR>`")
    Markup('run <code>orienteer index &lt;DIR&gt;</code>')
    """
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(plain(str(text), max_chars)))))


def _ago(unix_s: float) -> str:
    """Return a coarse age: `just now`, `5 min ago`, `3 h ago`, `2 days ago`."""
    seconds = max(0.0, time.time() - unix_s)
    for unit_s, name in ((86_400, "day"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            n = int(seconds // unit_s)
            return f"{counted(n, 'day')} ago" if name == "day" else f"{n} {name} ago"
    return "just now"


def _broken(text: object) -> Markup:
    """Allow line breaks after the dots and slashes of a host or a URL.

    >>> _broken("www.example.org/a<b")
    Markup('www.<wbr>example.<wbr>org/<wbr>a&lt;b')
    """
    return Markup("<wbr>").join(_JOINT.split(str(text)))  # each piece is escaped


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"
