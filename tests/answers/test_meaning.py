"""What answers mean for a page: the whole table."""

from __future__ import annotations

import pytest

from orienteer.answers.answer import Fetched, Request, outcome_of
from orienteer.answers.headers import Headers
from orienteer.answers.meaning import VERDICTS, Verdict, meaning_of, verdict_of
from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.pages.outcome import Outcome

URL = "http://example.org/a"
PLAIN = ("Content-Type", "text/plain; charset=latin1")


def answer(status: int, content: bytes = b"", *headers: tuple[str, str]) -> Fetched:
    lines = Headers(headers)
    return Fetched(Request(URL, 0), outcome_of(status, lines, URL), status, headers=lines, content=content)


def test_every_outcome_has_a_verdict():
    assert set(VERDICTS) == set(Outcome)


@pytest.mark.parametrize(
    ("status", "verdict", "reason"),
    [
        (200, Verdict.FETCHED, "ok"),
        (204, Verdict.FETCHED, "ok"),
        (299, Verdict.FETCHED, "ok"),
        (304, Verdict.NOT_MODIFIED, "not modified"),
        (206, Verdict.TRY_AGAIN, "broken answer"),  # a part of a page
        (300, Verdict.BLOCKED, "redirect leads nowhere"),  # it does not say where to go
        (400, Verdict.BLOCKED, "http 400"),
        (401, Verdict.BLOCKED, "http 401"),
        (402, Verdict.BLOCKED, "http 402"),
        (403, Verdict.BLOCKED, "http 403"),
        (404, Verdict.FAILED, "http 404"),
        (407, Verdict.BLOCKED, "http 407"),
        (408, Verdict.TRY_AGAIN, "timed out"),
        (410, Verdict.FAILED, "http 410"),
        (418, Verdict.BLOCKED, "http 418"),
        (429, Verdict.TRY_AGAIN, "http 429"),
        (451, Verdict.BLOCKED, "http 451"),
        (500, Verdict.TRY_AGAIN, "http 500"),
        (503, Verdict.TRY_AGAIN, "http 503"),
        (599, Verdict.TRY_AGAIN, "http 599"),
        (0, Verdict.TRY_AGAIN, "broken answer"),
        (101, Verdict.TRY_AGAIN, "broken answer"),
    ],
)
def test_a_status_means_one_thing(status: int, verdict: Verdict, reason: str):
    meaning = meaning_of(answer(status))
    assert (meaning.verdict, meaning.reason) == (verdict, reason)
    assert (meaning.page is not None) == (verdict is Verdict.FETCHED)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Outcome.UNWANTED_TYPE, Verdict.SKIPPED),
        (Outcome.TOO_LARGE, Verdict.BLOCKED),
        (Outcome.TLS_FAILED, Verdict.BLOCKED),
        (Outcome.FORBIDDEN_ADDRESS, Verdict.BLOCKED),
        (Outcome.NO_ANSWER, Verdict.BLOCKED),
        (Outcome.NO_ADDRESS, Verdict.TRY_AGAIN),
        (Outcome.NO_CONNECTION, Verdict.TRY_AGAIN),
        (Outcome.CANCELLED, Verdict.TRY_AGAIN),
    ],
)
def test_what_never_came_is_no_page(outcome: Outcome, verdict: Verdict):
    meaning = meaning_of(Fetched(Request(URL, 0), outcome))
    assert (meaning.verdict, meaning.reason) == (verdict, str(outcome))
    assert meaning.page is None


def test_a_page_is_read():
    page = meaning_of(answer(200, b"<title>A</title><a href=b>to b</a>", ("Content-Type", "text/html"))).page
    assert page is not None
    assert (page.title, page.text, page.links) == ("A", "to b", ["http://example.org/b"])


def test_without_its_text_where_nobody_wants_that():
    page = meaning_of(answer(200, b"<p>words <a href=b>to b</a>"), with_text=False).page
    assert page is not None
    assert (page.text, page.links) == ("", ["http://example.org/b"])


def test_headers_for_robots_count():
    page = meaning_of(answer(200, b"<a href=b>b</a>", ("X-Robots-Tag", "nofollow"), ("X-Robots-Tag", "noindex"))).page
    assert page is not None
    assert (page.links, page.noindex) == ([], True)


def test_plain_text_has_words_and_no_links():
    page = meaning_of(
        answer(200, "caf\u00e9 <a href=b>".encode("latin-1"), ("Content-Type", "text/plain; charset=latin1"))
    )
    assert page.page is not None
    assert (page.page.text, page.page.links) == ("caf\u00e9 <a href=b>", [])


def test_what_is_no_text_says_nothing():
    page = meaning_of(answer(200, b"%!PS <a href=b>", ("Content-Type", "application/postscript"))).page
    assert page is not None
    assert (page.text, page.links) == ("", [])


def document(content: bytes, media_type: str) -> Document:
    if content == b"%PDF bad":
        raise UnreadableDocumentError("it is bad")
    return Document("T", "\fwords", ("b", "mailto:x"), missing=content.decode().partition(" ")[2])


def test_a_document_is_a_page_with_links():
    pdf = ("Content-Type", "application/pdf")
    meaning = meaning_of(answer(200, b"%PDF", pdf), documents=document)
    assert meaning.page is not None
    assert (meaning.verdict, meaning.unknown, meaning.links) == (Verdict.FETCHED, "", ["http://example.org/b"])
    assert (meaning.page.title, meaning.page.text) == ("T", "\fwords")


@pytest.mark.parametrize(("missing", "unknown"), [("too many links", "too many links"), ("cut off", "unreadable")])
def test_a_document_that_was_read_in_part_has_unknown_links(missing: str, unknown: str):
    content = f"%PDF {missing}".encode()
    meaning = meaning_of(answer(200, content, ("Content-Type", "application/pdf")), documents=document)
    assert (meaning.verdict, meaning.unknown) == (Verdict.FETCHED, unknown)


def test_a_document_that_cannot_be_read_is_blocked():
    meaning = meaning_of(answer(200, b"%PDF bad", ("Content-Type", "application/pdf")), documents=document)
    assert (meaning.verdict, meaning.reason, meaning.unreadable) == (Verdict.BLOCKED, "unreadable", "it is bad")
    empty = meaning_of(answer(200, b"", ("Content-Type", "application/pdf")), documents=document)
    assert (empty.verdict, empty.unreadable) == (Verdict.BLOCKED, "it is empty")


def test_a_document_that_asks_not_to_be_followed_has_unknown_links():
    headers = (("Content-Type", "application/pdf"), ("X-Robots-Tag", "nofollow"))
    meaning = meaning_of(answer(200, b"%PDF", *headers), documents=document)
    assert meaning.page is not None
    assert (meaning.links, meaning.page.left_out) == ([], ("http://example.org/b",))


def test_a_document_that_nobody_asked_for_has_unknown_links():
    headers = Headers([("Content-Type", "application/pdf")])
    meaning = meaning_of(Fetched(Request(URL, 0), Outcome.UNWANTED_TYPE, 200, headers=headers))
    assert (meaning.verdict, meaning.unknown) == (Verdict.SKIPPED, "links in application/pdf")


def test_a_redirect_leads_somewhere():
    meaning = meaning_of(answer(302, b"", ("Location", "/there#part")))
    assert (meaning.verdict, meaning.target) == (Verdict.REDIRECT, "http://example.org/there")


def test_the_status_alone_is_enough_for_those_who_have_no_more():
    assert verdict_of(outcome_of(404, Headers(), URL), 404) is Verdict.FAILED
    assert verdict_of(outcome_of(403, Headers(), URL), 403) is Verdict.BLOCKED
