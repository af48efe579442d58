"""Verdicts on responses: the full table."""

from __future__ import annotations

import pytest

from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.response import PageRequest, Response, outcome_of
from orienteer.responses.verdict import VERDICTS, VerdictKind, verdict_kind_of, verdict_of
from tests.tables import over_rows

URL = "http://example.org/a"
PLAIN = ("Content-Type", "text/plain; charset=latin1")


def response(status: int, content: bytes = b"", *headers: tuple[str, str]) -> Response:
    lines = Headers(headers)
    return Response(PageRequest(URL, 0), outcome_of(status, lines, URL), status, headers=lines, content=content)


def test_every_outcome_has_a_verdict():
    assert set(VERDICTS) == set(Outcome)


@over_rows(
    ("status", "kind", "reason"),
    [
        (200, VerdictKind.FETCHED, "ok"),
        (204, VerdictKind.FETCHED, "ok"),
        (299, VerdictKind.FETCHED, "ok"),
        (304, VerdictKind.NOT_MODIFIED, "not modified"),
        (206, VerdictKind.TRY_AGAIN, "broken answer"),  # a part of a page
        (300, VerdictKind.BLOCKED, "redirect leads nowhere"),  # it does not say where to go
        (400, VerdictKind.BLOCKED, "http 400"),
        (401, VerdictKind.BLOCKED, "http 401"),
        (402, VerdictKind.BLOCKED, "http 402"),
        (403, VerdictKind.BLOCKED, "http 403"),
        (404, VerdictKind.FAILED, "http 404"),
        (407, VerdictKind.BLOCKED, "http 407"),
        (408, VerdictKind.TRY_AGAIN, "timed out"),
        (410, VerdictKind.FAILED, "http 410"),
        (418, VerdictKind.BLOCKED, "http 418"),
        (429, VerdictKind.TRY_AGAIN, "http 429"),
        (451, VerdictKind.BLOCKED, "http 451"),
        (500, VerdictKind.TRY_AGAIN, "http 500"),
        (503, VerdictKind.TRY_AGAIN, "http 503"),
        (599, VerdictKind.TRY_AGAIN, "http 599"),
        (0, VerdictKind.TRY_AGAIN, "broken answer"),
        (101, VerdictKind.TRY_AGAIN, "broken answer"),
    ],
)
def test_verdicts_by_status(status: int, kind: VerdictKind, reason: str):
    verdict = verdict_of(response(status))
    assert (verdict.kind, verdict.reason) == (kind, reason)
    assert (verdict.page is not None) == (kind is VerdictKind.FETCHED)


@over_rows(
    ("outcome", "kind"),
    [
        (Outcome.UNWANTED_TYPE, VerdictKind.SKIPPED),
        (Outcome.TOO_LARGE, VerdictKind.BLOCKED),
        (Outcome.TLS_FAILED, VerdictKind.BLOCKED),
        (Outcome.FORBIDDEN_ADDRESS, VerdictKind.BLOCKED),
        (Outcome.NO_RESPONSE, VerdictKind.BLOCKED),
        (Outcome.NO_ADDRESS, VerdictKind.TRY_AGAIN),
        (Outcome.NO_CONNECTION, VerdictKind.TRY_AGAIN),
        (Outcome.CANCELLED, VerdictKind.TRY_AGAIN),
    ],
)
def test_outcomes_without_a_response_have_no_page(outcome: Outcome, kind: VerdictKind):
    verdict = verdict_of(Response(PageRequest(URL, 0), outcome))
    assert (verdict.kind, verdict.reason) == (kind, str(outcome))
    assert verdict.page is None


def test_a_page_is_read():
    page = verdict_of(response(200, b"<title>A</title><a href=b>to b</a>", ("Content-Type", "text/html"))).page
    assert page is not None
    assert (page.title, page.text, page.links) == ("A", "to b", ["http://example.org/b"])


def test_a_page_can_be_parsed_without_its_text():
    page = verdict_of(response(200, b"<p>words <a href=b>to b</a>"), with_text=False).page
    assert page is not None
    assert (page.text, page.links) == ("", ["http://example.org/b"])


def test_headers_for_robots_count():
    page = verdict_of(response(200, b"<a href=b>b</a>", ("X-Robots-Tag", "nofollow"), ("X-Robots-Tag", "noindex"))).page
    assert page is not None
    assert (page.links, page.noindex) == ([], True)


def test_plain_text_has_words_and_no_links():
    page = verdict_of(
        response(200, "caf\u00e9 <a href=b>".encode("latin-1"), ("Content-Type", "text/plain; charset=latin1"))
    )
    assert page.page is not None
    assert (page.page.text, page.page.links) == ("caf\u00e9 <a href=b>", [])


def test_other_types_have_no_text_and_no_links():
    page = verdict_of(response(200, b"%!PS <a href=b>", ("Content-Type", "application/postscript"))).page
    assert page is not None
    assert (page.text, page.links) == ("", [])


def document(content: bytes, media_type: str) -> Document:
    if content == b"%PDF bad":
        raise UnreadableDocumentError("it is bad")
    return Document("T", "\fwords", ("b", "mailto:x"), missing=content.decode().partition(" ")[2])


def test_a_document_is_a_page_with_links():
    pdf = ("Content-Type", "application/pdf")
    verdict = verdict_of(response(200, b"%PDF", pdf), documents=document)
    assert verdict.page is not None
    assert (verdict.kind, verdict.unknown, verdict.links) == (VerdictKind.FETCHED, "", ["http://example.org/b"])
    assert (verdict.page.title, verdict.page.text) == ("T", "\fwords")


@pytest.mark.parametrize(("missing", "unknown"), [("too many links", "too many links"), ("cut off", "unreadable")])
def test_a_partly_parsed_document_has_unknown_links(missing: str, unknown: str):
    content = f"%PDF {missing}".encode()
    verdict = verdict_of(response(200, content, ("Content-Type", "application/pdf")), documents=document)
    assert (verdict.kind, verdict.unknown) == (VerdictKind.FETCHED, unknown)


def test_a_document_that_cannot_be_read_is_blocked():
    verdict = verdict_of(response(200, b"%PDF bad", ("Content-Type", "application/pdf")), documents=document)
    assert (verdict.kind, verdict.reason, verdict.unreadable) == (VerdictKind.BLOCKED, "unreadable", "it is bad")
    empty = verdict_of(response(200, b"", ("Content-Type", "application/pdf")), documents=document)
    assert (empty.kind, empty.unreadable) == (VerdictKind.BLOCKED, "it is empty")


def test_links_of_a_nofollow_document_are_left_out():
    headers = (("Content-Type", "application/pdf"), ("X-Robots-Tag", "nofollow"))
    verdict = verdict_of(response(200, b"%PDF", *headers), documents=document)
    assert verdict.page is not None
    assert (verdict.links, verdict.page.left_out) == ([], ("http://example.org/b",))


def test_a_skipped_document_has_unknown_links():
    headers = Headers([("Content-Type", "application/pdf")])
    verdict = verdict_of(Response(PageRequest(URL, 0), Outcome.UNWANTED_TYPE, 200, headers=headers))
    assert (verdict.kind, verdict.unknown) == (VerdictKind.SKIPPED, "links in application/pdf")


def test_a_redirect_has_a_target():
    verdict = verdict_of(response(302, b"", ("Location", "/there#part")))
    assert (verdict.kind, verdict.target) == (VerdictKind.REDIRECT, "http://example.org/there")


def test_the_kind_of_verdict_depends_on_outcome_and_status():
    assert verdict_kind_of(outcome_of(404, Headers(), URL), 404) is VerdictKind.FAILED
    assert verdict_kind_of(outcome_of(403, Headers(), URL), 403) is VerdictKind.BLOCKED
