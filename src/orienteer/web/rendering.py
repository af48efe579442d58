"""Templates into answers. Everything that is not written in a template is escaped, whatever it is."""

from __future__ import annotations

import re
import shlex
import time
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from orienteer import __version__
from orienteer.graph.proved import percent
from orienteer.url import host_of
from orienteer.web.archived.addresses import time_text
from orienteer.web.served_crawl import ServedCrawl
from orienteer.wording import counted, duration, is_link, moment, plain, share_text, size, time_left, visible

_MAX_LINE_CHARS = 1000
_JOINT = re.compile(r"(?<=[./?&=_-])(?=\w)")


class Entry(NamedTuple):
    """A page in the navigation: where it is, and what it is called."""

    path: str
    label: str


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, or a part of one; it knows the navigation (`entries`), where it is (`here`), the crawl's name if it is of
    a crawl, the path that all pages of that are under (`root`), and whether it `is_part` of one that is there."""
    root = root_of(request)
    text = _environment().get_template(template).render(
        entries=request.app.state.entries,
        root=root,
        here=request.scope["path"].removeprefix(request.scope.get("root_path", "")),
        crawl_name=served_crawl(request).name if hasattr(request.app.state, "crawl") else "",
        is_part=wants_part(request),
        version=__version__,
        **values,
    )  # fmt: skip
    return HTMLResponse(text, status, {"Vary": "HX-Request"})


def root_of(request: Request) -> str:
    """The path that all pages of a crawl are under, as it stands in addresses; empty where there is none."""
    return quote(request.scope.get("root_path", ""))


def path_of_crawl(name: str) -> str:
    """The path that all pages of a crawl of a library are under."""
    return "/crawls/" + quote(name, safe="")


def served_crawl(request: Request) -> ServedCrawl:
    crawl = request.app.state.crawl
    assert isinstance(crawl, ServedCrawl)
    return crawl


def wants_part(request: Request) -> bool:
    """Whether only the part of the page that changes is asked for; going back in the history wants all of it."""
    return request.headers.get("HX-Request") == "true" and "HX-History-Restore-Request" not in request.headers


def details_of(url: str) -> str:
    """The address of the details of a page, under the path of its crawl."""
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
    }
    environment.tests["link"] = is_link
    return environment


def _ago(unix_s: float) -> str:
    """`just now`, `5 min ago`, `3 h ago`, `2 days ago`: as exactly as one wants to know it."""
    seconds = max(0.0, time.time() - unix_s)
    for unit_s, name in ((86_400, "day"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            n = int(seconds // unit_s)
            return f"{counted(n, 'day')} ago" if name == "day" else f"{n} {name} ago"
    return "just now"


def _broken(text: object) -> Markup:
    """A host or a URL that may be broken after its dots and slashes, so that no word need be.

    >>> _broken("www.example.org/a<b")
    Markup('www.<wbr>example.<wbr>org/<wbr>a&lt;b')
    """
    return Markup("<wbr>").join(_JOINT.split(str(text)))  # each piece is escaped


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"
