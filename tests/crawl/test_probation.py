"""New hosts of a site: a trap of them costs little, and real ones are not held up for long."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from orienteer.crawl.politeness import Politeness
from orienteer.crawl.probation import FREE_REQUESTS, PROVEN_PER_SHARED, TRIAL_PAGES, Probation
from tests.crawl.plain_frontier import HostedFrontier
from tests.crawl.virtual_crawl import Page, VirtualCrawl
from tests.tables import over_rows

BUDGET = 1000
MAIN = "www.example.test"


def drawn(page: Page, k: int) -> str:
    """A name that no other page has."""
    return blake2b(f"{page} {k}".encode(), digest_size=8).hexdigest()


def main_links(page: Page, n_pages: int = 5000) -> list[Page]:
    """A host of many pages, each of which links to ten others."""
    number = int(page[1][1:] or 0)
    return [(MAIN, f"/{(7 * number + k + 1) % n_pages}") for k in range(10)]


def wildcard_trap(page: Page) -> list[Page]:
    """The home page links to the trap; every page of the trap links to ten new hosts."""
    host, path = page
    if host != MAIN:
        return [(f"x{drawn(page, k)}.example.test", "/") for k in range(10)]
    trap = [("x.example.test", "/")] if path == "/0" else []
    return trap + main_links(page)


def deep_trap(page: Page) -> list[Page]:
    """As before, but every host of the trap has pages without end."""
    host, path = page
    return wildcard_trap(page) + ([] if host == MAIN else [(host, f"/{len(path)}{path[1:]}{k}") for k in range(3)])


def trap_on_every_page(page: Page) -> list[Page]:
    """Every page, of the trap or not, links to new hosts."""
    fresh = [(f"x{drawn(page, k)}.example.test", f"/{k % 3}") for k in range(10)]
    return fresh + (main_links(page) if page[0] == MAIN else [])


@over_rows("policy", ["certified", "breadth-first"])
@over_rows("links", [wildcard_trap, deep_trap, trap_on_every_page])
def test_wildcard_hosts_take_less_than_a_tenth_of_the_budget(links, policy: str) -> None:
    crawl = VirtualCrawl((MAIN, "/0"), links, BUDGET, policy)
    crawl.run()
    assert sum(crawl.n_fetched.values()) == BUDGET
    entrance = crawl.n_fetched["x.example.test"]  # which a good page links to, and which has proved its worth
    assert crawl.n_fetched[MAIN] + (entrance if links is deep_trap else 0) >= 0.9 * BUDGET


def test_without_probation_they_take_nearly_all_of_it() -> None:
    """So the test above could fail."""
    crawl = VirtualCrawl((MAIN, "/0"), wildcard_trap, BUDGET, "breadth-first", on_probation=False)
    crawl.run()
    assert crawl.n_fetched[MAIN] < 0.1 * BUDGET


def blogs(n_blogs: int, n_pages: int, n_main: int):
    """A directory of blogs, each linked to once, and a host of many pages."""

    def links(page: Page) -> list[Page]:
        host, path = page
        number = int(path[1:] or 0)
        if host == MAIN:
            listed = range(10 * number, min(10 * number + 10, n_blogs)) if number < n_main else ()
            return [(f"blog{k}.example.test", "/0") for k in listed] + main_links(page, n_main)
        return [(host, f"/{(3 * number + k) % n_pages}") for k in range(1, 6)]

    return links


def test_a_site_of_many_real_hosts_is_fetched_to_its_end() -> None:
    crawl = VirtualCrawl((MAIN, "/0"), blogs(200, 30, 400))
    took_s = crawl.run()
    assert len(crawl.n_fetched) == 201
    assert crawl.n_fetched[MAIN] == 400
    assert min(crawl.n_fetched.values()) == 30
    # One host alone would take 400 * 1.1 seconds for its own pages, and all blogs one after the other two hours.
    assert took_s < 4 * 440


def test_real_hosts_have_their_part_of_a_budget_while_the_main_host_has_pages() -> None:
    budget = 2000
    crawl = VirtualCrawl((MAIN, "/0"), blogs(200, 30, 100_000), budget)
    crawl.run()
    of_blogs = budget - crawl.n_fetched[MAIN]
    assert of_blogs > budget / 3
    assert len(crawl.n_fetched) > 20


def test_hosts_that_proven_ones_link_to_twice_are_requested_in_parallel() -> None:
    """Their names are in the navigation of every page."""
    others = [f"{name}.example.test" for name in ("docs", "shop", "news")]

    def links(page: Page) -> list[Page]:
        return [(host, "/0") for host in others] + [(page[0], path) for _, path in main_links(page, 300)]

    crawl = VirtualCrawl((MAIN, "/0"), links)
    took_s = crawl.run()
    assert crawl.n_fetched == dict.fromkeys([MAIN, *others], 300)
    assert took_s < 1.2 * 300 * 1.1


@over_rows("rng_seed", range(12))
def test_whatever_the_web_every_page_is_fetched_and_every_host_left_in_peace(rng_seed: int) -> None:
    """Random webs of several sites keep the promises: all pages, the delay of each host, the share."""
    rng = np.random.default_rng(rng_seed)
    print(f"rng {rng_seed}")
    hosts = [f"h{k}.site{rng.integers(4)}.test" for k in range(30)]
    pages = [(hosts[rng.integers(len(hosts))], f"/{k}") for k in range(400)]
    targets = {page: [pages[k] for k in rng.integers(0, len(pages), rng.integers(0, 6))] for page in pages}
    delay_s, workers = float(rng.choice([0.5, 1.0, 3.0])), int(rng.integers(1, 20))
    crawl = VirtualCrawl(pages[0], targets.__getitem__, delay_s=delay_s, workers=workers, policy="fractional")
    crawl.run()
    reached, stack = {pages[0]}, [pages[0]]
    while stack:
        new = set(targets[stack.pop()]) - reached
        reached |= new
        stack += new
    assert set(crawl.pages) == reached
    assert sum(crawl.n_fetched.values()) == len(reached)
    for times in crawl.requests.values():
        assert np.diff(times).min(initial=delay_s) >= delay_s - 1e-9


class PlainShare:
    """A reference implementation of the share."""

    def __init__(self) -> None:
        self.to_proven = self.shared = 0

    def may_ask(self, proven_ones_wait: bool) -> bool:
        return not proven_ones_wait or self.shared < FREE_REQUESTS + self.to_proven // PROVEN_PER_SHARED


@over_rows("rng_seed", range(6))
def test_the_share_is_as_the_plain_rule_says(rng_seed: int) -> None:
    """One proven host that has pages now and then, many others that always have."""
    rng = np.random.default_rng(rng_seed)
    print(f"rng {rng_seed}")
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    probation, plain = Probation(frontier), PlainShare()
    hosts_of_pages = np.array([0, *range(1, 500)], np.int32)
    pages = np.arange(1, 500)
    frontier.put(pages, np.ones(len(pages)), hosts_of_pages[1:])
    probation.add_hosts(["a.test"] * 500, hosts_of_pages)
    waiting = False
    now = 0.0
    for _ in range(3000):
        if not waiting and rng.random() < 0.3:
            frontier.put([0], [float(rng.choice([0.0, 2.0]))], [0])
            waiting = True
        probation.update(now, hosts_of_pages)
        taken = frontier.take(now)
        if taken is not None:
            host = int(hosts_of_pages[taken[0]])
            if host:
                assert plain.may_ask(waiting)
                plain.shared += 1
            else:
                plain.to_proven += 1
                waiting = False
            probation.request_started(host)
            probation.request_ended(host, False)
            frontier.release(host, now, page=taken[0])
        elif len(frontier) > waiting and plain.may_ask(waiting) and now > 2.0 and not waiting:
            probation.update(now + 2.0, hosts_of_pages)
            assert frontier.next_time() is not None
            assert frontier.next_time() <= now + 4.0
        now += float(rng.choice([0.1, 0.5, 1.5]))
    assert plain.shared > FREE_REQUESTS
    assert plain.to_proven > 100


def test_a_host_proves_its_worth_by_its_pages() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    probation = Probation(frontier)
    hosts = np.array([0, 1, 1, 2], np.int32)
    frontier.put([1, 2, 3], [0.9, 0.8, 0.7], hosts[1:])
    probation.add_hosts(["a.test", "a.test", "a.test"], hosts)
    assert [probation.shares_slot(host) for host in range(3)] == [False, True, True]
    probation.add_links(0, np.array([1], np.int32))
    for k in range(TRIAL_PAGES):
        assert probation.update(float(k), hosts) == []
        probation.request_started(1)
        probation.request_ended(1, True)
        if k == 0:
            probation.update(0.0, hosts)
    assert probation.update(100.0, hosts) == [1]
    assert not probation.shares_slot(1)
    assert frontier.take(101.0) == (1, 0.9)
    probation.update(102.0, hosts)
    assert frontier.take(103.0) == (3, 0.7)


def test_links_of_hosts_on_probation_prove_nothing() -> None:
    probation = Probation(HostedFrontier(Politeness(delay_s=1.0)))
    hosts = np.array([0, 1, 2], np.int32)
    probation.add_hosts(["a.test"] * 3, hosts)
    for source in (1, 1, 1, 0):
        probation.add_links(source, np.array([2, 2], np.int32))
    assert probation.update(0.0, hosts) == []
    probation.add_links(0, np.array([2], np.int32))
    assert probation.update(0.0, hosts) == [2]


def test_sites_are_independent_and_without_delays_there_is_no_probation() -> None:
    hosts = np.arange(4, dtype=np.int32)
    probation = Probation(HostedFrontier(Politeness(delay_s=1.0)))
    probation.add_hosts(["a.test", "b.test", "a.test", "c.test"], hosts)
    assert [probation.shares_slot(host) for host in range(4)] == [False, False, True, False]
    no_delay = Probation(HostedFrontier(Politeness(delay_s=0.0)))
    no_delay.add_hosts(["a.test"] * 4, hosts)
    assert not any(no_delay.shares_slot(host) for host in range(4))
