"""What a worker makes of an answer: it reads the page, signs it, and makes its record for the archive.

There is no record of a page that asks not to be archived (`noarchive`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from orienteer.answers.answer import Fetched
from orienteer.answers.headers import validators
from orienteer.answers.hiding import shows_secrets, without_secrets
from orienteer.answers.meaning import Meaning, meaning_of, verdict_of
from orienteer.answers.shown import Shown, archived_document
from orienteer.extract import near_duplicates
from orienteer.extract.documents.as_page import DocumentReading
from orienteer.extract.documents.limited import read_document
from orienteer.extract.page import Page
from orienteer.extract.requisites import requisites_of
from orienteer.extract.robot_rules import rules_of_header
from orienteer.extract.session_content import digest_without_session
from orienteer.pages.outcome import Outcome
from orienteer.store.record import ArchivedResponse, resource_record, response_record
from orienteer.warc.records import PART
from orienteer.workers.received import Reading, Received, ShownPage
from orienteer.workers.showing import ShownAnswer

DOM, VIEW = "urn:dom:", "urn:view:"  # before the URL of a page: the document that was shown, a picture of it

# Answers that are whole: they go into the archive, whatever they say.
_ARCHIVED = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.SLOW_DOWN))
IS_PART: Mapping[str, str] = {PART: "yes"}  # of the record of what is no page
_REVISITED = frozenset((Outcome.OK, Outcome.NOT_MODIFIED))


def read_answer(
    answer: Fetched, reading: Reading, record_headers: Mapping[str, str] | None = None,
    documents: DocumentReading = read_document,
) -> Received:  # fmt: skip
    """Read an answer, as far as the crawl wants it; `record_headers` are those of its record in the archive.

    `documents` reads PDF and the like.
    """
    secrets = answer.request.secrets
    if secrets is None:
        return _read(answer, reading, record_headers, documents)
    answer, cookies = without_secrets(answer, secrets)
    if secrets.signs is not None and not answer.request.any_type and secrets.signs.shown_by(answer):
        lost = replace(answer, outcome=Outcome.LOGGED_OUT)
        return _received(lost, Meaning(verdict_of(lost.outcome, 0), lost.reason), whole=None)
    found = _read(answer, reading, record_headers, documents)
    found.cookies = cookies
    return found


def read_shown(found: ShownAnswer, reading: Reading, record_headers: Mapping[str, str] | None = None) -> Received:
    """The same for a page that a browser has shown, with a picture of it, unless that shows secrets."""
    received = read_answer(found.answer, reading, record_headers)
    if received.shown is None:
        return received
    secrets, shown, request = found.answer.request.secrets, received.shown, found.answer.request
    view = None
    is_secret = secrets is not None and shows_secrets(found.answer, without_secrets(found.answer, secrets)[0])
    if found.view and shown.dom is not None and not is_secret:
        view = resource_record(
            VIEW + request.url,
            received.started_at,
            media_type_of(found.view),
            found.view,
            request.url,
            record_headers or {},
        )
    received.shown = shown._replace(view=view, n_parts=found.n_parts, cpu_s=found.cpu_s)
    return received


def media_type_of(picture: bytes) -> str:
    return "image/png" if picture.startswith(b"\x89PNG") else "image/jpeg"


def _read(
    answer: Fetched, reading: Reading, record_headers: Mapping[str, str] | None, documents: DocumentReading
) -> Received:
    if answer.request.any_type or answer.request.is_part:
        verdict = verdict_of(answer.outcome, answer.status)
        found = _received(answer, Meaning(verdict, answer.reason), whole=answer)
        return _part(found, answer, reading, record_headers) if answer.request.is_part else found
    meaning = meaning_of(answer, reading.reads_text, reading.robot, documents)
    found = _received(answer, meaning, whole=answer if reading.whole else None)
    if meaning.page is not None:
        content = answer.content if answer.shown is None else answer.shown.document or answer.content
        found.digest = near_duplicates.digest(content)
        found.sessionless = digest_without_session(answer.request.url, content)
        if reading.signs:
            found.signature = near_duplicates.signature(meaning.page.text)
    may_be_kept = meaning.page is None or not meaning.page.noarchive
    if answer.shown is not None:
        found.shown = _shown(answer, answer.shown, meaning, reading.records and may_be_kept, record_headers or {})
        found.meaning = meaning = replace(meaning, sent=None)
    if meaning.page is not None and not reading.words and not reading.whole:
        _drop_words(meaning.page)
    if reading.requisites and meaning.page is not None and may_be_kept:
        found.requisites = _requisites(answer)
    is_archived = reading.records and answer.outcome in _ARCHIVED and may_be_kept
    is_revisited = reading.revisits and answer.outcome in _REVISITED and may_be_kept
    if is_archived or is_revisited:
        response = _response(answer, found.digest)
        response = response._replace(body_sha1=response.payload_sha1)
        found.record = response_record(response, record_headers or {}) if is_archived else None
        found.revisited = response._replace(body=b"") if is_revisited else None
    return found


def _shown(
    answer: Fetched, shown: Shown, meaning: Meaning, is_kept: bool, record_headers: Mapping[str, str]
) -> ShownPage:
    """What a browser made of a page, with the record of the document."""
    url, sent, page = answer.request.url, meaning.sent, meaning.page
    dom = None
    if is_kept and (shown.document or shown.redirect):
        body = archived_document(shown)
        dom = resource_record(DOM + url, answer.started_at, "text/html; charset=utf-8", body, url, record_headers)
    return ShownPage(
        why=str(answer.request.render),
        url=shown.url,
        dom=dom,
        view=None,
        n_words_sent=0 if sent is None else len(sent.text.split()),
        n_words=0 if page is None else len(page.text.split()),
        n_links_sent=0 if sent is None else len(sent.links),
        n_links=0 if page is None else len(page.links),
        n_parts=0,
        cpu_s=0.0,
        trouble=shown.trouble,
    )


def _part(found: Received, answer: Fetched, reading: Reading, record_headers: Mapping[str, str] | None) -> Received:
    """What a page is shown with; it may always turn out to be the same as something that is archived."""
    stated = "\n".join(answer.headers.get_all("x-robots-tag"))
    if rules_of_header(stated, answer.started_at, reading.robot).noarchive:
        return found
    if reading.requisites and answer.outcome is Outcome.OK:
        found.requisites = _requisites(answer)
    if reading.records and answer.outcome in (*_ARCHIVED, Outcome.NOT_MODIFIED):
        response = _response(answer, None)
        response = response._replace(body_sha1=response.payload_sha1)
        if answer.outcome in _ARCHIVED:
            found.record = response_record(response, {**(record_headers or {}), **IS_PART})
        found.revisited = response._replace(body=b"")
    return found


def _requisites(answer: Fetched) -> tuple[str, ...]:
    return tuple(requisites_of(answer.content, answer.request.url, answer.content_type, answer.charset))


def _received(answer: Fetched, meaning: Meaning, whole: Fetched | None) -> Received:
    etag, last_modified = validators(answer.headers)
    return Received(
        request=answer.request,
        outcome=Outcome.UNREADABLE if meaning.unreadable else answer.outcome,
        meaning=meaning,
        status=answer.status,
        detail=meaning.unreadable or answer.detail,
        started_at=answer.started_at,
        duration_s=answer.duration_s,
        retry_after_s=answer.retry_after_s,
        n_bytes=len(answer.raw_headers) + len(answer.body),
        size_bytes=len(answer.content),
        content_type=answer.content_type,
        etag=etag,
        last_modified=last_modified,
        whole=whole,
    )


def _drop_words(page: Page) -> None:
    """Nobody wants them; they would be the most of what a worker hands over."""
    page.text, page.description = "", ""
    page.headings, page.anchors = [], []


def _response(answer: Fetched, digest: bytes | None) -> ArchivedResponse:
    """`digest` is of the content."""
    return ArchivedResponse(
        url=answer.request.url,
        time=answer.started_at,
        raw_headers=answer.raw_headers,
        body=answer.body,
        address=answer.address,
        protocol=answer.protocol,
        body_sha1=digest if answer.content is answer.body else None,
        duration_s=answer.duration_s,
    )
