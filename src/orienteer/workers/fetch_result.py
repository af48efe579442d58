"""The result of a fetch after parsing: what the coordinator needs, without the body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from orienteer.browser.job import RenderSettings
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import Request, Response
from orienteer.responses.verdict import Verdict
from orienteer.store.record import ArchivedResponse
from orienteer.store.rendering_tables import RenderedRow


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
