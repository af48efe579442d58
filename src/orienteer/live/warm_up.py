"""Calls everything that a crawl needs compiled, so that it is.

Kernels are compiled when they are first called, and kept in a cache: half a minute in all where there is none yet. In
the middle of a crawl fetches under way would run into their time-outs meanwhile, and nobody could stop it.
"""

from __future__ import annotations

import numpy as np

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.extract import near_duplicates
from orienteer.extract.page import extract_page
from orienteer.extract.tokens import page_tokens
from orienteer.frontier.seen import SeenUrls
from orienteer.graph.coverage import Coverage
from orienteer.graph.pagerank import pagerank
from orienteer.graph.push import Links
from orienteer.graph.sources import sources_of
from orienteer.graph.survey.entries import Edge, drawn
from orienteer.graph.survey.evidence import Evidence, kelly
from orienteer.graph.survey.lives import Lives
from orienteer.graph.survey.walking import Rows
from orienteer.ledger.band_index import BandIndex
from orienteer.ledger.depths import Depths
from orienteer.ledger.plan import CrawlPlan
from orienteer.policies.batches import BatchedPolicy
from orienteer.policies.focused import AboutPage, LinkWords
from orienteer.policies.policy import TrustedPages
from orienteer.policies.policy_spec import PolicySpec

_URL = "http://a.example/"
_PAGE = b"<title>A</title><a href=/1>b</a><a href=/2>c</a><a href=/3>d</a><p>" + b" ".join(
    b"%d" % k for k in range(200)
)


def warm_up(plan: CrawlPlan) -> None:
    """Crawl four made-up pages as this plan would: each kernel is called once, with arguments of the right types."""
    content = extract_page(_PAGE, _URL)
    _look_for_duplicates(content.text)
    page_tokens(content.text)
    seen = SeenUrls(bytes(16))
    ids = seen.number([_URL, *content.links])[0].astype(np.uint32)
    Depths().reach(ids, 0)
    seen.find_host("a.example")
    policy = PolicySpec.parse(plan.crawl.policy).make(plan.crawl.damping)
    trusted = TrustedPages(ids[:1], np.ones(1))
    crawl = Crawl(policy, trusted, Goal(until=0.999), plan.politeness, seen.page_hosts)
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
    crawl.frontier.set_delay(0, 1.0)
    crawl.frontier.rest(0, 1.0)
    crawl.frontier.set_quick(0, True)
    crawl.frontier.wake(0)
    crawl.certificate()
    crawl.waiting()
    _measure(crawl)
    rank = pagerank(crawl.web.freeze(), trusted.vector(crawl.web.n_pages), plan.crawl.damping)
    sources_of(crawl.web, ids, rank)


def _look_for_duplicates(text: str) -> None:
    """One page, among so many others that their table must grow."""
    signature = near_duplicates.signature(text)
    assert signature is not None
    index, others = BandIndex(), np.arange(200, dtype=np.uint32)
    index.add(others, np.random.default_rng(0).bytes(len(others) * len(signature)))
    index.add(np.array([200], np.uint32), signature)
    index.find(signature)
    index.remove(200, signature)


def _measure(crawl: Crawl) -> None:
    """What a survey calls: one walk, from the first page to a page that was not fetched."""
    links = Links.of(crawl.web)
    coverage = Coverage(crawl.trusted.vector(crawl.web.n_pages), counts_visits=True)
    coverage.fetch(np.zeros(1, np.uint32), links)
    edge, lives, evidence = Edge.of(coverage), Lives("", coverage.damping), Evidence(0.5)
    when = np.zeros(crawl.web.n_pages, np.int32)
    entry = int(drawn(coverage, edge.free, np.zeros(1))[0])
    lives.begin(-1, entry, links, Rows.of(when, np.zeros(len(when), np.bool_), coverage))
    evidence.stake(0, 0.5, edge.free, 1.0)
    evidence.hear(lives.scores[:1, 0])
    evidence.found(np.zeros(1))
    kelly(np.full(1, 0.2), np.ones(1), 0.5, 0.1)
