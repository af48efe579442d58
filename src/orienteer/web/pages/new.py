"""The page for a new crawl at /new: a form with URL, scope, goal and pace, and a preview of the crawl.

A crawl starts only as previewed: if the form was changed after the preview, a new preview comes first.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from orienteer import __version__
from orienteer.errors import InputError, OrienteerError
from orienteer.fetch.settings import FetchSettings
from orienteer.library.commands import checked_url, further_settings, typed_url
from orienteer.library.jobs import Jobs
from orienteer.url import host_of, site_of
from orienteer.web.error_responses import status_of
from orienteer.web.forms import count_in, fields_of, seconds_in, share_in
from orienteer.web.rendering import NavEntry, is_fragment_request, path_of_crawl, render
from orienteer.web.served_library import served_library
from orienteer.wording import counted, duration, goal_share, plain, size

MORE = further_settings()
FIELDS = ("url", "name", "scope", "until", "budget", "delay", "contact", *MORE)
DEFAULTS = {"scope": "host", "until": "98", "budget": "10000", "delay": "1"}


class Choice(NamedTuple):
    """A scope: its name, its label in the form, and its explanation."""

    name: str
    label: str
    about: str


SCOPES = (
    Choice("host", "This host", "Pages whose address has exactly the same host, such as www.example.org."),
    Choice("site", "The whole site", "All hosts of the site: www.example.org, blog.example.org and so on."),
    Choice("prefix", "This folder", "Only pages below the folder of the URL, such as example.org/docs/."),
    Choice("web", "Wherever links lead", "Pages of any site: only the coverage and number of pages below limit it."),
)
_MANY_HOSTS = ("site", "web")


class PlanLine(NamedTuple):
    """A line of the preview."""

    label: str
    text: str


@dataclass(frozen=True)
class NewCrawl:
    """The parsed form. `until` is 1 if everything reachable is to be fetched.

    `start` is the URL for the command: without a scheme if none was typed.
    """

    url: str
    start: str
    name: str
    scope: str
    until: float
    budget: int
    delay_s: float
    contact: str
    more: Mapping[str, str]  # the settings of MORE that were typed, by name

    @property
    def user_agent(self) -> str:
        """The User-Agent header, with the contact of the user."""
        return f"Orienteer/{__version__} (+{self.contact})" if self.contact else FetchSettings().user_agent

    @property
    def options(self) -> dict[str, str | int | float | bool]:
        """The options of the job. It indexes during the crawl, which can thus be searched soon."""
        return {
            "url": self.start, "scope": self.scope, "until": self.until, "budget": self.budget, "delay": self.delay_s,
            "user_agent": self.user_agent, "index": True, **self.more,
        }  # fmt: skip


def form_values(given: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the form as they were typed, or their defaults."""
    return {name: given.get(name, DEFAULTS.get(name, "")) for name in FIELDS}


def parse_form(typed: Mapping[str, str], jobs: Jobs) -> NewCrawl:
    """Parse and check the form without starting anything; an OrienteerError of one line if it is invalid."""
    if not typed["url"]:
        raise InputError("Which page should the crawl start at? Paste its address, such as https://example.org/")
    url = checked_url(typed["url"])
    if typed["scope"] not in [choice.name for choice in SCOPES]:
        raise InputError(f"no scope is named {typed['scope'][:50]!r}")
    until, budget, delay_s = share_in(typed["until"]), count_in(typed["budget"]), seconds_in(typed["delay"])
    if until is None or budget is None or delay_s is None:
        raise InputError("The coverage, the number of pages and the pause are all needed.")
    name = typed["name"] or jobs.library.name_for(url)
    more = {name: typed[name] for name in MORE if typed[name]}
    new = NewCrawl(url, typed_url(typed["url"]), name, typed["scope"], until, budget, delay_s, typed["contact"], more)
    jobs.check("crawl", new.name, new.options)
    return new


def form_hash(typed: Mapping[str, str]) -> str:
    """Return a hash of the form; a crawl starts only if the preview had the same one."""
    return hashlib.sha256("\n".join(typed[name] for name in FIELDS).encode(errors="replace")).hexdigest()[:16]


def preview(new: NewCrawl, jobs: Jobs) -> list[PlanLine]:
    """Describe what the crawl will do, line by line."""
    folder = jobs.library.path / new.name
    return [
        PlanLine("Fetched", _extent(new) + _scheme(new)),
        PlanLine("Pace", _pace(new)),
        PlanLine("Ends", _end(new)),
        PlanLine("Takes", _time(new)),
        PlanLine(
            "robots.txt",
            "is obeyed on every host: pages that it forbids are not fetched, and longer pauses are respected.",
        ),
        PlanLine("User agent", _user_agent(new)),
        PlanLine("Stored", f"in {plain(str(folder), 400)}, on this machine only. {_free_space(jobs)}"),
        *([PlanLine("Settings", _further(new))] if new.more else []),
        PlanLine("Search", "works a few seconds after the start, and while it runs."),
        PlanLine("Continues", "when this page or the server is closed. It can be stopped and resumed at any time."),
    ]


def _further(new: NewCrawl) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {plain(text, 100)}" for name, text in new.more.items())


def _user_agent(new: NewCrawl) -> str:
    if not new.contact:
        return "Orienteer, without a contact: give one on the left, so that owners of sites can reach you."
    return plain(new.user_agent, 200)


def _extent(new: NewCrawl) -> str:
    host = host_of(new.url)
    if new.scope == "web":
        return f"pages of any site that links lead to, from {plain(new.start, 300)} on."
    if new.scope == "site":
        return f"pages of {site_of(host)} and all its hosts, from {plain(new.start, 300)} on. No other site is used."
    if new.scope == "prefix":
        folder = new.url.partition("://")[2].partition("?")[0].rpartition("/")[0] + "/"
        return f"pages below {plain(folder, 300)}, from {plain(new.start, 300)} on. Nothing else is requested."
    return f"pages of {host}, from {plain(new.start, 300)} on. No other host is used."


def _scheme(new: NewCrawl) -> str:
    return "" if "://" in new.start else " It is requested by https, and by http if that does not respond."


def _pace(new: NewCrawl) -> str:
    host = "each host" if new.scope in _MANY_HOSTS else host_of(new.url)
    if not new.delay_s:
        return f"one request after the other to {host}, without a pause: for hosts of your own only."
    rate = 1 / new.delay_s
    often = f"at most {rate:.3g} requests a second" if rate > 1 else f"at most one request in {_seconds(new.delay_s)}"
    return f"{often} to {host}, one at a time."


def _seconds(seconds: float) -> str:
    return "one second" if seconds == 1 else f"{seconds:.3g} seconds"


def _end(new: NewCrawl) -> str:
    limit = f"after {counted(new.budget, 'page')}"
    if new.until >= 1:
        return f"when everything reachable is fetched, or {limit}, whichever comes first."
    return f"when {goal_share(new.until)} is covered, or nothing is left, or {limit}, whichever comes first."


def _time(new: NewCrawl) -> str:
    if not new.delay_s:
        return "as long as the host needs to respond to all requests."
    if new.scope in _MANY_HOSTS:
        return "depends on the number of hosts, since they are crawled in parallel."
    limit = duration(new.budget * new.delay_s)
    return f"at least {limit} if it fetches all {counted(new.budget, 'page')}; small sites are done much sooner."


def _free_space(jobs: Jobs) -> str:
    path = jobs.library.path
    while not path.exists():
        path = path.parent
    return f"{size(shutil.disk_usage(path).free)} are free there."


ENTRY = NavEntry("/new", "New crawl")
router = APIRouter()


@router.get("/new", include_in_schema=False)
def new_page(request: Request) -> HTMLResponse:
    """Return the form, and the preview of the crawl."""
    given = {name: value.strip() for name, value in request.query_params.items()}
    values = _template_values(request, form_values(given))
    if not given.get("url") and not is_fragment_request(request):
        values["problem"] = ""  # the user has not typed anything yet
    return render(request, "_fragments/preview.html" if is_fragment_request(request) else "new.html", **values)


@router.post("/new", include_in_schema=False)
async def start_by_form(request: Request) -> Response:
    given = await fields_of(request)
    return await run_in_threadpool(_start, request, given)


def _start(request: Request, given: dict[str, str]) -> Response:
    typed = form_values(given)
    if given.get("previewed") != form_hash(typed):
        values = _template_values(request, typed)
        values["notice"] = "" if values["problem"] else "The preview has changed. Start the crawl if it is right."
        return render(request, "new.html", 400 if values["problem"] else 200, **values)
    state = served_library(request)
    try:
        new = parse_form(typed, state.jobs)
        state.jobs.start("crawl", new.name, new.options)
    except OrienteerError as error:
        return render(
            request, "new.html", status_of(error), **_template_values(request, typed) | {"problem": str(error)}
        )
    return RedirectResponse(path_of_crawl(new.name) + "/crawl", 303)


def _template_values(request: Request, typed: dict[str, str]) -> dict[str, Any]:
    """Return the template's values for the form and the preview."""
    state = served_library(request)
    values = {
        "typed": typed,
        "scopes": SCOPES,
        "further": MORE,
        "has_further": any(typed[name] for name in MORE),
        "previewed": form_hash(typed),
        "problem": "",
        "notice": "",
        "lines": [],
        "name": "",
    }
    try:
        new = parse_form(typed, state.jobs)
    except OrienteerError as error:
        return values | {"problem": str(error)}
    return values | {"lines": preview(new, state.jobs), "name": new.name}
