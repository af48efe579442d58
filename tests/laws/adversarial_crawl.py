"""Crawls of adversarial sites: every answer goes through the intake of a real crawl, only the network is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

from orienteer.extract import links as links_module
from orienteer.fetch.archive import archived_response
from orienteer.graph.proved import Certificate
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import RefreshSettings
from orienteer.live.start_pages import begin_epoch
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import COUNTS_AS_FETCHED
from orienteer.responses.headers import Headers
from orienteer.responses.response import PageRequest, Response
from orienteer.responses.verdict import VerdictKind
from orienteer.store.folder import CrawlFolder
from orienteer.store.record import ArchivedPage
from orienteer.workers.fetch_result import read_response
from tests.laws.adversarial_site import AdversarialSite, true_coverage


@dataclass(frozen=True)
class Moment:
    """What is proved at some moment of a crawl, and what is true."""

    n_asked: int
    proved: Certificate
    truth: float


def plan_of(site: AdversarialSite, archive: bool = False) -> CrawlPlan:
    crawl = {"seeds": site.seeds, "archive": archive, "robots": False} | site.settings["crawl"]
    return CrawlPlan.of_tables(site.settings | {"crawl": crawl, "politeness": {"delay_s": 0.0}}, "test")


def crawled(site: AdversarialSite, path: Path, every: int = 7, archive: bool = False) -> Iterator[Moment]:
    """Crawl until nothing is left, and look at what is proved now and then; closed and opened again in the middle."""
    plan = plan_of(site, archive)
    with mock.patch.object(links_module, "MAX_LINKS", site.max_links):
        with CrawlFolder.create(path, plan.to_toml()) as folder:
            yield from _moments(site, Ledger(folder, plan), every, at_most=2 * every)
        with CrawlFolder.open(path) as folder:
            yield from _moments(site, Ledger(folder, plan), every, at_most=400)


def refreshed(site: AdversarialSite, path: Path) -> None:
    """Ask for every page again."""
    plan = replace(plan_of(site, archive=True), refresh=RefreshSettings(start="seeds", revisit_chance=0.0))
    with mock.patch.object(links_module, "MAX_LINKS", site.max_links), CrawlFolder.open(path) as folder:
        begin_epoch(folder, plan, now=site.now)
        ledger = Ledger(folder, plan)
        for _ in _moments(site, ledger, every=400, at_most=400):
            pass
        ledger.end_epoch()


def _moments(site: AdversarialSite, ledger: Ledger, every: int, at_most: int) -> Iterator[Moment]:
    intake = Intake(ledger)
    for n_asked in range(1, at_most + 1):
        page = ledger.crawl.next(0.0)
        if page is not None:
            _ask(site, intake, page)
        if page is None or n_asked % every == 0:
            yield Moment(n_asked, ledger.crawl.certificate(), _truth(site, ledger))
        if page is None:
            break
    ledger.acknowledge()


def _truth(site: AdversarialSite, ledger: Ledger) -> float:
    rows = [(ledger.url(page), ledger.database.pages.row(page)) for page in range(ledger.database.urls.count())]
    covered = {
        site.name(url)
        for url, row in rows
        if row is not None and row.state in COUNTS_AS_FETCHED and row.outcome != Outcome.REDIRECT
    }
    return true_coverage(site, covered, lambda url: bool(ledger.scope.contains([url])[0]))


def _ask(site: AdversarialSite, intake: Intake, page: int) -> None:
    ledger = intake.ledger
    url = ledger.url(page)
    if ledger.page_store.is_fresh(page):
        return ledger.keep(page, 0.0)
    if site.place(url).kind == "robots":
        return intake.block(page, Outcome.ROBOTS, 0.0)
    response = answer_of(site, PageRequest(url, page))
    (read,) = intake.completed([read_response(response, intake.reading, ledger.folder.archive.record_headers())])
    if read.verdict.kind is VerdictKind.TRY_AGAIN:
        return ledger.blocked(page, read.reason, read, 0.0)
    intake.record_response(page, read, 0.0)


def answer_of(site: AdversarialSite, request: PageRequest) -> Response:
    """What the site answers to a crawler."""
    place = site.place(request.url)
    if place.kind == "timeout":
        return Response(request, Outcome.TIMED_OUT)
    if place.kind == "large":
        return Response(request, Outcome.TOO_LARGE, place.status)
    headers = [("Content-Type", place.content_type)] if place.content_type else []
    if place.kind == "redirect":
        headers.append(("Location", place.hrefs[0]))
    if place.refresh and place.kind == "page":
        headers.append(("Refresh", f"3; url={place.refresh}"))
    if place.rules == "header":
        headers.append(("X-Robots-Tag", "nofollow"))
    body = b"\x89PNG" if place.kind == "image" else site.html(request.url)
    if place.kind == "refusal":
        body = b"<p>Robots are not welcome"
    raw = "\r\n".join([f"HTTP/1.1 {place.status} -", *map(": ".join, headers), "", ""]).encode("latin-1")
    time = site.now + request.page
    page = ArchivedPage(request.url, time, place.status, Headers(headers), body, raw_headers=raw)
    return archived_response(request, page, plan_of(site).fetch)
