"""What a browser waits for, asked for as a page would be: its turn, its robots.txt, its limits, its secrets."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orienteer.access.access_file import read_access
from orienteer.answers.answer import Fetched, Request
from orienteer.fake_web.answers import Answer
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite, RequestHeaders
from orienteer.frontier.frontier import Frontier
from orienteer.frontier.politeness import Politeness
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.kept_parts import KeptParts
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.part_turns import PartTurns
from orienteer.live.parts import NO_URL, STOPPED
from orienteer.live.session import opened
from orienteer.settings import merged
from orienteer.url import host_of
from orienteer.workers.received import Received
from tests.live.shown_pages import PNG, moved, parts_of, png

HOME = "http://a.test/"
Heard = dict[str, Fetched | str]


@contextmanager
def live_of(web: FakeWeb | None, folder: Path, access: Path | None = None, **tables: Any) -> Iterator[LiveCrawl]:
    """A crawl that is open, and not running."""
    given = {
        "crawl": {"seeds": [HOME], "processes": 1, "guess_sitemap": False, "commit_every_s": 0.01},
        "politeness": {"delay_s": 0.0},
        "fetch": {} if web is None else {"connect_to": web.address},
        "retry": {"back_off_s": 0.01, "max_back_off_s": 0.02},
    }
    plan = CrawlPlan.of_tables(merged(given, tables), "test")
    with opened(folder, plan, access=None if access is None else read_access(access, folder)) as live:
        live.crew.record_headers = live.ledger.folder.archive.record_headers()
        yield live


def wanted(live: LiveCrawl, *urls: str) -> Heard:
    """What a browser hears that wants these, after all has come."""
    heard: Heard = {}

    def then(url: str) -> Any:
        def hear(answer: Fetched | str) -> None:
            assert url not in heard
            heard[url] = answer

        return hear

    for url in urls:
        live.parts.want(url, "image", then(url))
    while live.parts.n_waiting or live.parts.n_under_way:
        live.parts.ask(time.monotonic())
        for answer in live.crew.poll(0.05):
            live.parts.take_in(answer)
    assert heard.keys() == set(urls)
    return heard


def answers(heard: Heard) -> dict[str, tuple[int, bytes] | str]:
    return {url: got if isinstance(got, str) else (got.status, got.content) for url, got in heard.items()}


def test_a_browser_gets_what_there_is(tmp_path: Path) -> None:
    pages: dict[str, Any] = {
        "http://cdn.test/a.png": png("a"),
        "http://cdn.test/moved.png": moved("/a.png"),
        "http://cdn.test/broken": Answer("oh", status=500),
        "http://cdn.test/packed.css": Answer("b{}", content_type="text/css", gzip=True),
        "http://cdn.test/large": Answer(bytes(2_000), content_type="image/png"),
    }
    robots = {"cdn.test": "User-agent: *\nDisallow: /private"}
    with FakeWeb(MadeSite(pages, robots)) as web, live_of(web, tmp_path, fetch={"max_part_bytes": 1_000}) as live:
        urls = [*pages, "http://cdn.test/none", "http://cdn.test/private/x", "ftp://cdn.test/"]
        heard = wanted(live, *urls)
        assert answers(heard) == {
            "http://cdn.test/a.png": (200, PNG + b"a" * 30),
            "http://cdn.test/moved.png": (302, b""),
            "http://cdn.test/broken": (500, b"oh"),
            "http://cdn.test/packed.css": (200, b"b{}"),
            "http://cdn.test/large": "too large",
            "http://cdn.test/none": (404, heard["http://cdn.test/none"].content),  # type: ignore[union-attr]
            "http://cdn.test/private/x": "robots.txt forbids it",
            "ftp://cdn.test/": NO_URL,
        }
        moved_there = heard["http://cdn.test/moved.png"]
        assert isinstance(moved_there, Fetched)
        assert moved_there.location == "http://cdn.test/a.png"
        n_asked = len(web.requests)
        assert answers(wanted(live, *urls)) == answers(heard)
        live.ledger.acknowledge()
        live.parts._kept = KeptParts(live.ledger)  # nothing is in memory
        again = answers(wanted(live, *urls))
        assert again == answers(heard)
        assert len(web.requests) == n_asked
        assert [web.count(url) for url in pages] == [1] * len(pages)
        assert live.ledger.seen.find_host("cdn.test") is None


def test_memory_is_bounded(tmp_path: Path) -> None:
    pages = {f"http://cdn.test/{k}.png": png(str(k)) for k in range(4)}
    with FakeWeb(MadeSite(pages)) as web, live_of(web, tmp_path, crawl={"robots": False}) as live:
        live.parts._kept = KeptParts(live.ledger, max_memory_bytes=2_500)
        heard = wanted(live, *pages)
        assert len(live.parts._kept._memory) == 2
        assert answers(wanted(live, *pages)) == answers(heard)
        assert len(web.requests) == 4  # the others were read from the archive


def test_private_addresses_are_refused(tmp_path: Path) -> None:
    urls = ["http://127.0.0.1:9/a.png", "http://127.0.0.1:9/b.png", "http://localhost:9/", "http://[::1]:9/x"]
    with live_of(None, tmp_path) as live:
        assert set(wanted(live, *urls).values()) == {"forbidden address"}
        live.ledger.acknowledge()
    assert {row.outcome for row in parts_of(tmp_path)} == {"forbidden address"}


def test_a_host_out_of_reach_is_given_up_for_parts_alone(tmp_path: Path) -> None:
    with FakeWeb(MadeSite({})) as web:
        address = web.address
    urls = [f"http://cdn.test/{k}.png" for k in range(6)]
    with live_of(None, tmp_path, fetch={"connect_to": address}, crawl={"requisites": True}) as live:
        live.parts.want_all(urls)
        assert wanted(live, "http://cdn.test/a.png") == {"http://cdn.test/a.png": "robots.txt out of reach"}
        assert live.health.n_failing == live.health.n_given_up == 0
        live.ledger.acknowledge()
    assert {row.outcome for row in parts_of(tmp_path)} == {"robots.txt out of reach", "host given up"}


def test_a_part_that_fails_is_tried_once_more(tmp_path: Path) -> None:
    n_asked: dict[str, int] = defaultdict(int)

    def sometimes(host: str, target: str, headers: RequestHeaders) -> Answer:
        n_asked[target] += 1
        return Answer(status=500) if n_asked[target] == 1 or target == "/never.png" else png("x")

    pages = {f"http://cdn.test/{name}.png": sometimes for name in ("later", "never")}
    tables = {"crawl": {"requisites": True, "robots": False}}
    with FakeWeb(MadeSite(pages)) as web, live_of(web, tmp_path, **tables) as live:
        live.parts.want_all(pages)
        wanted(live)
        live.ledger.acknowledge()
    assert n_asked == {"/later.png": 2, "/never.png": 2}
    assert {row.url: row.outcome for row in parts_of(tmp_path)} == {
        "http://cdn.test/later.png": "ok",
        "http://cdn.test/never.png": "http 500",
    }


def test_nobody_waits_after_the_end(tmp_path: Path) -> None:
    heard: list[Fetched | str] = []
    with FakeWeb(MadeSite({})) as web, live_of(web, tmp_path, crawl={"requisites": True}) as live:
        live.parts.want_all(["http://cdn.test/wanted.png"])
        for url in ("http://cdn.test/wanted.png", "http://cdn.test/awaited.png"):
            live.parts.want(url, "image", heard.append)
        live.parts.ask(time.monotonic())  # for robots.txt
        live.parts.cancel()
        assert heard == [STOPPED] * 2
        assert (live.parts.n_waiting, live.parts.n_under_way) == (1, 1)
        live.crew.cancel()
        for answer in live.crew.poll(0.0):
            live.parts.take_in(answer)
        live.ledger.acknowledge()
    assert [(row.url, row.outcome) for row in parts_of(tmp_path)] == [("http://cdn.test/wanted.png", "")]


def test_secrets_go_to_their_own_origin(tmp_path: Path) -> None:
    seen: dict[str, str | None] = {}

    def told(host: str, target: str, headers: RequestHeaders) -> Answer:
        seen[host + target] = headers.get("x-key")
        return png("x")

    access = tmp_path / "access.toml"
    access.write_text('["http://a.test"]\nheaders = { X-Key = "kept-between-us-alone" }\n')
    access.chmod(0o600)
    urls = ["http://a.test/a.png", "http://cdn.test/a.png", "http://www.a.test/a.png"]
    site = MadeSite(dict.fromkeys(urls, told))
    with FakeWeb(site) as web, live_of(web, tmp_path / "crawl", access) as live:
        wanted(live, *urls)
    assert seen == {"a.test/a.png": "kept-between-us-alone", "cdn.test/a.png": None, "www.a.test/a.png": None}


class Clocked:
    """Notes by the crawl's own clock when requests to a host begin, and when their answers are taken in."""

    def __init__(self, live: LiveCrawl) -> None:
        self.began: dict[str, list[float]] = defaultdict(list)
        self.ended: dict[str, list[float]] = defaultdict(list)
        self._crew, self._start, self._poll = live.crew, live.crew.start, live.crew.poll
        live.crew.start, live.crew.poll = self.start, self.poll  # type: ignore[method-assign]

    def start(self, request: Request) -> None:
        self.began[host_of(request.url)].append(time.monotonic())
        self._start(request)

    def poll(self, timeout_s: float) -> list[Received]:
        answers = self._poll(timeout_s)
        for answer in answers:
            self.ended[host_of(answer.request.url)].append(time.monotonic())
        return answers


def test_hosts_have_their_delays_between_pages_and_parts(tmp_path: Path) -> None:
    delay_s = 0.05
    pages: dict[str, Any] = {
        HOME: "".join(f"<img src=/{k}.png><img src=http://cdn.test/{k}.png><a href=/{k}>x</a>" for k in range(4)),
        **{f"http://a.test/{k}": f"<img src=/{k + 1}.png>" for k in range(4)},
        **{f"http://{host}.test/{k}.png": png(f"{host}{k}") for k in range(5) for host in ("a", "cdn")},
    }
    robots = {"cdn.test": "User-agent: *\nCrawl-delay: 0.1"}
    tables = {"crawl": {"requisites": True, "proof": True}, "politeness": {"delay_s": delay_s}}
    with FakeWeb(MadeSite(pages, robots)) as web, live_of(web, tmp_path, **tables) as live:
        clock = Clocked(live)
        live.run()
    assert {host: len(times) for host, times in clock.began.items()} == {"a.test": 11, "cdn.test": 5}
    for host, times in clock.began.items():
        pairs = list(zip(clock.ended[host], times[1:], strict=False))
        assert all(begin - end >= delay_s for end, begin in pairs), host
        delays = [begin - end for end, begin in pairs][1:]
        assert host != "cdn.test" or min(delays) >= 0.1
    # Pages and parts of a host take turns, where both are known: neither waits for the end of the other.
    targets = [target for _, host, target in web.requests if host == "a.test"][2:]
    kinds = "".join("p" if target.endswith(".png") else "P" for target in targets)
    n_changes = sum(one != other for one, other in pairwise(kinds))
    assert n_changes >= 4, kinds


def test_a_turn_is_taken_as_by_a_page() -> None:
    frontier = Frontier(Politeness(delay_s=1.0))
    frontier.put([0, 1], [0.5, 0.4], hosts=[7, 7])
    turn = frontier.take_turn(7, now=0.0)
    assert turn is not None
    assert frontier.turn_free_at(7) == math.inf
    assert frontier.take(now=0.0) is None
    assert frontier.take_turn(7, now=0.0) is None
    frontier.end_turn(turn, now=2.0)
    assert frontier.turn_free_at(7) == 3.0
    assert frontier.take(now=2.5) is None
    assert frontier.take(now=3.0) == (0, 0.5)
    assert frontier.take_turn(7, now=9.0) is None
    frontier.release(7, now=9.0)
    assert frontier.take_turn(7, now=9.5) is None
    assert frontier.take_turn(7, now=10.0) == turn
    assert Frontier().take_turn(3, now=0.0) is not None  # without politeness anybody may be asked


def test_a_host_that_becomes_known_takes_its_turn_along(tmp_path: Path) -> None:
    with live_of(None, tmp_path, politeness={"delay_s": 1.0}) as live:
        turns = PartTurns(live.ledger, live.turns)
        taken = turns.take("cdn.test", now=0.0)
        assert taken is not None
        assert taken.host is None
        assert turns.free_at("cdn.test", 0.0) == math.inf
        live.ledger.discovered(["http://cdn.test/page"])
        live.turns.know_hosts()
        turns.adopt(0.0)
        host = live.ledger.host_named("cdn.test")
        assert taken.host == host
        assert host is not None
        assert live.crawl.frontier.turn_free_at(host) == math.inf
        turns.end(taken, now=5.0)
        assert live.crawl.frontier.turn_free_at(host) == 6.0
        assert turns.take("cdn.test", 5.5) is None
        assert turns.take("cdn.test", 6.0) is not None


@pytest.mark.parametrize("kind", ["image", "document"])
def test_what_is_accepted_depends_on_what_is_wanted(tmp_path: Path, kind: str) -> None:
    seen: list[str | None] = []

    def told(host: str, target: str, headers: RequestHeaders) -> Answer:
        seen.append(headers.get("accept"))
        return png("x")

    with (
        FakeWeb(MadeSite({"http://cdn.test/x": told})) as web,
        live_of(web, tmp_path, crawl={"robots": False}) as live,
    ):
        live.parts.want("http://cdn.test/x", kind, lambda answer: None)
        wanted(live)
    assert [accept == "*/*" for accept in seen] == [kind == "image"]
