"""An answer that was read: all that a crawl has to know of it, without its body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.meaning import Meaning
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.pages.outcome import Outcome
from orienteer.store.record import ArchivedResponse
from orienteer.workers.showing import ShowSettings


@dataclass(frozen=True, slots=True)
class Reading:
    """What a crawl wants to know of its pages.

    `signs`: which pages are nearly the same. `words`: the text and the words of links, for a topic. `whole`: the answer
    itself, for hooks. `records`: the record for the archive; `revisits`: also what a record says of a page that is as
    it was. `requisites`: what pages are shown with. `robot` is the name by which pages speak to the robot that asks.
    `show`: how pages are shown in a browser, where there is one.
    """

    signs: bool = True
    words: bool = False
    whole: bool = False
    records: bool = True
    revisits: bool = False
    requisites: bool = False
    robot: str = OUR_NAME
    show: ShowSettings | None = None

    @property
    def reads_text(self) -> bool:
        return self.signs or self.words or self.whole


class ShownPage(NamedTuple):
    """What came of a page in a browser. The records are gzip members, None where none is to be kept.

    The numbers of words and links are those of the page as it was sent, and as it was shown.
    """

    why: str
    url: str
    dom: bytes | None
    view: bytes | None
    n_words_sent: int
    n_words: int
    n_links_sent: int
    n_links: int
    n_parts: int
    cpu_s: float
    trouble: str


@dataclass(slots=True)
class Received:
    """What came of a request, and what a worker made of it.

    `digest` is that of the content of a page, `signature` that of its text, `sessionless` that of the content without
    the session of its URL. `record` is the WARC record, compressed; `revisited` is what one of a page that has not
    changed would say. `whole` is the answer itself: of robots.txt, of a sitemap, of what a page is shown with, and
    where hooks want it. `requisites` are the URLs that this page, or style, is shown with, where they are wanted.
    `shown` tells what a browser made of it, if one has looked. `cookies` are those that came where the request had
    secrets; they are secrets, too, and kept nowhere.
    """

    request: Request
    outcome: Outcome
    meaning: Meaning
    status: int = 0
    detail: str = ""
    started_at: float = 0.0
    duration_s: float = 0.0
    retry_after_s: float | None = None
    n_bytes: int = 0  # that were received
    size_bytes: int = 0  # of the content
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    digest: bytes | None = None
    signature: bytes | None = None
    sessionless: bytes | None = None
    record: bytes | None = None
    revisited: ArchivedResponse | None = None
    whole: Fetched | None = None
    shown: ShownPage | None = None
    requisites: tuple[str, ...] = ()
    cookies: tuple[str, ...] = field(default=(), repr=False)

    @property
    def reason(self) -> str:
        """The outcome in a word or two, with the status where there is one: `http 404`, `timed out`."""
        return self.outcome.in_words(self.status)
