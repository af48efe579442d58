"""Calls all kernels that a crawl needs, so that they are compiled: in a child process, so that a crawl starts at once.

Kernels are compiled at their first call, and cached: half a minute in all with an empty cache. In the middle of a crawl
requests in flight would time out meanwhile, and the crawl would not react to a stop.

The child calls every kernel once; each is stored in the cache as soon as it is compiled. When the child has finished,
the crawl loads the kernels from the cache; until then it runs them as plain Python. While a folder is opened and there
is much to compute, the crawl waits for the child; with requests in flight it never waits. A crawl that ends earlier
kills the child, and the kernels compiled so far stay in the cache.

If the child fails, the crawl compiles the kernels itself, once none of its requests is in flight.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

import numpy as np

from orienteer import kernel_folder
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.politeness import Politeness
from orienteer.crawl.seen import SeenUrls
from orienteer.errors import ProcessError
from orienteer.extract.tokens import page_tokens
from orienteer.graph.coverage import Coverage
from orienteer.graph.growing_graph import PageHosts, sources_of
from orienteer.graph.pagerank import pagerank
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.evidence import Evidence, kelly
from orienteer.graph.survey.walking import Edge, Lives, Rows, draw_entries
from orienteer.kernel import NotCompiled, compiled_here, only_loading, substituted
from orienteer.ledger.band_index import BandIndex
from orienteer.ledger.event_replay import Depths
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import HostsInScope, Scope
from orienteer.policies.batches import BatchedPolicy
from orienteer.policies.focused import AboutPage, LinkWords
from orienteer.policies.policy import Policy, TrustedPages
from orienteer.policies.policy_spec import PolicySpec
from orienteer.processes.child import Child
from orienteer.workers.serving import warm_up_reading

_URL = "http://a.example/"
_NICENESS = 10  # of the child: on a single core the crawl has priority


def warm_up(plan: CrawlPlan) -> None:
    """Crawl four made-up pages as this plan would: each kernel is called once, with arguments of the right types."""
    content, signature = warm_up_reading()
    _look_for_duplicates(signature)
    page_tokens(content.text)
    seen = SeenUrls(bytes(16))
    ids = seen.number([_URL, *content.links])[0]
    Depths().reach(ids, 0)
    HostsInScope(Scope(plan.scope, [_URL]), seen).divided([_URL, *content.links], ids)
    seen.find_host("a.example")
    warm_up_crawl(PolicySpec.parse(plan.crawl.policy).make(plan.crawl.damping), plan.politeness, seen.page_hosts)


def warm_up_crawl(policy: Policy, politeness: Politeness, hosts: PageHosts | None = None) -> None:
    """Crawl four made-up pages with this policy, without a folder."""
    ids = np.arange(4, dtype=np.uint32)
    trusted = TrustedPages(ids[:1], np.ones(1))
    crawl = Crawl(policy, trusted, Goal(until=0.999), politeness, hosts)
    page = crawl.next()
    assert page == 0
    crawl.retry(page)
    crawl.take(page)
    words = np.array([1, 2, 3], np.uint32)
    about = AboutPage(0.0, LinkWords(ids[1:], np.arange(4), words), words)
    crawl.fetched(page, ids[1:], about=about)
    if isinstance(policy, BatchedPolicy):
        policy.scores(crawl.web)  # before anything relevant was found, and after
        policy.learn(page, about._replace(relevance=1.0), crawl.web)
        policy.scores(crawl.web)
    crawl.discover(ids)
    crawl.take(1)
    crawl.redirected(1, 2)
    crawl.blocked(3)
    crawl.take(2)
    crawl.failed(2)
    crawl.set_delay(0, 1.0)
    crawl.snooze(0, 1.0)
    crawl.set_quick(0, True)
    crawl.wake(0)
    crawl.certificate()
    crawl.waiting()
    _measure(crawl)
    rank = pagerank(crawl.web.freeze(), trusted.vector(crawl.web.n_pages), policy.damping)
    sources_of(crawl.web, ids, rank)


def _look_for_duplicates(signature: bytes) -> None:
    """Add one page to an index that is full, so that its table must grow."""
    index, others = BandIndex(), np.arange(200, dtype=np.uint32)
    index.add(others, np.random.default_rng(0).bytes(len(others) * len(signature)))
    index.add(np.array([200], np.uint32), signature)
    index.find(signature)
    index.remove(200, signature)


def _measure(crawl: Crawl) -> None:
    """Call the kernels of a survey: one walk from the first page to a page that was not fetched."""
    links = LinkRows.of(crawl.web)
    coverage = Coverage(crawl.trusted.vector(crawl.web.n_pages), counts_visits=True)
    coverage.fetch(np.zeros(1, np.uint32), links)
    edge, lives, evidence = Edge.of(coverage), Lives("", coverage.damping), Evidence(0.5)
    when = np.full(crawl.web.n_pages, 2, np.int32)
    entry = int(draw_entries(coverage, edge.free, np.zeros(1))[0])
    lives.begin(1, entry, links, Rows.of(when, coverage))
    evidence.stake(0, 0.5, edge.free, 1.0)
    evidence.add_scores(lives.scores[:1, 0])
    evidence.peak(np.zeros(1))
    kelly(np.full(1, 0.2), np.ones(1), 0.5, 0.1)


class KernelCompilation:
    """The kernels of a crawl while a child process compiles them."""

    def __init__(self, process: Child, plan: CrawlPlan) -> None:
        self._process = process
        self._plan = plan
        self._is_done = False

    def poll(self) -> bool | None:
        """Return True once they are compiled; None while they run as plain Python."""
        return True if self._is_done or self._process.poll() == 0 else None

    def wait(self) -> None:
        """Wait until they are compiled."""
        if self._process.wait() != 0:
            self.compile_here()

    @property
    def has_failed(self) -> bool:
        """Whether the child ended before they were compiled."""
        return not self._is_done and self._process.poll() not in (None, 0)

    def compile_here(self) -> None:
        """Compile them in this process, which blocks until they are ready."""
        with compiled_here():
            warm_up(self._plan)
        self._is_done = True


@contextmanager
def loaded_kernels(plan: CrawlPlan) -> Iterator[KernelCompilation | None]:
    """Prepare the kernels of a crawl with this plan: yields None if they are loaded, else their compilation."""
    process = None if _are_loaded(plan) else _started(plan)
    if process is None:
        yield None
        return
    kernels = KernelCompilation(process, plan)
    try:
        with substituted(kernels):
            yield kernels
    finally:
        process.kill()
        process.close()


def _are_loaded(plan: CrawlPlan) -> bool:
    folder = kernel_folder.folder()
    if folder is None or not any(folder.iterdir()):
        return False
    try:
        with only_loading():
            warm_up(plan)
    except NotCompiled:
        return False
    return True


def _started(plan: CrawlPlan) -> Child | None:
    """Start the child; without a cache or a process compile in this process and return None."""
    if kernel_folder.folder() is not None:
        with suppress(ProcessError):
            return Child(_compile, plan.crawl.policy, plan.crawl.damping)
    warm_up(plan)
    return None


def _compile(channel: Connection, policy: str, damping: float) -> None:
    os.nice(_NICENESS)
    warnings.filterwarnings("error", kernel_folder.NOT_STORED)  # without a cache the child is of no use
    settings = {"seeds": ["http://a.example/"], "policy": policy, "damping": damping, "topic": True}
    warm_up(CrawlPlan.of_tables({"crawl": settings}, "crawl"))
