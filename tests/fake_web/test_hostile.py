"""The hostile corpus is served as it is meant to be, and takes bounded bytes and time to read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.extract.only_links import extract_links
from tests.fake_web.client import CLOSE, exchange, fetch, request_for
from tests.fake_web.fake_response import FakeResponse, chunk
from tests.fake_web.hostile import HOME, HOSTILE, OUTCOMES, hostile_site
from tests.fake_web.server import FakeWeb
from tests.tables import over_rows

MAX_BYTES = 300_000


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(hostile_site()) as web:
        yield web


def meant(response: FakeResponse) -> bytes:
    """The first MAX_BYTES that the answer is meant to be on the wire."""
    if response.reset and response.cut_after is None:
        return b""
    head, body = response.encode()
    data = head + body[: response.cut_after]
    again = chunk(response.endless) if response.chunked else response.endless
    if again:
        data += again * (1 + min(MAX_BYTES, response.endless_limit) // len(again))
    return data[:MAX_BYTES]


@over_rows("case", HOSTILE, ids=lambda case: case.name)
def test_every_case_is_served_as_intended(web, case):
    response = case.response
    request = request_for(case.url, more=CLOSE)
    if response.bytes_per_s is not None:
        n_bytes = 2 if response.drips_head else len(response.encode()[0]) + 2
        assert exchange(web.port, request, n_bytes).data == meant(response)[:n_bytes]
        return
    silent = {"timeout_s": 0.3, "first_timeout_s": 300.0 if meant(response) else 0.3} if response.hold else {}
    received = exchange(web.port, request, MAX_BYTES, **silent)
    assert received.data == meant(response)
    if len(received.data) < MAX_BYTES:
        assert received.end == ("reset" if response.reset else "silence" if response.hold else "closed")


def test_the_corpus_is_large_and_its_names_are_unique():
    assert len(HOSTILE) >= 45
    assert len({case.name for case in HOSTILE}) == len(HOSTILE)
    assert len({case.url for case in HOSTILE}) == len(HOSTILE)


def test_every_case_says_what_is_expected_of_a_crawler():
    for case in HOSTILE:
        assert case.outcome, case.name
        assert set(case.outcome) <= OUTCOMES, case.name
        assert case.note, case.name
        assert "\n" not in case.note, case.name


def test_the_home_page_links_to_all(web):
    links = extract_links(fetch(web.port, HOME)[2], HOME)
    assert {case.url for case in HOSTILE if not case.any_type} <= set(links)
    for url in set(links) - {case.url for case in HOSTILE}:
        assert fetch(web.port, url)[0] == 200  # the hosts of hostile robots.txt files and sitemaps


def test_long_redirects(web):
    path, n_hops = "/redirect-chain", 0
    while "location" in (headers := fetch(web.port, HOME.rstrip("/") + path)[1]):
        path, n_hops = headers["location"], n_hops + 1
    assert (path, n_hops) == ("/found", 51)
    growing = [fetch(web.port, HOME + "redirect-growing/x/")[1]["location"]]
    growing.append(fetch(web.port, HOME.rstrip("/") + growing[0])[1]["location"])
    assert len(growing[1]) > len(growing[0])
