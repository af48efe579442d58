"""After any events of a crawl, a replay into a new Crawl and a restored checkpoint both give the same crawl again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orienteer.crawl.crawl import Crawl
from orienteer.ledger.event_replay import checkpoint, restore
from orienteer.pages.states import PageState
from orienteer.policies import all_policies
from orienteer.policies.focused import AboutPage, LabelledWeb, LinkWords
from orienteer.policies.policy import TrustedPages
from tests.conftest import random_web
from tests.policies.topics import policy_of, topic_of, with_topics

LIVE_POLICIES = with_topics(sorted(name for name, kind in all_policies().items() if not kind.knows_truth))
N_PAGES = 80


class Event(NamedTuple):
    kind: str
    page: int
    others: list[int]  # links, the target of a redirect, pages discovered
    hosts: list[int]
    about: AboutPage | None = None

    def happens_to(self, crawl: Crawl) -> None:
        if self.kind == "fetched":
            crawl.fetched(self.page, self.others, hosts=self.hosts, about=self.about)
        elif self.kind == "redirected":
            crawl.redirected(self.page, self.others[0], host=self.hosts[0])
        elif self.kind == "discovered":
            crawl.discover(self.others, self.hosts)
        else:
            getattr(crawl, self.kind)(self.page)


def new_crawl(name: str) -> Crawl:
    trusted = TrustedPages(np.array([0, 1, 2], np.uint32), np.full(3, 1 / 3))
    return Crawl(policy_of(name), trusted, hosts=[0, 0, 1])


def random_crawl(name: str, n: int, rng: np.random.Generator) -> tuple[Crawl, list[Event]]:
    """A crawl of a random web in which everything happens that can, with several pages in flight."""
    web = random_web(rng, N_PAGES, 3.0, with_hosts=True)
    assert web.hosts is not None
    topic = LabelledWeb(web, **topic_of(name, web))
    crawl = new_crawl(name)
    events: list[Event] = []
    in_flight: list[int] = []
    while len(events) < n:
        while len(in_flight) < 4 and (page := crawl.next()) is not None:
            in_flight.append(page)
        if not in_flight:
            break
        page = in_flight.pop(int(rng.integers(len(in_flight))))
        kind = str(rng.choice(["fetched", "failed", "redirected", "blocked"], p=[0.7, 0.1, 0.1, 0.1]))
        others = web.links(page) if kind == "fetched" else rng.integers(0, N_PAGES, 1)
        about = topic.about(page) if kind == "fetched" and rng.random() < 0.9 else None
        events.append(Event(kind, page, others.tolist(), web.hosts[others].tolist(), about))
        events[-1].happens_to(crawl)
        if rng.random() < 0.1:
            found = rng.integers(0, N_PAGES, 3)
            events.append(Event("discovered", -1, found.tolist(), web.hosts[found].tolist()))
            events[-1].happens_to(crawl)
    for page in in_flight:
        crawl.retry(page)
    return crawl, events


def assert_same(a: Crawl, b: Crawl) -> None:
    assert list(a.order) == list(b.order)
    assert a.states().tolist() == b.states().tolist()
    pages_a, values_a = a.waiting()
    pages_b, values_b = b.waiting()
    assert dict(zip(pages_a.tolist(), values_a.tolist(), strict=True)) == dict(
        zip(pages_b.tolist(), values_b.tolist(), strict=True)
    )
    assert a.policy.guarantee == b.policy.guarantee
    one, other = a.certificate(), b.certificate()
    assert one.lower == pytest.approx(other.lower, abs=1e-8)
    assert one.upper == pytest.approx(other.upper, abs=1e-8)
    assert one.blocked == pytest.approx(other.blocked, abs=1e-8)


@pytest.mark.parametrize("name", LIVE_POLICIES)
@settings(max_examples=settings().max_examples // 4)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60))
def test_a_replay_and_a_checkpoint_give_the_same_crawl(name: str, seed: int, n: int) -> None:
    crawl, events = random_crawl(name, n, np.random.default_rng(seed))
    assert_same(crawl, replayed(name, events))
    restored = from_checkpoint(name, crawl)
    assert_same(crawl, restored)
    continue_both(crawl, restored)


def replayed(name: str, events: list[Event]) -> Crawl:
    again = new_crawl(name)
    for event in events:
        if event.kind != "discovered":
            again.take(event.page)
        event.happens_to(again)
    return again


def from_checkpoint(name: str, crawl: Crawl) -> Crawl:
    again = new_crawl(name)
    for page in crawl.order:
        again.web.add(page, crawl.web.links(page))
    again.web.grow_to(crawl.web.n_pages)
    again.web.set_hosts(np.arange(crawl.web.n_pages), crawl.web.hosts)
    saved = {key: value.copy() for key, value in checkpoint(crawl).items()}
    restore(again, saved)
    return again


def continue_both(a: Crawl, b: Crawl) -> None:
    """What comes next is the same too."""
    a.recheck_goal()
    b.recheck_goal()
    while (page := a.next()) is not None:
        assert b.next() == page
        links = [(page * 7 + 1) % N_PAGES, (page * 3 + 2) % N_PAGES]
        words = LinkWords(np.array(links, np.uint32), np.array([0, 1, 2]), np.array([3, 30], np.uint32))
        about = AboutPage(float(page % 5 == 0), words)
        a.fetched(page, links, hosts=[0, 1], about=about)
        b.fetched(page, links, hosts=[0, 1], about=about)
    assert b.next() is None
    assert a.stopped_because == b.stopped_because
    assert_same(a, b)
    assert (a.states() != PageState.IN_FLIGHT).all()
