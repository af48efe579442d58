"""Crawls of adversarial sites: every answer goes through the intake of a real crawl, only the network is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.meaning import Verdict
from orienteer.extract import links as links_module
from orienteer.fetch.archive import archived_answer
from orienteer.graph.proved import Certificate
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import COUNTS_AS_FETCHED
from orienteer.store.folder import CrawlFolder
from orienteer.store.record import ArchivedPage
from tests.laws.adversarial_site import AdversarialSite, true_coverage


@dataclass(frozen=True)
class Moment:
    """What is proved at some moment of a crawl, and what is true."""

    n_asked: int
    proved: Certificate
    truth: float


def plan_of(site: AdversarialSite) -> CrawlPlan:
    crawl = {"seeds": site.seeds, "archive": False, "robots": False} | site.settings["crawl"]
    return CrawlPlan.of_tables(site.settings | {"crawl": crawl, "politeness": {"delay_s": 0.0}}, "test")


def crawled(site: AdversarialSite, path: Path, every: int = 7) -> Iterator[Moment]:
    """Crawl until nothing is left, and look at what is proved now and then; closed and opened again in the middle."""
    plan = plan_of(site)
    with mock.patch.object(links_module, "MAX_LINKS", site.max_links):
        with CrawlFolder.create(path, plan.to_toml()) as folder:
            yield from _moments(site, Ledger(folder, plan), every, at_most=2 * every)
        with CrawlFolder.open(path) as folder:
            yield from _moments(site, Ledger(folder, plan), every, at_most=400)


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
    rows = [(ledger.url(page), ledger.database.page(page)) for page in range(ledger.database.n_urls())]
    covered = {
        site.name(url)
        for url, row in rows
        if row is not None and row.state in COUNTS_AS_FETCHED and row.outcome != Outcome.REDIRECT
    }
    return true_coverage(site, covered, lambda url: bool(ledger.scope.contains([url])[0]))


def _ask(site: AdversarialSite, intake: Intake, page: int) -> None:
    ledger = intake.ledger
    url = ledger.url(page)
    if site.place(url).kind == "robots":
        return intake.block(page, Outcome.ROBOTS, 0.0)
    answer = answer_of(site, Request(url, page))
    (read,) = intake.read([answer])
    if read.meaning.verdict is Verdict.TRY_AGAIN:
        return ledger.blocked(page, read.reason, read, 0.0)
    intake.take_in(page, read, 0.0)


def answer_of(site: AdversarialSite, request: Request) -> Fetched:
    """What the site answers to a crawler."""
    place = site.place(request.url)
    if place.kind == "timeout":
        return Fetched(request, Outcome.TIMED_OUT)
    if place.kind == "large":
        return Fetched(request, Outcome.TOO_LARGE, place.status)
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
    page = ArchivedPage(request.url, 0.0, place.status, headers, body)
    return archived_answer(request, page, plan_of(site).fetch)
