"""Host slots: pages, assets and host requests share them, whether or not the crawl knows the host."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import orienteer
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.frontier import Frontier
from orienteer.crawl.goal import Goal
from orienteer.crawl.host_rules import HostRules
from orienteer.crawl.host_scheduler import HostScheduler, HostSlot
from orienteer.crawl.politeness import Failure, Politeness, RetrySettings
from orienteer.crawl.seen import SeenUrls
from orienteer.pages.outcome import Outcome
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from orienteer.responses.headers import Headers
from orienteer.responses.response import AssetRequest, HostRequest, HostRequestKind, PageRequest, Response

SEED = "http://a.test/"
IMAGE = "http://cdn.test/x.png"
ROBOTS = "http://cdn.test/robots.txt"


class Hosts:
    """A crawl of one page with a delay of one second."""

    def __init__(self, connections: int = 1) -> None:
        self.seen = SeenUrls(bytes(16))
        self.seen.number([SEED])
        trusted = TrustedPages(np.array([0], np.uint32), np.ones(1))
        politeness = Politeness(delay_s=1.0, connections=connections)
        self.crawl = Crawl(make_policy("breadth-first"), trusted, Goal(), politeness, self.seen.page_hosts)
        rules = HostRules("Orienteer/1.0", True, True)
        self.scheduler = HostScheduler(self.crawl, self.seen, rules, RetrySettings(back_off_s=2.0), 4, 1)
        self.scheduler.register_hosts(0.0)

    def discover(self, url: str, now: float) -> int:
        pages = self.seen.number([url])[0]
        self.crawl.discover(pages)
        self.scheduler.register_hosts(now)
        return int(self.seen.hosts[pages[0]])

    def robots(self, text: bytes, now: float) -> None:
        request = HostRequest(ROBOTS, HostRequestKind.ROBOTS)
        response = Response(request, Outcome.OK, 200, headers=Headers(), body=text, content=text)
        self.scheduler.rules.receive_robots("cdn.test", response, now)
        self.scheduler.apply_delay("cdn.test", now)


def test_pages_and_assets_of_a_host_share_its_slot() -> None:
    hosts = Hosts()
    page, asset = hosts.scheduler.next_page(0.0), AssetRequest(f"{SEED}x.png")
    assert page == 0
    request = PageRequest(SEED, page)
    hosts.scheduler.start(request, HostSlot("a.test", 0, page), 0.0)
    assert hosts.scheduler.free_at("a.test", 0.0) == math.inf
    hosts.scheduler.end(request, 2.0, 200, 2.0, is_page=True)
    hosts.crawl.fetched(page, [], 2.0)
    assert hosts.scheduler.free_at("a.test", 2.0) == 3.0
    hosts.scheduler.take(asset, "a.test", 3.0)
    assert hosts.scheduler.free_at("a.test", 3.0) == math.inf
    assert hosts.crawl.frontier.slot_free_at(0) == math.inf


def test_the_slot_of_a_host_that_becomes_known_moves_to_the_frontier() -> None:
    hosts, request = Hosts(), AssetRequest(IMAGE)
    hosts.scheduler.take(request, "cdn.test", 0.0)
    assert hosts.scheduler.free_at("cdn.test", 0.0) == math.inf
    host = hosts.discover("http://cdn.test/page", 0.0)
    assert hosts.crawl.frontier.slot_free_at(host) == math.inf
    slot = hosts.scheduler.end(request, 5.0)
    assert slot.host == host
    assert hosts.crawl.frontier.slot_free_at(host) == 6.0
    assert hosts.scheduler.free_at("cdn.test", 5.5) == 6.0


@pytest.mark.parametrize("is_known", [False, True])
def test_a_crawl_delay_applies_whoever_requested_robots_txt(is_known: bool) -> None:
    hosts = Hosts()
    if is_known:
        hosts.discover("http://cdn.test/page", 0.0)
    hosts.robots(b"User-agent: *\nCrawl-delay: 7", 0.0)
    if not is_known:
        hosts.discover("http://cdn.test/page", 0.0)
    request = AssetRequest(IMAGE)
    hosts.scheduler.take(request, "cdn.test", 1.0)
    hosts.scheduler.end(request, 2.0)
    assert hosts.scheduler.free_at("cdn.test", 2.0) == 9.0


@pytest.mark.parametrize("is_known", [False, True])
def test_failures_of_assets_back_off_and_never_abandon_pages(is_known: bool) -> None:
    hosts = Hosts()
    host = hosts.discover("http://cdn.test/page", 0.0) if is_known else None
    now, back_offs = 0.0, []
    while not hosts.scheduler.is_abandoned_for_assets("cdn.test"):
        back_off_s = hosts.scheduler.record_asset_failure("cdn.test", None, Failure(Outcome.NO_CONNECTION), now)
        back_offs.append(back_off_s)
        if back_off_s is not None:
            assert hosts.scheduler.free_at("cdn.test", now) == now + back_off_s
            now += back_off_s
    assert back_offs == [2.0, 4.0, None]
    assert hosts.scheduler.health.n_failing == hosts.scheduler.health.n_abandoned == 0
    assert host is None or not hosts.scheduler.health.is_abandoned(host)


def test_the_longest_in_flight_are_listed_until_the_next_ones_start() -> None:
    hosts = Hosts()
    requests = [PageRequest(f"{SEED}{page}", page) for page in range(100)]
    for request in requests:
        slot = HostSlot("a.test", 0, request.page, url=request.url)
        hosts.scheduler.start(request, slot, 100.0 - request.page)
    hosts.scheduler.take(AssetRequest(IMAGE), "cdn.test", 0.0)
    assert [slot.page for slot in hosts.scheduler.longest_in_flight(3)] == [99, 98, 97], "and no assets"
    for request in requests[1:]:
        hosts.scheduler.end(request, 101.0)
    assert [slot.page for slot in hosts.scheduler.longest_in_flight(3)] == [99, 98, 97]
    hosts.scheduler.drop_ended()
    assert [slot.page for slot in hosts.scheduler.longest_in_flight(3)] == [0]


def test_only_the_crawl_changes_its_frontier() -> None:
    changes = {
        "end_slot", "enter", "follow", "put", "release", "remove", "set_delay", "set_quick", "share",
        "share_slot", "snooze", "take", "take_entry", "take_slot", "wake",
    }  # fmt: skip
    reads = {
        "all", "best_first", "contains_each", "has_pages", "is_snoozed_indefinitely", "n_by_slot", "n_quick_waiting",
        "n_waiting_by_slot", "next_time", "own_priority", "position", "priority", "slot_free_at",
    }  # fmt: skip
    assert {name for name in vars(Frontier) if not name.startswith("_")} == changes | reads, "a new method: which?"
    root = Path(orienteer.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        if path not in (root / "crawl/crawl.py", root / "crawl/frontier.py"):
            uses = re.findall(r"\bfrontier\.(\w+)\(", path.read_text())
            found += [f"{path.relative_to(root)}: {name}" for name in uses if name in changes]
    assert found == []
