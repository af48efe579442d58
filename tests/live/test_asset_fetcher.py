"""Asset requests of a browser: host slots, robots.txt, limits and credentials as for pages."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orienteer.credentials.credentials_file import read_credentials
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.asset_cache import AssetCache
from orienteer.live.asset_queues import AssetKey
from orienteer.live.assets import NO_URL, STOPPED
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.session import open_crawl
from orienteer.responses.response import Request, Response
from orienteer.settings import merged
from orienteer.url import host_of
from orienteer.workers.fetch_result import FetchResult
from tests.credentials.servers import RecordedRequest, Recorder, Reply
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders
from tests.live.rendered_pages import PNG, as_in_format_7, assets_of, moved, png

HOME = "http://a.test/"
Received = dict[str, Response | str]


@contextmanager
def live_of(
    web: FakeWeb | None, folder: Path, access: Path | None = None, refresh: bool = False, **tables: Any
) -> Iterator[LiveCrawl]:
    """Open a crawl without running it."""
    given = {
        "crawl": {"seeds": [HOME], "processes": 1, "guess_sitemap": False, "commit_every_s": 0.01},
        "politeness": {"delay_s": 0.0},
        "fetch": {} if web is None else {"connect_to": web.address},
        "retry": {"back_off_s": 0.01, "max_back_off_s": 0.02},
    }
    plan = CrawlPlan.of_tables(merged(given, tables), "test")
    granted = None if access is None else read_credentials(access, folder)
    with open_crawl(folder, plan, refresh, credentials=granted) as live:
        live.pool.record_headers = live.ledger.folder.archive.record_headers()
        yield live


def requested(live: LiveCrawl, *urls: str, **how: Any) -> Received:
    """Return the results that a browser receives for these URLs; `how` has further fields of `AssetKey`."""
    received: Received = {}

    def callback_for(url: str) -> Any:
        def record(response: Response | str) -> None:
            assert url not in received
            received[url] = response

        return record

    for url in urls:
        live.assets.fetch_for_browser(AssetKey(url, **how), "image", callback_for(url))
    while live.assets.n_waiting or live.assets.n_in_flight:
        live.assets.start_due(time.monotonic())
        for response in live.pool.poll(0.05):
            live.receive([response])
    assert received.keys() == set(urls)
    return received


def responses(received: Received) -> dict[str, tuple[int, bytes] | str]:
    return {url: got if isinstance(got, str) else (got.status, got.content) for url, got in received.items()}


def test_a_browser_receives_responses_and_refusals(tmp_path: Path) -> None:
    pages: dict[str, Any] = {
        "http://cdn.test/a.png": png("a"),
        "http://cdn.test/moved.png": moved("/a.png"),
        "http://cdn.test/broken": FakeResponse("oh", status=500),
        "http://cdn.test/packed.css": FakeResponse("b{}", content_type="text/css", gzip=True),
        "http://cdn.test/large": FakeResponse(bytes(2_000), content_type="image/png"),
    }
    robots = {"cdn.test": "User-agent: *\nDisallow: /private"}
    with FakeWeb(MadeSite(pages, robots)) as web, live_of(web, tmp_path, fetch={"max_asset_bytes": 1_000}) as live:
        urls = [*pages, "http://cdn.test/none", "http://cdn.test/private/x", "ftp://cdn.test/"]
        received = requested(live, *urls)
        assert responses(received) == {
            "http://cdn.test/a.png": (200, PNG + b"a" * 30),
            "http://cdn.test/moved.png": (302, b""),
            "http://cdn.test/broken": (500, b"oh"),
            "http://cdn.test/packed.css": (200, b"b{}"),
            "http://cdn.test/large": "too large",
            "http://cdn.test/none": (404, received["http://cdn.test/none"].content),  # type: ignore[union-attr]
            "http://cdn.test/private/x": "robots.txt forbids it",
            "ftp://cdn.test/": NO_URL,
        }
        moved_there = received["http://cdn.test/moved.png"]
        assert isinstance(moved_there, Response)
        assert moved_there.location == "http://cdn.test/a.png"
        n_asked = len(web.requests)
        assert responses(requested(live, *urls)) == responses(received)
        live.ledger.acknowledge()
        live.assets._cache = AssetCache(live.ledger, live.keyring)  # nothing is in memory
        again = responses(requested(live, *urls))
        assert again == responses(received)
        assert len(web.requests) == n_asked
        assert [web.count(url) for url in pages] == [1] * len(pages)
        assert live.ledger.seen.find_host("cdn.test") is None


def test_memory_is_bounded(tmp_path: Path) -> None:
    pages = {f"http://cdn.test/{k}.png": png(str(k)) for k in range(4)}
    with FakeWeb(MadeSite(pages)) as web, live_of(web, tmp_path, crawl={"robots": False}) as live:
        live.assets._cache = AssetCache(live.ledger, live.keyring, max_memory_bytes=2_500)
        received = requested(live, *pages)
        assert len(live.assets._cache._memory) == 2
        assert responses(requested(live, *pages)) == responses(received)
        assert len(web.requests) == 4  # the others were read from the archive


def test_private_addresses_are_refused(tmp_path: Path) -> None:
    urls = ["http://127.0.0.1:9/a.png", "http://127.0.0.1:9/b.png", "http://localhost:9/", "http://[::1]:9/x"]
    with live_of(None, tmp_path) as live:
        assert set(requested(live, *urls).values()) == {"forbidden address"}
        live.ledger.acknowledge()
    assert {row.outcome for row in assets_of(tmp_path)} == {"forbidden address"}


def test_an_unreachable_host_is_abandoned_for_assets_only(tmp_path: Path) -> None:
    with FakeWeb(MadeSite({})) as web:
        address = web.address
    urls = [f"http://cdn.test/{k}.png" for k in range(6)]
    with live_of(None, tmp_path, fetch={"connect_to": address}, crawl={"assets": True}) as live:
        live.assets.enqueue(urls)
        assert requested(live, "http://cdn.test/a.png") == {"http://cdn.test/a.png": "robots.txt out of reach"}
        assert live.hosts.health.n_failing == live.hosts.health.n_abandoned == 0
        live.ledger.acknowledge()
    assert {row.outcome for row in assets_of(tmp_path)} == {"robots.txt out of reach", "host given up"}


def test_a_failed_asset_is_retried_once(tmp_path: Path) -> None:
    n_asked: dict[str, int] = defaultdict(int)

    def sometimes(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        n_asked[target] += 1
        return FakeResponse(status=500) if n_asked[target] == 1 or target == "/never.png" else png("x")

    pages = {f"http://cdn.test/{name}.png": sometimes for name in ("later", "never")}
    tables = {"crawl": {"assets": True, "robots": False}}
    with FakeWeb(MadeSite(pages)) as web, live_of(web, tmp_path, **tables) as live:
        live.assets.enqueue(pages)
        requested(live)
        live.ledger.acknowledge()
    assert n_asked == {"/later.png": 2, "/never.png": 2}
    assert {row.url: row.outcome for row in assets_of(tmp_path)} == {
        "http://cdn.test/later.png": "ok",
        "http://cdn.test/never.png": "http 500",
    }


def test_cancel_calls_all_callbacks(tmp_path: Path) -> None:
    received: list[Response | str] = []
    with FakeWeb(MadeSite({})) as web, live_of(web, tmp_path, crawl={"assets": True}) as live:
        live.assets.enqueue(["http://cdn.test/wanted.png"])
        for url in ("http://cdn.test/wanted.png", "http://cdn.test/awaited.png"):
            live.assets.fetch_for_browser(AssetKey(url), "image", received.append)
        live.assets.start_due(time.monotonic())  # for robots.txt
        live.assets.cancel()
        assert received == [STOPPED] * 2
        assert (live.assets.n_waiting, live.pool.n_in_flight) == (1, 1)
        live.pool.cancel()
        for response in live.pool.poll(0.0):
            live.receive([response])
        live.ledger.acknowledge()
    assert [(row.url, row.outcome) for row in assets_of(tmp_path)] == [("http://cdn.test/wanted.png", "")]


def test_credentials_are_sent_only_to_their_origin(tmp_path: Path) -> None:
    seen_values: dict[str, str | None] = {}

    def respond(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        seen_values[host + target] = headers.get("x-key")
        return png("x")

    urls = ["http://a.test/a.png", "http://cdn.test/a.png", "http://www.a.test/a.png"]
    site = MadeSite(dict.fromkeys(urls, respond))
    with FakeWeb(site) as web, live_of(web, tmp_path / "crawl", access_to_a(tmp_path)) as live:
        requested(live, *urls)
        assert seen_values == dict.fromkeys(seen_values, None), "the request is not known to be of this origin"
        requested(live, *urls, with_credentials=True)
    assert seen_values == {"a.test/a.png": KEY, "cdn.test/a.png": None, "www.a.test/a.png": None}


KEY = "a-secret-key"


def access_to_a(folder: Path) -> Path:
    path = folder / "access.toml"
    path.write_text(f'["http://a.test"]\nheaders = {{ X-Key = "{KEY}" }}\n')
    path.chmod(0o600)
    return path


def two_faced(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
    """Return a response that depends on the key."""
    return FakeResponse("secret" if headers.get("x-key") == KEY else "public", content_type="text/plain")


@pytest.mark.parametrize("first", [True, False])
def test_a_response_to_credentials_serves_only_requests_with_credentials(tmp_path: Path, first: bool) -> None:
    """From memory, from the archive, where the asset is a page of the crawl, and after a resume."""
    asset, page = "http://a.test/part", "http://a.test/"
    expected = {True: b"secret", False: b"public"}
    access = access_to_a(tmp_path)
    with FakeWeb(MadeSite({asset: two_faced, page: two_faced})) as web:
        with live_of(web, tmp_path / "crawl", access, crawl={"robots": False}) as live:
            live.run()
            for drops_memory in (False, True):
                for with_credentials in (first, not first):
                    received = responses(requested(live, asset, page, with_credentials=with_credentials))
                    assert received == dict.fromkeys((asset, page), (200, expected[with_credentials])), with_credentials
                    if drops_memory:
                        live.assets._cache = AssetCache(live.ledger, live.keyring)
            live.ledger.acknowledge()
        assert (web.count(asset), web.count(page)) == (2, 2)
        with live_of(web, tmp_path / "crawl", access, crawl={"robots": False}) as live:
            for with_credentials in (first, not first):
                received = responses(requested(live, asset, with_credentials=with_credentials))
                assert received == {asset: (200, expected[with_credentials])}
        assert web.count(asset) == 2
    assert sorted((row.url, row.with_credentials) for row in assets_of(tmp_path / "crawl")) == [
        (page, False), (asset, False), (asset, True),
    ]  # fmt: skip


def test_assets_of_older_versions_count_as_fetched_with_credentials(tmp_path: Path) -> None:
    """If there are any for their origin; the others serve all requests, as before."""
    urls = ["http://a.test/part", "http://cdn.test/part"]
    access = access_to_a(tmp_path)
    with FakeWeb(MadeSite(dict.fromkeys(urls, two_faced))) as web:
        with live_of(web, tmp_path / "crawl", access, crawl={"robots": False}) as live:
            requested(live, *urls, with_credentials=True)
            live.ledger.acknowledge()
        as_in_format_7(tmp_path / "crawl")
        assert [row.with_credentials for row in assets_of(tmp_path / "crawl")] == [None, None]
        with live_of(web, tmp_path / "crawl", access, crawl={"robots": False}) as live:
            assert responses(requested(live, *urls)) == dict.fromkeys(urls, (200, b"public"))
            received = responses(requested(live, *urls, with_credentials=True))
            assert received == {urls[0]: (200, b"secret"), urls[1]: (200, b"public")}
    assert [web.count(url) for url in urls] == [2, 1]


def test_a_refresh_has_separate_validators_with_and_without_credentials(tmp_path: Path) -> None:
    """A 304 refers to the earlier response to a request with the same credentials."""
    asset = "http://a.test/part"

    def tagged(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        has_key = headers.get("x-key") == KEY
        tag = f'"{has_key}"'
        if headers.get("if-none-match") == tag:
            return FakeResponse(status=304, headers=(("ETag", tag),))
        return FakeResponse("secret" if has_key else "public", content_type="text/plain", headers=(("ETag", tag),))

    access = access_to_a(tmp_path)
    with FakeWeb(MadeSite({asset: tagged, HOME: "home"})) as web:
        for refresh in (False, True):
            tables = {"crawl": {"robots": False}}
            with live_of(web, tmp_path / "crawl", access, refresh, **tables) as live:
                live.run()
                received = [responses(requested(live, asset, with_credentials=is_with)) for is_with in (True, False)]
                live.ledger.acknowledge()
            assert received == [{asset: (200, b"secret")}, {asset: (200, b"public")}]
    statuses = [(row.with_credentials, row.status) for row in assets_of(tmp_path / "crawl")]
    assert statuses == [(True, 200), (False, 200), (True, 304), (False, 304)]


@pytest.mark.parametrize("allowed", ["", "*", "* or same", "same", "http://b.test"])
def test_cors_headers_decide_which_origins_share_a_response(tmp_path: Path, allowed: str) -> None:
    """A response that may depend on the origin of its request is not shared with other origins."""
    asset, origins = "http://cdn.test/part", ("", "http://a.test", "http://b.test")
    seen_values: list[str] = []

    def allowed_for(origin: str) -> str:
        return allowed if "same" not in allowed else origin or allowed.partition(" or ")[0].replace("same", "")

    def respond(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        origin = headers.get("origin") or ""
        seen_values.append(origin)
        stated = allowed_for(origin)
        vary = (("Vary", "Accept, Origin"),) if "same" in allowed else ()
        return FakeResponse("x", headers=((("Access-Control-Allow-Origin", stated), *vary) if stated else ()))

    with (
        FakeWeb(MadeSite({asset: respond})) as web,
        live_of(web, tmp_path, crawl={"robots": False}) as live,
    ):
        for _ in range(2):
            for origin in origins:
                headers = (("Origin", origin),) if origin else ()
                received = requested(live, asset, headers=headers)[asset]
                assert isinstance(received, Response)
                stated = received.headers.get("access-control-allow-origin") or ""
                assert not origin or stated == allowed_for(origin)
    assert seen_values == {"*": [""], "http://b.test": ["", "http://a.test"]}.get(allowed, list(origins))


def test_a_request_of_another_origin_does_not_replace_a_queued_asset(tmp_path: Path) -> None:
    url = "http://cdn.test/part"
    tables = {"crawl": {"robots": False, "assets": True}}
    with FakeWeb(MadeSite({url: png("x")})) as web, live_of(web, tmp_path, **tables) as live:
        live.assets.enqueue([url])
        requested(live, url, headers=(("Origin", "http://a.test"),))
        live.ledger.acknowledge()
        assert web.count(url) == 2
    assert [(row.url, row.outcome) for row in assets_of(tmp_path)] == [(url, "ok")] * 2


def test_preflights_are_sent_and_not_stored(tmp_path: Path) -> None:
    def site(request: RecordedRequest) -> Reply:
        headers = [("Access-Control-Allow-Headers", "x-wanted")] if request.method == "OPTIONS" else []
        return Reply("<img src=/of-a-preflight.png>" if request.method == "OPTIONS" else "", 200, headers)

    url = "http://cdn.test/x"
    headers = (("Origin", "http://a.test"), ("Access-Control-Request-Method", "GET"))
    tables = {"crawl": {"robots": False, "assets": True}}
    with (
        Recorder(site) as web,
        live_of(None, tmp_path, fetch={"connect_to": web.address}, **tables) as live,
    ):
        for _ in range(2):
            received = requested(live, url, method="OPTIONS", headers=headers)[url]
            assert isinstance(received, Response)
            assert (received.status, received.headers.get("access-control-allow-headers")) == (200, "x-wanted")
        assert live.assets.n_done == 0
        assert requested(live, url)[url].status == 200  # type: ignore[union-attr]
        live.ledger.acknowledge()
    assert [(one.method, one.headers.get("origin")) for one in web.asked] == [
        ("OPTIONS", "http://a.test"), ("GET", None),
    ]  # fmt: skip
    assert [row.url for row in assets_of(tmp_path)] == [url]


class Clocked:
    """Records when requests to each host start and when their responses are received, by the clock of the crawl."""

    def __init__(self, live: LiveCrawl) -> None:
        self.began: dict[str, list[float]] = defaultdict(list)
        self.ended: dict[str, list[float]] = defaultdict(list)
        self._pool, self._start, self._poll = live.pool, live.pool.start, live.pool.poll
        live.pool.start, live.pool.poll = self.start, self.poll  # type: ignore[method-assign]

    def start(self, request: Request) -> None:
        self.began[host_of(request.url)].append(time.monotonic())
        self._start(request)

    def poll(self, timeout_s: float) -> list[FetchResult]:
        responses = self._poll(timeout_s)
        for response in responses:
            self.ended[host_of(response.request.url)].append(time.monotonic())
        return responses


def test_crawl_delays_apply_between_pages_and_assets(tmp_path: Path) -> None:
    delay_s = 0.05
    pages: dict[str, Any] = {
        HOME: "".join(f"<img src=/{k}.png><img src=http://cdn.test/{k}.png><a href=/{k}>x</a>" for k in range(4)),
        **{f"http://a.test/{k}": f"<img src=/{k + 1}.png>" for k in range(4)},
        **{f"http://{host}.test/{k}.png": png(f"{host}{k}") for k in range(5) for host in ("a", "cdn")},
    }
    robots = {"cdn.test": "User-agent: *\nCrawl-delay: 0.1"}
    tables = {"crawl": {"assets": True, "stop_when": "proved"}, "politeness": {"delay_s": delay_s}}
    with FakeWeb(MadeSite(pages, robots)) as web, live_of(web, tmp_path, **tables) as live:
        clock = Clocked(live)
        live.run()
    assert {host: len(times) for host, times in clock.began.items()} == {"a.test": 11, "cdn.test": 5}
    for host, times in clock.began.items():
        pairs = list(zip(clock.ended[host], times[1:], strict=False))
        assert all(begin - end >= delay_s for end, begin in pairs), host
        delays = [begin - end for end, begin in pairs][1:]
        assert host != "cdn.test" or min(delays) >= 0.1
    # Pages and assets of a host alternate while both are known: neither waits for the end of the other.
    targets = [target for _, host, target in web.requests if host == "a.test"][2:]
    kinds = "".join("p" if target.endswith(".png") else "P" for target in targets)
    n_changes = sum(one != other for one, other in pairwise(kinds))
    assert n_changes >= 4, kinds


@pytest.mark.parametrize("is_over", [True, False])
@pytest.mark.parametrize("connections", [1, 2])
def test_robots_txt_that_an_asset_needs_first_serves_the_pages(tmp_path: Path, connections: int, is_over: bool) -> None:
    """Its sitemaps are read, too. `is_over`: the asset has been received before the first page is selected."""
    sitemap = "<urlset><url><loc>http://a.test/hidden</loc></url></urlset>"
    pages: dict[str, Any] = {HOME: "home", "http://a.test/hidden": "found", "http://a.test/x.png": png("x")}
    pages["http://a.test/map.xml"] = FakeResponse(sitemap, content_type="application/xml")
    robots = {"a.test": "Sitemap: http://a.test/map.xml"}
    tables = {"politeness": {"delay_s": 0.0, "connections": connections}}
    with FakeWeb(MadeSite(pages, robots)) as web, live_of(web, tmp_path, **tables) as live:
        received: list[Response | str] = []
        live.assets.fetch_for_browser(AssetKey("http://a.test/x.png"), "image", received.append)
        if is_over:
            requested(live)
        live.run()
        assert [got if isinstance(got, str) else got.status for got in received] == [200]
        assert {url: web.count(url) for url in pages} == dict.fromkeys(pages, 1)
        assert web.count("http://a.test/robots.txt") == 1


@pytest.mark.parametrize("kind", ["image", "document"])
def test_the_accept_header_depends_on_the_kind(tmp_path: Path, kind: str) -> None:
    seen_values: list[str | None] = []

    def respond(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        seen_values.append(headers.get("accept"))
        return png("x")

    with (
        FakeWeb(MadeSite({"http://cdn.test/x": respond})) as web,
        live_of(web, tmp_path, crawl={"robots": False}) as live,
    ):
        live.assets.fetch_for_browser(AssetKey("http://cdn.test/x"), kind, lambda response: None)
        requested(live)
    assert [accept == "*/*" for accept in seen_values] == [kind == "image"]
