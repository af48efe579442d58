"""What a worker sends arrives unchanged, whatever is in it."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from orienteer.extract.page import Page
from orienteer.extract.page_fields import PageFields
from orienteer.extract.refresh import Refresh
from orienteer.pages.added import Additions
from orienteer.pages.outcome import Outcome
from orienteer.pages.render_reason import RenderReason
from orienteer.responses.headers import Headers
from orienteer.responses.response import (
    AssetRequest,
    HostRequest,
    HostRequestKind,
    PageRequest,
    Request,
    Response,
    outcome_of,
)
from orienteer.responses.secrets import Secrets
from orienteer.responses.verdict import Verdict, VerdictKind
from orienteer.workers.fetch_result import FetchResult, ReadSettings, read_response
from orienteer.workers.serving import WorkerOrders, WorkerResults, packed, unpack_orders, unpack_results, with_request

HTML = Headers([("Content-Type", "text/html"), ("ETag", '"1"')])
PAGE = b"<title>A</title><a href=/b>one</a> <a href=/c rel=nofollow>two</a><img src=d.png><p>" + b"word " * 100


def read(request: Request, status: int = 200, headers: Headers = HTML, content: bytes = PAGE) -> FetchResult:
    outcome = outcome_of(status, headers, request.url)
    raw = b"HTTP/1.1 %d OK\r\n\r\n" % status
    response = Response(request, outcome, status, "", headers, raw, content, content, started_at=1e9)
    return read_response(response, ReadSettings(texts=True, revisits=True, assets=True))


def full_page() -> Page:
    """A page in which every field differs from its default."""
    return Page(
        links=["http://a.test/b", "http://a.test/c"], title="title", text="text", headings=["heading"],
        anchors=[("http://a.test/b", "anchor")], description="about", language="en", charset="utf-8",
        canonical="http://a.test/", noindex=True, nofollow=True, unknown_links=("scripts",),
        nofollow_links=("http://a.test/n",), too_long=("http://a.test/l",), refresh=Refresh("http://a.test/r", 5),
        noarchive=True, feeds=("http://a.test/f",), alternates=("http://a.test/e",), fields=PageFields(author="me"),
        blocks=[], base="http://a.test/", has_code=True, line_scores=b"scores", line_groups=b"groups",
    )  # fmt: skip


PAGE_REQUEST = PageRequest("http://a.test/", 7)
RESULTS = {
    "a page": read(PAGE_REQUEST),
    "a page without links": read(PAGE_REQUEST, content=b"nothing"),
    "a redirect": read(PAGE_REQUEST, 301, Headers([("Location", "/b")])),
    "a missing page": read(PAGE_REQUEST, 404),
    "robots.txt": read(HostRequest("http://a.test/robots.txt", HostRequestKind.ROBOTS)),
    "every field": replace(
        read(PAGE_REQUEST),
        verdict=Verdict(
            VerdictKind.FETCHED, "ok", full_page(), "http://a.test/t", "unknown", 0.5, Additions(tags=("t",)),
            "unreadable",
        ),
        detail="detail", duration_s=0.25, retry_after_s=3.0, cookies=("a=b",), anchors=("id",),
        rendered_records=(b"dom", None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_arrives_unchanged(name: str) -> None:
    sent = RESULTS[name]
    results = unpack_results(packed(WorkerResults([(4, sent), (9, sent)], 1.5)))
    assert (results.cpu_s, [number for number, _ in results.responses]) == (1.5, [4, 9])
    for _, received in results.responses:
        assert with_request(received, sent.request) == sent


def test_every_field_of_a_page_is_in_the_test_above() -> None:
    page, other = full_page(), Page([], "", "", [], [], "", "", "", None, False, False)
    same = {field.name for field in fields(Page) if getattr(page, field.name) == getattr(other, field.name)}
    assert same == {"blocks"}


def test_every_outcome_and_verdict_can_be_sent() -> None:
    for outcome in Outcome:
        for kind in VerdictKind:
            result = FetchResult(PAGE_REQUEST, outcome, Verdict(kind, "why"))
            ((_, received),) = unpack_results(packed(WorkerResults([(0, result)]))).responses
            assert with_request(received, PAGE_REQUEST) == result
            assert (received.outcome, received.verdict.kind) == (outcome, kind)


def test_requests_arrive_unchanged() -> None:
    conditional = (("If-None-Match", '"1"'),)
    sent: list[Request] = [
        *(PageRequest("http://a.test/", 7, headers=conditional, render=reason) for reason in RenderReason),
        PageRequest("http://a.test/", 8, secrets=Secrets("http://a.test", (("Cookie", "a=b"),))),
        PageRequest("http://a.test/", 9, max_body_bytes=5),
        HostRequest("http://a.test/robots.txt", HostRequestKind.ROBOTS, is_guess=True),
        AssetRequest("http://a.test/a.png", is_preflight=True),
    ]
    orders = WorkerOrders(list(enumerate(sent)), {"A": "b"}, cancel=True)
    received = unpack_orders(packed(orders))
    assert received._replace(requests=[]) == orders._replace(requests=[])
    assert [number for number, _ in received.requests] == list(range(len(sent)))
    for before, (_, after) in zip(sent, received.requests, strict=True):
        assert type(after) is type(before)
        assert all(getattr(after, field.name) == getattr(before, field.name) for field in fields(before))
