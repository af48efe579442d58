"""The result of a fetch after parsing: what the coordinator needs, without the body.

A worker reads a response: it parses the page, computes digests and the signature, and builds the WARC records. A page
with the robots rule `noarchive` gets no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orienteer.browser.job import RenderSettings
from orienteer.extract import near_duplicates
from orienteer.extract.assets import asset_urls
from orienteer.extract.documents.document import DocumentReading
from orienteer.extract.documents.limited import read_document
from orienteer.extract.page import Page
from orienteer.extract.robot_rules import OUR_NAME, rules_of_header
from orienteer.pages.outcome import Outcome
from orienteer.pages.render_reason import RenderReason
from orienteer.responses.headers import validators
from orienteer.responses.redaction import without_secrets
from orienteer.responses.rendered import RenderedPage, archived_document
from orienteer.responses.response import AssetRequest, HostRequest, PageRequest, Request, Response
from orienteer.responses.verdict import Verdict, verdict_kind_of, verdict_of
from orienteer.store.record import DOM, VIEW, ArchivedResponse, resource_record, response_record
from orienteer.store.rendering_tables import RenderedRow
from orienteer.warc.records import ASSET_HEADER


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """What a worker extracts from a response.

    `signatures` are for near-duplicate detection, `texts` (page text and anchor texts) for a topic, `full_responses`
    for hooks. `records` are WARC records for the archive, `revisits` the fields of a revisit record for a page that has
    not changed. `assets` are the URLs of images, styles and scripts. `robot` is the name of this crawler in robots meta
    tags. `render` is how pages are rendered in a browser (without it, none is): in the program `browser`, detected if
    empty, which calls itself `user_agent`.
    """

    signatures: bool = True
    texts: bool = False
    full_responses: bool = False
    records: bool = True
    revisits: bool = False
    assets: bool = False
    robot: str = OUR_NAME
    render: RenderSettings | None = None
    browser: str = ""
    user_agent: str = ""

    @property
    def reads_text(self) -> bool:
        return self.signatures or self.texts or self.full_responses


@dataclass(slots=True)
class FetchResult:
    """The outcome of a request and what the worker extracted from the response.

    `digest` is of the content, `signature` of the text, `sessionless_digest` of the content without the session id of
    its URL. `record` is the compressed WARC record, `revisit` has the fields of a revisit record for an unchanged page.
    `full_response` is set for robots.txt, sitemaps and assets, and for pages if there are hooks. `assets` are the URLs
    of the assets of this page or style sheet, if the settings ask for them. `rendered` is set if a browser rendered the
    page, without the positions of its document and its screenshot; `rendered_records` are their WARC records, if they
    are archived, and `anchors` the route fields that only scroll the page (see `responses/rendered`). `cookies` are
    those set by responses to requests with secrets; they are secrets as well and never stored.
    """

    request: Request
    outcome: Outcome
    verdict: Verdict
    status: int = 0
    detail: str = ""
    started_at: float = 0.0
    duration_s: float = 0.0
    retry_after_s: float | None = None
    n_bytes: int = 0  # received, headers included
    size_bytes: int = 0  # of the decoded content
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    digest: bytes | None = None
    signature: bytes | None = None
    sessionless_digest: bytes | None = None
    record: bytes | None = None
    revisit: ArchivedResponse | None = None
    full_response: Response | None = None
    rendered: RenderedRow | None = None
    rendered_records: tuple[bytes | None, bytes | None] = (None, None)
    anchors: tuple[str, ...] = ()
    assets: tuple[str, ...] = ()
    cookies: tuple[str, ...] = field(default=(), repr=False)

    @property
    def reason(self) -> str:
        """The outcome in a word or two, with the HTTP status if there is one: `http 404`, `timed out`."""
        return self.outcome.describe(self.status)

    @property
    def facts(self) -> dict[str, Any]:
        """The fields for the log."""
        facts = {
            "url": self.request.url,
            "outcome": self.reason,
            "status": self.status,
            "bytes": self.n_bytes,
            "duration_s": round(self.duration_s, 4),
        }
        if self.request.method != "GET":
            facts["method"] = self.request.method
        return facts | {"detail": self.detail} if self.detail else facts


# Complete responses are archived, whatever their status.
_ARCHIVED = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.SLOW_DOWN))
ASSET_HEADERS: Mapping[str, str] = {ASSET_HEADER: "yes"}  # mark the record of an asset
_REVISITED = frozenset((Outcome.OK, Outcome.NOT_MODIFIED))


def read_response(
    response: Response, reading: ReadSettings, record_headers: Mapping[str, str] | None = None,
    documents: DocumentReading = read_document,
) -> FetchResult:  # fmt: skip
    """Read a response as far as the settings ask for; `record_headers` are added to its WARC record.

    `documents` parses PDF and other documents.
    """
    secrets = response.request.secrets
    if secrets is None:
        return _read(response, reading, record_headers, documents)
    response, cookies = without_secrets(response, secrets)
    if secrets.signs is not None and not isinstance(response.request, HostRequest) and secrets.signs.matches(response):
        logged_out = replace(response, outcome=Outcome.LOGGED_OUT)
        verdict = Verdict(verdict_kind_of(logged_out.outcome, 0), logged_out.reason)
        return _result(logged_out, verdict, full_response=None)
    result = _read(response, reading, record_headers, documents)
    result.cookies = cookies
    return result


def media_type_of(image: bytes) -> str:
    return "image/png" if image.startswith(b"\x89PNG") else "image/jpeg"


def _read(
    response: Response, reading: ReadSettings, record_headers: Mapping[str, str] | None, documents: DocumentReading
) -> FetchResult:
    request = response.request
    if not isinstance(request, PageRequest):
        kind = verdict_kind_of(response.outcome, response.status)
        result = _result(response, Verdict(kind, response.reason), full_response=response)
        return _read_asset(result, response, reading, record_headers) if isinstance(request, AssetRequest) else result
    with_text = reading.reads_text or response.rendered is not None  # words measure the gain of rendering
    verdict = verdict_of(response, with_text, reading.robot, documents)
    result = _result(response, verdict, full_response=_for_hooks(response) if reading.full_responses else None)
    if verdict.page is not None:
        content = response.content if response.rendered is None else response.rendered.document or response.content
        result.digest = near_duplicates.digest(content)
        result.sessionless_digest = near_duplicates.digest_without_session(response.request.url, content)
        if reading.signatures:
            result.signature = near_duplicates.signature(verdict.page.text)
    may_archive = verdict.page is None or not verdict.page.noarchive
    if response.rendered is not None:
        result.rendered = _rendered_row(response, request, response.rendered, verdict)
        if reading.records and may_archive:
            result.rendered_records = _rendered_records(response, response.rendered, record_headers or {})
        result.anchors = response.rendered.anchors
        result.verdict = verdict = replace(verdict, sent=None)
    if verdict.page is not None and not reading.texts and not reading.full_responses:
        _drop_texts(verdict.page)
    if reading.assets and verdict.page is not None and may_archive:
        result.assets = _assets(response)
    is_archived = reading.records and response.outcome in _ARCHIVED and may_archive
    is_revisited = reading.revisits and response.outcome in _REVISITED and may_archive
    if is_archived or is_revisited:
        archived = _archived_response(response)
        result.record = response_record(archived, record_headers or {}) if is_archived else None
        result.revisit = archived._replace(body=b"") if is_revisited else None
    return result


def _rendered_row(response: Response, request: PageRequest, rendered: RenderedPage, verdict: Verdict) -> RenderedRow:
    """Return the row of a rendered page, without the positions of its records."""
    sent, page = verdict.sent, verdict.page
    return RenderedRow(
        page=request.page,
        why=str(RenderReason.SAMPLE if request.render is RenderReason.SPARSE else request.render),
        time=response.started_at,
        url=rendered.url,
        n_words_sent=0 if sent is None else len(sent.text.split()),
        n_words=0 if page is None else len(page.text.split()),
        n_links_sent=0 if sent is None else len(sent.links),
        n_links=0 if page is None else len(page.links),
        n_requests=rendered.n_requests,
        cpu_s=rendered.cpu_s,
        problem=rendered.trouble,
        sent_digest=near_duplicates.digest(response.content),
        rendered_digest=_rendered_digest(rendered, verdict),
    )


def _rendered_records(
    response: Response, rendered: RenderedPage, record_headers: Mapping[str, str]
) -> tuple[bytes | None, bytes | None]:
    """Return the WARC records of the rendered document and of its screenshot."""
    url, time, image = response.request.url, response.started_at, rendered.screenshot
    if not (rendered.document or rendered.redirect):
        return None, None
    body = archived_document(rendered)
    dom = resource_record(DOM + url, time, "text/html; charset=utf-8", body, url, record_headers)
    view = resource_record(VIEW + url, time, media_type_of(image), image, url, record_headers) if image else None
    return dom, view


def _rendered_digest(rendered: RenderedPage, verdict: Verdict) -> bytes | None:
    """Return a digest of title, text and links (the markup may differ at each rendering); None if incomplete."""
    if rendered.trouble or not (rendered.document or rendered.redirect):
        return None
    page = verdict.page
    fields = ["redirect", verdict.target or ""] if page is None else [page.title, page.text, *sorted(page.links)]
    return near_duplicates.digest("\n".join(fields).encode("utf-8", "replace"))


def _read_asset(
    result: FetchResult, response: Response, reading: ReadSettings, record_headers: Mapping[str, str] | None
) -> FetchResult:
    """Add assets and records to the result of an asset; its body may be archived already, hence `revisit`."""
    stated = "\n".join(response.headers.get_all("x-robots-tag"))
    if rules_of_header(stated, response.started_at, reading.robot).noarchive:
        return result
    if reading.assets and response.outcome is Outcome.OK:
        result.assets = _assets(response)
    if reading.records and response.outcome in (*_ARCHIVED, Outcome.NOT_MODIFIED):
        archived = _archived_response(response)
        if response.outcome in _ARCHIVED:
            result.record = response_record(archived, {**(record_headers or {}), **ASSET_HEADERS})
        result.revisit = archived._replace(body=b"")
    return result


def _assets(response: Response) -> tuple[str, ...]:
    return tuple(asset_urls(response.content, response.request.url, response.content_type, response.charset))


def _result(response: Response, verdict: Verdict, full_response: Response | None) -> FetchResult:
    etag, last_modified = validators(response.headers)
    return FetchResult(
        request=response.request,
        outcome=Outcome.UNREADABLE if verdict.unreadable else response.outcome,
        verdict=verdict,
        status=response.status,
        detail=verdict.unreadable or response.detail,
        started_at=response.started_at,
        duration_s=response.duration_s,
        retry_after_s=response.retry_after_s,
        n_bytes=len(response.raw_headers) + len(response.body),
        size_bytes=len(response.content),
        content_type=response.content_type,
        etag=etag,
        last_modified=last_modified,
        full_response=full_response,
    )


def _for_hooks(response: Response) -> Response:
    """Return the response without the screenshot, which hooks do not see."""
    rendered = response.rendered
    if rendered is None or not rendered.screenshot:
        return response
    return replace(response, rendered=rendered._replace(screenshot=b""))


def _drop_texts(page: Page) -> None:
    """Drop the texts that the coordinator does not need: they would be most of the bytes sent to it."""
    page.text, page.description = "", ""
    page.headings, page.anchors = [], []


def _archived_response(response: Response) -> ArchivedResponse:
    """Return the response as the server sent it. The rendered document has its own record and digest."""
    return ArchivedResponse(
        url=response.request.url,
        time=response.started_at,
        raw_headers=response.raw_headers,
        body=response.body,
        address=response.address,
        protocol=response.protocol,
        body_sha1=near_duplicates.digest(response.body),
        duration_s=response.duration_s,
    )
