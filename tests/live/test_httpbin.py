"""Crawls of httpbin, a third-party server: the outcome of each kind of response."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.inspect.run_report import Report
from orienteer.live.session import live_crawl, refresh
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.responses.response import Response
from orienteer.store.visits import VisitKind
from tests.fetch.conftest import fetched, loopback
from tests.live.httpbin_server import httpbin_server
from tests.live.live_crawls import StoredCrawl
from tests.live.refreshes import visits_of

OK, SKIPPED, BLOCKED, FAILED = PageState.FETCHED, PageState.SKIPPED, PageState.BLOCKED, PageState.FAILED
UTF8_DEMO, TOO_SLOW = "/encoding/utf8", "/delay/10"

# Path: the state of the page, its outcome, and where a redirect leads.
TABLE: dict[str, tuple[PageState, str, str]] = {
    # redirects
    "/redirect/3": (OK, "redirect", "/relative-redirect/2"),
    "/relative-redirect/2": (OK, "redirect", "/relative-redirect/1"),
    "/relative-redirect/1": (OK, "redirect", "/get"),
    "/absolute-redirect/2": (OK, "redirect", "/absolute-redirect/1"),
    "/redirect-to?url=/html": (OK, "redirect", "/html"),
    "/redirect-to?url=/html&status_code=307": (OK, "redirect", "/html"),
    "/redirect-to?url=mailto:a@b.test": (BLOCKED, "redirect leads nowhere", ""),
    # encodings: the content is JSON, which is not a page
    "/gzip": (SKIPPED, "unwanted type", ""),
    "/deflate": (SKIPPED, "unwanted type", ""),
    "/brotli": (SKIPPED, "unwanted type", ""),
    UTF8_DEMO: (OK, "ok", ""),
    # without credentials
    "/basic-auth/me/secret": (BLOCKED, "http 401", ""),
    "/hidden-basic-auth/me/secret": (FAILED, "http 404", ""),
    "/bearer": (BLOCKED, "http 401", ""),
    "/digest-auth/auth/me/secret": (BLOCKED, "http 401", ""),
    # cookies
    "/cookies": (SKIPPED, "unwanted type", ""),
    "/cookies/set?a=b": (OK, "redirect", "/cookies"),
    "/cookies/delete?a=": (OK, "redirect", "/cookies"),
    # slow, and in pieces
    "/drip?duration=0.2&numbytes=5&delay=0": (SKIPPED, "unwanted type", ""),
    "/drip?duration=0.2&numbytes=5&delay=0&code=500": (BLOCKED, "http 500", ""),
    "/delay/1": (SKIPPED, "unwanted type", ""),
    TOO_SLOW: (BLOCKED, "timed out", ""),
    "/stream/5": (SKIPPED, "unwanted type", ""),
    "/stream-bytes/1000": (SKIPPED, "unwanted type", ""),
    "/range/1000": (SKIPPED, "unwanted type", ""),
    "/bytes/100": (SKIPPED, "unwanted type", ""),
    "/bytes/0": (SKIPPED, "unwanted type", ""),
    # headers
    "/response-headers?a=b": (SKIPPED, "unwanted type", ""),
    "/cache": (SKIPPED, "unwanted type", ""),
    "/cache/60": (SKIPPED, "unwanted type", ""),
    "/etag/one": (SKIPPED, "unwanted type", ""),
    # kinds of content
    "/html": (OK, "ok", ""),
    "/forms/post": (OK, "ok", ""),
    "/links/3/0": (OK, "ok", ""),
    "/links/3/2": (OK, "ok", ""),
    "/xml": (OK, "ok", ""),
    "/json": (SKIPPED, "unwanted type", ""),
    "/image": (BLOCKED, "http 406", ""),
    "/image/png": (SKIPPED, "unwanted type", ""),
    "/image/svg": (SKIPPED, "unwanted type", ""),
    "/robots.txt": (OK, "ok", ""),
    "/deny": (BLOCKED, "robots.txt", ""),
    "/base64/SGVsbG8=": (OK, "ok", ""),
    # other methods, and what is not there
    "/post": (BLOCKED, "http 405", ""),
    "/nothing": (FAILED, "http 404", ""),
}
# The same for pages that are not seeds: redirects of seeds bring their targets into the scope.
LINKED = ("/redirect-to?url=http://other.test/", "/redirect/15")
TABLE_OF_LINKED: dict[str, tuple[PageState, str, str]] = {
    LINKED[0]: (BLOCKED, "redirect leaves the scope", ""),
    LINKED[1]: (OK, "redirect", "/relative-redirect/14"),
    "/relative-redirect/14": (OK, "redirect", "/relative-redirect/13"),
    "/relative-redirect/5": (BLOCKED, "too many redirects", ""),
}


def page_of(text: str) -> str:
    """Return the path of a page with this HTML."""
    return "/base64/" + base64.b64encode(text.encode()).decode()


def links_to(urls: Iterable[str]) -> str:
    return page_of("".join(f'<a href="{url}">' for url in urls))


@pytest.fixture(scope="module")
def addresses() -> Iterator[tuple[str, str]]:
    with httpbin_server() as addresses:
        yield addresses


@pytest.fixture(scope="module")
def httpbin(addresses: tuple[str, str]) -> str:
    return addresses[0]


def crawled(seeds: list[str], folder: Path, settings: dict[str, dict[str, Any]] | None = None, **named: Any) -> Report:
    """Run a crawl without delays or browser that tries each page once, unless `settings` differ."""
    tables: dict[str, dict[str, Any]] = {
        "crawl": {"workers": 16, "stop_when": "proved", "processes": 1, "guess_sitemap": False},
        "politeness": {"delay_s": 0.0, "connections": 16},
        "fetch": {"allow_private": True, "timeout_s": 60.0},
        "render": {"mode": "never"},
        "retry": {"max_attempts": 1, "back_off_s": 0.01, "max_back_off_s": 0.05},
    }
    for name, table in (settings or {}).items():
        tables[name] |= table
    return live_crawl(seeds, folder, **{"scope": "host", **named}, settings=tables)


@pytest.fixture(scope="module")
def stored(httpbin: str, tmp_path_factory: pytest.TempPathFactory) -> StoredCrawl:
    """A crawl of the whole table without the page that takes too long."""
    folder = tmp_path_factory.mktemp("httpbin") / "c"
    crawled([httpbin + path for path in (*TABLE, links_to(LINKED)) if path != TOO_SLOW], folder)
    return StoredCrawl(folder)


@pytest.mark.parametrize("path", [path for path in (*TABLE, *TABLE_OF_LINKED) if path != TOO_SLOW])
def test_the_outcome_of_each_page(path: str, stored: StoredCrawl, httpbin: str) -> None:
    row = stored.rows[httpbin + path]
    assert row is not None
    target = "" if row.redirect_to is None else stored.urls[row.redirect_to].removeprefix(httpbin)
    assert (PageState(row.state), row.outcome, target) == (TABLE | TABLE_OF_LINKED)[path]


def test_links_are_followed(stored: StoredCrawl, httpbin: str) -> None:
    links = {stored.urls[page].removeprefix(httpbin) for page in stored.rows[f"{httpbin}/links/3/0"].links}
    assert links == {"/links/3/1", "/links/3/2"}


def test_a_page_that_takes_too_long(httpbin: str, tmp_path: Path) -> None:
    """It responds after ten seconds; the timeout is far shorter, and far longer than any other response takes."""
    crawled([httpbin + TOO_SLOW], tmp_path / "c", {"fetch": {"timeout_s": 1.0}})
    row = StoredCrawl(tmp_path / "c").rows[httpbin + TOO_SLOW]
    assert row is not None
    assert (PageState(row.state), row.outcome, "") == TABLE[TOO_SLOW]


def outcome_of_status(status: int) -> tuple[PageState, str]:
    """As docs/theory/responses.md has it; httpbin sends `Location` with 301, 302, 303, 305 and 307."""
    if status < 200 or status == 206:
        return BLOCKED, "broken answer"
    if status < 300 or status in (301, 302, 303, 305, 307):
        return OK, "redirect" if status >= 300 else "ok"
    if status < 400:
        return BLOCKED, "not modified" if status == 304 else "redirect leads nowhere"
    if status == 408:
        return BLOCKED, "timed out"
    return FAILED if status in (404, 410) else BLOCKED, f"http {status}"


def test_every_registered_status_and_some_others(httpbin: str, tmp_path: Path) -> None:
    statuses = {*map(int, HTTPStatus), *range(100, 600, 13), 599} - {429}
    urls = {f"{httpbin}/status/{status}": status for status in sorted(statuses)}
    report = crawled(list(urls), tmp_path / "c", {"retry": {"max_attempts": 1, "give_up_after": 1000}})
    rows = StoredCrawl(tmp_path / "c").rows
    outcomes = {status: (PageState(row.state), row.outcome) for url, status in urls.items() if (row := rows[url])}
    assert outcomes == {status: outcome_of_status(status) for status in urls.values()}
    assert report.figures.n_hosts_abandoned == 0


def responses(httpbin: str, *paths: str, **settings: Any) -> list[Response]:
    with LibcurlFetcher(loopback(content_types=("application/json", "text/html"), **settings)) as fetcher:
        return fetched(fetcher, *(httpbin + path for path in paths))


@pytest.mark.parametrize(("path", "key"), [("gzip", "gzipped"), ("deflate", "deflated"), ("brotli", "brotli")])
def test_content_codings(path: str, key: str, httpbin: str) -> None:
    (response,) = responses(httpbin, f"/{path}")
    assert response.outcome is Outcome.OK
    assert response.body != response.content
    assert json.loads(response.content)[key] is True


def test_a_page_in_utf8(httpbin: str) -> None:
    (response,) = responses(httpbin, UTF8_DEMO)
    assert (response.charset, "∮ E⋅da = Q" in response.content.decode()) == ("utf-8", True)


def test_streams_and_sizes(httpbin: str) -> None:
    stream, large = responses(httpbin, "/stream/20", "/range/50000")
    assert [json.loads(line)["id"] for line in stream.content.splitlines()] == list(range(20))
    assert large.outcome is Outcome.UNWANTED_TYPE
    (large,) = responses(httpbin, page_of("x" * 2000), max_body_bytes=1000)
    assert large.outcome is Outcome.TOO_LARGE


@pytest.mark.parametrize(("keeps", "sent"), [(True, {"a": "b"}), (False, {})])
def test_cookies(keeps: bool, sent: dict[str, str], httpbin: str) -> None:
    with LibcurlFetcher(loopback(content_types=("application/json",), cookies=keeps)) as fetcher:
        fetched(fetcher, f"{httpbin}/cookies/set?a=b")
        (response,) = fetched(fetcher, f"{httpbin}/cookies")
    assert json.loads(response.content)["cookies"] == sent


@pytest.mark.parametrize(
    ("credentials", "opened"),
    [
        ('basic = { user = "me", password = "secret" }', {"/basic-auth/me/secret", "/hidden-basic-auth/me/secret"}),
        ('basic = { user = "me", password = "wrong" }', set()),
        ('bearer = "a-token-of-some-length"', {"/bearer"}),
    ],
)
def test_with_credentials(credentials: str, opened: set[str], httpbin: str, tmp_path: Path) -> None:
    """Digest authentication is not supported: its page is refused."""
    access = tmp_path / "access.toml"
    access.write_text(f'["{httpbin}"]\n{credentials}\n')
    access.chmod(0o600)
    paths = ["/html", "/basic-auth/me/secret", "/hidden-basic-auth/me/secret", "/bearer", "/digest-auth/auth/me/secret"]
    crawled([httpbin + path for path in paths], tmp_path / "c", credentials=access)
    rows = StoredCrawl(tmp_path / "c").rows
    states = {path: PageState(row.state) for path in paths if (row := rows[httpbin + path])}
    assert {path for path, state in states.items() if state not in (BLOCKED, FAILED)} == {"/html", *opened}


def test_a_refresh_receives_not_modified(httpbin: str, tmp_path: Path) -> None:
    """By the date. The ETags of httpbin are invalid without quotes; such pages are compared by their content."""
    paths = ["/etag/one", "/cache", "/html"]
    json_too = {"fetch": {"allow_private": True, "content_types": ["text/html", "application/json"]}}
    crawled([httpbin + path for path in paths], tmp_path / "c", json_too)
    refresh(tmp_path / "c", settings={"refresh": {"revisit_chance": 0.0}})
    visits = {url.removeprefix(httpbin): kind for url, kind in visits_of(tmp_path / "c").items()}
    assert {path: visits[path] for path in paths} == {
        "/etag/one": VisitKind.UNCHANGED,
        "/cache": VisitKind.NOT_MODIFIED,
        "/html": VisitKind.UNCHANGED,
    }


def test_a_page_that_always_answers_429_does_not_stall_its_host(addresses: tuple[str, str], tmp_path: Path) -> None:
    """It is the first link of a home page on another port: both are hosts of one site, and share a slot."""
    home, httpbin = addresses
    refused, n_pages = f"{httpbin}/status/429", 45
    settings = {
        "politeness": {"delay_s": 0.01, "connections": 1},
        "retry": {"max_attempts": 3, "back_off_s": 0.2, "max_back_off_s": 300.0},
    }
    report = crawled(
        [home + links_to([refused, f"{httpbin}/links/{n_pages}/0"])], tmp_path / "c", settings,
        scope="web", policy="breadth-first",
    )  # fmt: skip
    events = [json.loads(line) for line in (tmp_path / "c" / "log.jsonl").read_text().splitlines()]
    requested = [event["url"] for event in events if event["event"] == "fetch"]
    assert report.figures.n_hosts_abandoned == 0
    assert (report.figures.n_fetched, report.figures.n_blocked) == (1 + n_pages, 1)
    assert requested[1:3] == [refused, f"{httpbin}/links/{n_pages}/0"]
    assert Counter(requested).pop(refused) == 4
    assert len(requested) == 1 + n_pages + 4
    assert StoredCrawl(tmp_path / "c").outcome(refused) == "http 429"
