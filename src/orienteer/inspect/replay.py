"""Replay a crawl on its archive, with another policy or another goal, without the network.

Responses come from the archive instead of the web: a page, a redirect, or "there is no page". A page without an
archived response is missing: it was blocked in the crawl, or never fetched. The replay skips such pages and counts them
as not fetched, so its certificate is valid. As in the certificate of the crawl, pages that the crawl left waiting
belong to the frontier, and those that it could not fetch are blocked.

For a crawl folder the responses come from the database: it has their outcomes, the links that were followed, and the
relevance of pages to the topic, if the crawl has one. So with one worker and the same policy the replay fetches the
same pages in the same order, with the ids they had in the crawl. Pages from sitemaps are known from the beginning. For
other archives the WARC files are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Ending, Goal
from orienteer.errors import InputError
from orienteer.graph.formats.warc import ArchivedState, ArchivedWeb, read_archives
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.proved import Certificate
from orienteer.graph.survey.crawl_survey import SurveyStart, survey_seed
from orienteer.graph.survey.measured import Measured
from orienteer.graph.url_table import UrlTable
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import CrawlSettings, canonical_seeds
from orienteer.ledger.setup import spec_of_crawl
from orienteer.ledger.topic_reading import about_page
from orienteer.pages.states import PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.policies.focused import AboutPage
from orienteer.policies.policy import TrustedPages
from orienteer.policies.policy_spec import PolicySpec
from orienteer.progress import Progress, silent
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import settings_of_folder
from orienteer.store.history import DonePages
from orienteer.warc.files import warc_files

_NO_PAGES: NDArray[np.uint32] = np.zeros(0, np.uint32)

About = Callable[[int], AboutPage | None]


@dataclass(frozen=True)
class Replay:
    """The result of a replay. `n_missing` pages were requested that the archive does not have; `n_blocked` of these
    were blocked in the crawl, the others it had never fetched."""

    policy: str
    urls: UrlTable
    order: NDArray[np.uint32]
    n_missing: int
    n_blocked: int
    stopped_because: StopReason
    ending: Ending
    certificate: Certificate
    measured: Measured | None = None

    @property
    def goal_reached(self) -> bool:
        return self.ending.goal_reached


def replay(
    source: str | Path,
    policy: str | None = None,
    until: float | None = None,
    budget: int | None = None,
    *,
    by_certificate: bool = False,
    of_reachable: bool = False,
    confidence: float | None = None,
    rng: int = 0,
    seeds: Sequence[str] = (),
    progress: Progress = silent,
) -> Replay:
    """Crawl the archive of a crawl folder, or a WARC or WACZ file or a folder of them.

    With a `confidence` the coverage is measured, too, by random walks whose random numbers begin at `rng`, and the
    replay stops at the first of the two. A walk that reaches a missing page counts as if it never returned.

    A crawl folder has its seeds, policy and scope; for other archives the seeds must be given, and all is in scope.
    """
    path = Path(source)
    goal = Goal(until, budget, by_certificate, of_reachable, confidence=confidence)
    text = settings_of_folder(path) if path.is_dir() else None
    settings = _settings_from(path, seeds) if text is None else _settings_of(path, text, seeds)
    spec = PolicySpec.parse(policy or settings.policy)
    with ExitStack() as stack:
        about: About = _nothing
        trained_spec, blocked_pages = spec, _NO_PAGES
        if text is None:
            web, discovered_pages = read_archives(warc_files(path), settings.seeds, progress), _NO_PAGES
        else:
            database = stack.enter_context(DatabaseView(path / "crawl.db"))
            web, discovered_pages, relevance, blocked_pages = _stored_web(database, progress)
            if settings.topic:
                if spec.name == PolicySpec.parse(settings.policy).name:
                    trained_spec = spec_of_crawl(path, spec)
                trained_spec.expect_training()
                about = partial(_stored_about, database, relevance)
        crawl = _crawled(web, discovered_pages, settings, trained_spec, goal, about, blocked_pages, rng, progress)
    missing = np.array(crawl.blocked_pages, np.uint32)
    blocked = np.intersect1d(missing, blocked_pages)
    why = crawl.stopped_because or StopReason.FRONTIER_EMPTY
    assert web.graph.urls is not None
    proved = crawl.certificate()
    return Replay(
        policy=str(spec),
        urls=web.graph.urls,
        order=np.array(crawl.order, np.uint32),
        n_missing=len(missing),
        n_blocked=len(blocked),
        stopped_because=why,
        ending=goal.ending(why),
        certificate=proved,
        measured=None if crawl.survey is None else crawl.survey.measured(proved),
    )


def _crawled(
    web: ArchivedWeb,
    discovered_pages: NDArray[np.uint32],
    settings: CrawlSettings,
    spec: PolicySpec,
    goal: Goal,
    about: About,
    blocked_pages: NDArray[np.uint32],
    rng: int,
    progress: Progress,
) -> Crawl:
    """Run the crawl; pages that the archive does not have are blocked. `discovered_pages` are known without a link."""
    unreachable = set(blocked_pages.tolist())
    graph, hosts = web.graph, web.graph.hosts
    assert hosts is not None
    n_seeds = len(settings.seeds)
    trusted = TrustedPages(np.arange(n_seeds, dtype=np.uint32), settings.seed_trust())
    crawl = Crawl(spec.make(settings.damping), trusted, goal, hosts=hosts[:n_seeds])
    if len(discovered_pages):
        crawl.discover(discovered_pages, hosts[discovered_pages])
    if goal.until is not None and goal.confidence is not None:
        seed = survey_seed(np.random.default_rng(rng).bytes(16))
        crawl.begin_survey(SurveyStart(goal.until, goal.confidence, seed, of_reachable=goal.of_reachable))
    while (page := crawl.next()) is not None:
        links, response = graph.links(page), ArchivedState(int(web.states[page]))
        n_unknown = int(web.n_unknown[page])
        if response is ArchivedState.NONE:
            crawl.blocked(page, is_redirect=n_unknown != 0, is_missing=page not in unreachable)
        elif response is ArchivedState.NO_PAGE:
            crawl.skipped(page, n_unknown=n_unknown)
        elif response is ArchivedState.REDIRECT and len(links) == 0:
            crawl.blocked(page, is_redirect=True)
        elif response is ArchivedState.REDIRECT:
            crawl.redirected(page, int(links[0]), host=int(hosts[links[0]]))
        else:
            crawl.fetched(page, links, hosts=hosts[links], about=about(page), n_unknown=n_unknown)
        if len(crawl.order) % 1000 == 0:
            progress("replaying", len(crawl.order), graph.n_pages)
    return crawl


def _nothing(page: int) -> AboutPage | None:
    """Return None: an archive that is no crawl folder has no topic."""
    return None


def _stored_about(database: DatabaseView, relevance: NDArray[np.float64], page: int) -> AboutPage | None:
    return None if np.isnan(relevance[page]) else about_page(database, page, float(relevance[page]))


def _stored_web(
    database: DatabaseView, progress: Progress
) -> tuple[ArchivedWeb, NDArray[np.uint32], NDArray[np.float64], NDArray[np.uint32]]:
    """Return the web in the database of a crawl folder, the pages from sitemaps, the relevance of all pages (or NaN),
    and the blocked pages."""
    hosts = database.urls.seen(progress).hosts
    urls = UrlTable.of(url for block in database.urls.blocks() for url in block.split(b"\n"))
    states = np.zeros(len(urls), np.uint8)
    n_unknown = np.zeros(len(urls), np.int32)
    relevance = np.full(len(urls), np.nan)
    done: list[DonePages] = []
    discovered_pages = [_NO_PAGES]
    for events in database.history.pages_after():
        if isinstance(events, DonePages):
            states[events.pages] = _archived_states(events)
            n_unknown[events.pages] = events.n_unknown
            relevance[events.pages] = events.relevance
            done.append(events)
        else:
            discovered_pages.append(events.pages)
    sources = [np.repeat(events.pages, np.diff(events.link_offsets)) for events in done]
    targets = [events.links for events in done]
    graph = LinkGraph.from_links(
        len(urls), np.concatenate([_NO_PAGES, *sources]), np.concatenate([_NO_PAGES, *targets]), hosts, urls
    )
    blocked = [events.pages[events.states == PageState.BLOCKED] for events in done]
    web = ArchivedWeb(graph, states, n_unknown)
    return web, np.concatenate(discovered_pages), relevance, np.concatenate([_NO_PAGES, *blocked])


def _archived_states(events: DonePages) -> NDArray[np.uint8]:
    fetched = np.where(events.redirects >= 0, ArchivedState.REDIRECT, ArchivedState.PAGE)
    kinds = [events.states == PageState.FETCHED, np.isin(events.states, (PageState.FAILED, PageState.SKIPPED))]
    return np.select(kinds, [fetched, np.full_like(fetched, ArchivedState.NO_PAGE)], ArchivedState.NONE).astype(
        np.uint8
    )


def _settings_of(path: Path, text: str, seeds: Sequence[str]) -> CrawlSettings:
    """Return the settings of a crawl folder."""
    if seeds:
        raise InputError(f"{path} has its own seeds; give none for its replay")
    return CrawlPlan.parse(text, str(path / "crawl.toml")).crawl


def _settings_from(path: Path, seeds: Sequence[str]) -> CrawlSettings:
    """Return settings for an archive that is not of a crawl folder."""
    if not seeds:
        raise InputError(f"{path} is not a crawl folder; name the pages to start from (seeds)")
    return CrawlSettings(canonical_seeds(seeds))
