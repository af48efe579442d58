"""Hosts that never come to an end do not hold all workers. The clock is virtual."""

from __future__ import annotations

import heapq
from collections import Counter

import pytest

from orienteer.answers.answer import Fetched, Request
from orienteer.frontier.frontier import Frontier
from orienteer.frontier.politeness import Politeness
from orienteer.live.worker_shares import WorkerShares
from orienteer.pages.outcome import Outcome

TIMEOUT_S = 30.0
QUICK_ANSWER_S = 0.05


class Workers:
    """Good hosts that always have a page, and slow ones that have two each and never answer."""

    def __init__(self, n_workers: int, n_good: int, n_slow: int, is_shared: bool = True, n_new: int = 0) -> None:
        self.n_workers, self.is_shared = n_workers, is_shared
        self.frontier = Frontier(Politeness(delay_s=0.05))
        self.shares = WorkerShares(self.frontier, n_workers)
        self.slow = range(n_good, n_good + n_slow)
        self.host_of: dict[int, int] = {}
        self.n_answers: Counter[int] = Counter()
        self.most_held = 0
        for host in range(n_good):
            self.put(host, 0.5)
        # Hosts that are quick, but have one page only: nobody knows them before.
        for host in range(n_good + n_slow, n_good + n_slow + n_new):
            self.put(host, 0.8)

    def put(self, host: int, priority: float) -> None:
        page = len(self.host_of)
        self.host_of[page] = host
        self.frontier.put([page], [priority], [host])

    def run(self, seconds: float) -> None:
        now, under_way = 0.0, []
        has_met = False
        while now < seconds:
            while len(under_way) < self.n_workers:
                taken = self.frontier.take(now, self.is_shared and self.shares.only_quick())
                if taken is None:
                    break
                host = self.host_of[taken[0]]
                lasts_s = TIMEOUT_S if host in self.slow else QUICK_ANSWER_S
                heapq.heappush(under_way, (now + lasts_s, taken[0], lasts_s))
                self.shares.started(taken[0], host)
            self.most_held = max(self.most_held, sum(self.host_of[page] in self.slow for _, page, _ in under_way))
            later = self.frontier.next_time()
            if under_way and (later is None or len(under_way) == self.n_workers or under_way[0][0] <= later):
                now, page, lasts_s = heapq.heappop(under_way)
                self.answer(now, page, lasts_s)
                if not has_met:  # the first good page links to all the slow ones
                    has_met = True
                    for host in [*self.slow, *self.slow]:
                        self.put(host, 0.9)
            elif later is not None:
                now = later
            else:
                break

    def answer(self, now: float, page: int, lasts_s: float) -> None:
        host = self.host_of[page]
        is_slow = host in self.slow
        outcome = Outcome.TIMED_OUT if is_slow else Outcome.OK
        request = Request("http://a.test/", page)
        self.shares.ended(host, Fetched(request, outcome, status=0 if is_slow else 200, duration_s=lasts_s))
        self.frontier.release(host, now, page=page)
        self.n_answers[host] += 1
        if host not in self.slow:
            self.put(host, 0.5)


@pytest.mark.parametrize(("n_workers", "n_good"), [(32, 1), (32, 10), (4, 1), (2, 1)])
def test_slow_hosts_cost_good_ones_at_most_a_third_of_their_requests(n_workers: int, n_good: int) -> None:
    alone, beside = Workers(n_workers, n_good, 0), Workers(n_workers, n_good, 200)
    alone.run(48.0)
    beside.run(48.0)
    for host in range(n_good):
        assert beside.n_answers[host] >= 2 / 3 * alone.n_answers[host]
    assert beside.most_held >= n_workers // 2  # nor are they left out


def test_without_shares_they_would() -> None:
    """So the test above could fail."""
    alone, beside = Workers(32, 1, 0), Workers(32, 1, 200, is_shared=False)
    alone.run(48.0)
    beside.run(48.0)
    assert beside.n_answers[0] < alone.n_answers[0] / 3


def test_hosts_that_nobody_knows_get_most_workers_while_they_are_not_slow() -> None:
    workers = Workers(32, 20, 0, n_new=3000)
    workers.run(6.0)
    assert sum(n for host, n in workers.n_answers.items() if host >= 20) > 0.75 * 27 * 6.0 / QUICK_ANSWER_S


def test_one_worker_is_never_kept() -> None:
    workers = Workers(1, 1, 5)
    workers.frontier.set_quick(0, True)
    assert not workers.shares.only_quick()
