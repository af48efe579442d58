"""Slow hosts do not hold all workers. The clock is simulated."""

from __future__ import annotations

import heapq
from collections import Counter

import pytest

from orienteer.crawl.host_scheduler import QuickHosts
from orienteer.crawl.politeness import Politeness
from tests.crawl.plain_frontier import HostedFrontier

TIMEOUT_S = 30.0
QUICK_ANSWER_S = 0.05


class Workers:
    """Good hosts that always have a page, and slow ones with two pages each that never respond."""

    def __init__(self, n_workers: int, n_good: int, n_slow: int, is_shared: bool = True, n_new: int = 0) -> None:
        self.n_workers, self.is_shared = n_workers, is_shared
        self.frontier = HostedFrontier(Politeness(delay_s=0.05))
        self.shares = QuickHosts(self.frontier, n_workers)
        self.slow = range(n_good, n_good + n_slow)
        self.host_of: dict[int, int] = {}
        self.was_quick: dict[int, bool] = {}
        self.n_answers: Counter[int] = Counter()
        self.most_held = 0
        for host in range(n_good):
            self.put(host, 0.5)
        # Hosts that are quick but have only one page, so that they are never known as quick.
        for host in range(n_good + n_slow, n_good + n_slow + n_new):
            self.put(host, 0.8)

    def put(self, host: int, priority: float) -> None:
        page = len(self.host_of)
        self.host_of[page] = host
        self.frontier.put([page], [priority], [host])

    def run(self, seconds: float) -> None:
        now, in_flight = 0.0, []
        has_met = False
        while now < seconds:
            while len(in_flight) < self.n_workers:
                taken = self.frontier.take(now, self.is_shared and self.shares.only_quick())
                if taken is None:
                    break
                host = self.host_of[taken[0]]
                lasts_s = TIMEOUT_S if host in self.slow else QUICK_ANSWER_S
                heapq.heappush(in_flight, (now + lasts_s, taken[0], lasts_s))
                self.was_quick[taken[0]] = self.shares.start(host)
            self.most_held = max(self.most_held, sum(self.host_of[page] in self.slow for _, page, _ in in_flight))
            later = self.frontier.next_time()
            if in_flight and (later is None or len(in_flight) == self.n_workers or in_flight[0][0] <= later):
                now, page, lasts_s = heapq.heappop(in_flight)
                self.response(now, page, lasts_s)
                if not has_met:  # the first good page links to all the slow ones
                    has_met = True
                    for host in [*self.slow, *self.slow]:
                        self.put(host, 0.9)
            elif later is not None:
                now = later
            else:
                break

    def response(self, now: float, page: int, lasts_s: float) -> None:
        host = self.host_of[page]
        is_slow = host in self.slow
        self.shares.end(host, self.was_quick.pop(page), not is_slow, lasts_s)
        self.frontier.release(host, now, page=page)
        self.n_answers[host] += 1
        if host not in self.slow:
            self.put(host, 0.5)


@pytest.mark.parametrize(("n_workers", "n_good"), [(32, 1), (32, 10), (4, 1), (2, 1)])
def test_slow_hosts_cost_good_ones_at_most_a_third_of_their_requests(n_workers: int, n_good: int) -> None:
    alone, shared = Workers(n_workers, n_good, 0), Workers(n_workers, n_good, 200)
    alone.run(48.0)
    shared.run(48.0)
    for host in range(n_good):
        assert shared.n_answers[host] >= 2 / 3 * alone.n_answers[host]
    assert shared.most_held >= n_workers // 2  # slow hosts are not left out


def test_without_shares_slow_hosts_hold_the_workers() -> None:
    """This shows that the test above could fail."""
    alone, shared = Workers(32, 1, 0), Workers(32, 1, 200, is_shared=False)
    alone.run(48.0)
    shared.run(48.0)
    assert shared.n_answers[0] < alone.n_answers[0] / 3


def test_new_hosts_get_most_workers_while_they_are_not_slow() -> None:
    workers = Workers(32, 20, 0, n_new=3000)
    workers.run(6.0)
    assert sum(n for host, n in workers.n_answers.items() if host >= 20) > 0.75 * 27 * 6.0 / QUICK_ANSWER_S


def test_a_single_worker_is_never_reserved() -> None:
    workers = Workers(1, 1, 5)
    workers.frontier.set_quick(0, True)
    assert not workers.shares.only_quick()
