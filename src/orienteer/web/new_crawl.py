"""A crawl that somebody is about to start in the browser: what was typed, what it means, and what will happen."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from orienteer import __version__
from orienteer.errors import InputError
from orienteer.fetch.settings import FetchSettings
from orienteer.library.commands import checked_url
from orienteer.library.jobs import Jobs
from orienteer.url import host_of, site_of
from orienteer.web.forms import count_in, seconds_in, share_in
from orienteer.wording import counted, duration, goal_share, plain, size

FIELDS = ("url", "name", "scope", "until", "budget", "delay", "contact")
DEFAULTS = {"scope": "host", "until": "98", "budget": "10000", "delay": "1"}


class Choice(NamedTuple):
    """A scope: its name, what it is called here, and what it means."""

    name: str
    label: str
    about: str


SCOPES = (
    Choice("host", "This host", "Pages whose address has exactly the same host, such as www.example.org."),
    Choice("site", "The whole site", "All hosts of the site: www.example.org, blog.example.org and so on."),
    Choice("prefix", "This folder", "Only pages below the folder of the URL, such as example.org/docs/."),
    Choice("web", "Wherever links lead", "Pages of any site: only the coverage and the number of pages below end it."),
)
_MANY_HOSTS = ("site", "web")


class Said(NamedTuple):
    """A line of what will happen."""

    label: str
    text: str


@dataclass(frozen=True)
class NewCrawl:
    """What was typed, understood. `until` is 1 where everything in reach is to be fetched."""

    url: str
    name: str
    scope: str
    until: float
    budget: int
    delay_s: float
    contact: str

    @property
    def user_agent(self) -> str:
        """What hosts are told: who asks, and how they can be reached."""
        return f"Orienteer/{__version__} (+{self.contact})" if self.contact else FetchSettings().user_agent

    @property
    def options(self) -> dict[str, str | int | float | bool]:
        """Those of the job; the index follows while it runs, so that it can be searched soon."""
        return {
            "url": self.url, "scope": self.scope, "until": self.until, "budget": self.budget, "delay": self.delay_s,
            "user_agent": self.user_agent, "index": True,
        }  # fmt: skip


def typed_in(given: Mapping[str, str]) -> dict[str, str]:
    """The fields of the form as they were typed, with what stands there before anybody types."""
    return {name: given.get(name, DEFAULTS.get(name, "")) for name in FIELDS}


def understood(typed: Mapping[str, str], jobs: Jobs) -> NewCrawl:
    """What was typed, if a crawl can be started with it; nothing is started. Otherwise an error of one line."""
    if not typed["url"]:
        raise InputError("Which page does it start at? Paste its address, such as https://example.org/")
    url = checked_url(typed["url"])
    if typed["scope"] not in [choice.name for choice in SCOPES]:
        raise InputError(f"no scope is named {typed['scope'][:50]!r}")
    until, budget, delay_s = share_in(typed["until"]), count_in(typed["budget"]), seconds_in(typed["delay"])
    if until is None or budget is None or delay_s is None:
        raise InputError("The coverage, the number of pages and the pause are all needed.")
    name = typed["name"] or jobs.library.name_for(url)
    new = NewCrawl(url, name, typed["scope"], until, budget, delay_s, typed["contact"])
    jobs.check("crawl", new.name, new.options)
    return new


def seen(typed: Mapping[str, str]) -> str:
    """Stands for what was typed when the preview was shown: what starts must be what was seen."""
    return hashlib.sha256("\n".join(typed[name] for name in FIELDS).encode(errors="replace")).hexdigest()[:16]


def preview(new: NewCrawl, jobs: Jobs) -> list[Said]:
    """What will happen, line by line."""
    folder = jobs.library.path / new.name
    return [
        Said("Fetched", _places(new)),
        Said("Pace", _pace(new)),
        Said("Ends", _end(new)),
        Said("Takes", _time(new)),
        Said("robots.txt", "is obeyed, on every host: what it forbids is not fetched, and a longer pause is kept."),
        Said("Says who it is", _who(new)),
        Said("Kept", f"in {plain(str(folder), 400)}, on this machine only. {_space(jobs)}"),
        Said("Search", "works a few seconds after the start, and while it runs."),
        Said("Goes on", "when this page or the server is closed. It can be stopped and resumed at any time."),
    ]


def _who(new: NewCrawl) -> str:
    if not new.contact:
        return "as Orienteer, without a contact: give one on the left, so that owners of sites can reach you."
    return f"as {plain(new.user_agent, 200)}"


def _places(new: NewCrawl) -> str:
    host = host_of(new.url)
    if new.scope == "web":
        return f"pages of any site that links lead to, from {plain(new.url, 300)} on."
    if new.scope == "site":
        return f"pages of {site_of(host)} and all its hosts, from {plain(new.url, 300)} on. No other site is asked."
    if new.scope == "prefix":
        folder = new.url.partition("://")[2].partition("?")[0].rpartition("/")[0] + "/"
        return f"pages below {plain(folder, 300)}, from {plain(new.url, 300)} on. Nothing else is asked for."
    return f"pages of {host}, from {plain(new.url, 300)} on. No other host is asked."


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
    most = f"after {counted(new.budget, 'page')}"
    if new.until >= 1:
        return f"when everything in reach is fetched, or {most}, whatever comes first."
    return f"when {goal_share(new.until)} is covered, or nothing is left, or {most}, whatever comes first."


def _time(new: NewCrawl) -> str:
    if not new.delay_s:
        return "as long as the host needs to answer."
    if new.scope in _MANY_HOSTS:
        return "depends on the number of hosts, since they are asked side by side."
    most = duration(new.budget * new.delay_s)
    return f"at least {most} if it fetches all {counted(new.budget, 'page')}; small sites are done much sooner."


def _space(jobs: Jobs) -> str:
    place = jobs.library.path
    while not place.exists():
        place = place.parent
    return f"{size(shutil.disk_usage(place).free)} are free there."
