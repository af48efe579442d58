"""The parts of pages that a crawl has: in memory, in the archive, and in the table `part`.

A part is fetched once in an epoch, whoever wants it. In a refresh it is asked for again, with the headers that let a
server say: not modified. Bytes that stand in the archive already are not archived again: a revisit record points there.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.headers import Headers, validators
from orienteer.errors import CrawlFolderError
from orienteer.extract.requisites import requisites_of
from orienteer.fetch.archive import archived_answer
from orienteer.ledger.ledger import Ledger
from orienteer.pages.outcome import NO_ERRORS, Outcome
from orienteer.store.archive import Position
from orienteer.store.part_reading import read_part
from orienteer.store.record import ArchivedPage, Revisited
from orienteer.store.shown_tables import PartRow
from orienteer.workers.answer_reader import IS_PART
from orienteer.workers.received import Received

MAX_MEMORY_BYTES = 64 << 20

_CONDITIONS = frozenset(("if-none-match", "if-modified-since"))


class KeptParts:
    """The parts of one ledger's crawl."""

    def __init__(self, ledger: Ledger, max_memory_bytes: int = MAX_MEMORY_BYTES) -> None:
        self._ledger = ledger
        self._database = ledger.database
        self._archive = ledger.folder.archive
        self._max_memory_bytes = max_memory_bytes
        self._memory: OrderedDict[str, Fetched] = OrderedDict()  # by URL, the one used last at the end
        self._memory_bytes = 0

    # -- what there is ------------------------------------------------------------------------------------------

    def answer(self, url: str) -> Fetched | str | None:
        """What came of a part in this epoch, or why nothing did; None if it must be asked for."""
        if url in self._memory:
            self._memory.move_to_end(url)
            return self._memory[url]
        row = self._row(url)
        if row is None or not row.outcome:
            return self._page(url) if row is None else None
        if row.archived is None:
            return None if row.outcome in NO_ERRORS or row.outcome.startswith("http ") else row.outcome
        found = self._read(row)
        if found is None:
            return None
        answer = archived_answer(_request(url), found, self._ledger.plan.fetch)
        self._remember(url, answer)
        return answer

    def is_known(self, url: str) -> bool:
        """Whether a part is wanted or done in this epoch, or a page of the crawl that stands in the archive."""
        return url in self._memory or self._row(url) is not None or self._page_place(url) is not None

    def row_wanted(self, url: str) -> int | None:
        """The number of the row that says that a part is wanted."""
        row = self._database.part(url)
        return row.id if row is not None and not row.outcome else None

    def request_headers(self, url: str) -> tuple[tuple[str, str], ...]:
        """What to send so that the server need not send again what is here already."""
        row = self._before(url)
        found = None if row is None else self._read(row)
        if found is None or found.status != 200:
            return ()
        etag, last_modified = validators(Headers(found.headers))
        headers = (("If-None-Match", etag), ("If-Modified-Since", last_modified))
        return tuple((name, value) for name, value in headers if value)

    def requisites_of_page(self, page: int) -> list[str]:
        """What a page of the crawl is shown with, as it stands in the archive."""
        row = self._database.page(page)
        if row is None or row.archived is None:
            return []
        try:
            found = self._archive.read(row.archived)
        except CrawlFolderError:
            return []
        answer = archived_answer(_request(found.url), found, self._ledger.plan.fetch)
        return requisites_of(answer.content, found.url, answer.content_type, answer.charset)

    # -- what comes ---------------------------------------------------------------------------------------------

    def want(self, url: str) -> int:
        """The part is wanted, also by whoever resumes the crawl."""
        self._ledger.wrote_besides()
        return self._database.add_part(url, self._ledger.number)

    def refuse(self, url: str, row: int | None, outcome: str) -> None:
        """It was not asked for, or nothing came."""
        self._end(PartRow(self.want(url) if row is None else row, url, self._ledger.number, outcome))

    def keep(self, url: str, row: int | None, answer: Received) -> Fetched:
        """What came of it goes into the archive; the answer, whole."""
        assert answer.whole is not None
        before = self._before(url)
        number = self.want(url) if row is None else row
        done = PartRow(
            number, url, self._ledger.number, answer.reason, answer.status, answer.started_at, answer.content_type
        )
        was_asked = any(name.lower() in _CONDITIONS for name, _ in answer.request.headers)
        if answer.outcome is Outcome.NOT_MODIFIED and was_asked and before is not None and before.digest is not None:
            place = self._not_modified(answer, before)
            done = done._replace(content_type=before.content_type, digest=before.digest, archived=place)
        elif answer.record is not None and answer.revisited is not None:
            done = done._replace(digest=answer.revisited.payload_sha1, archived=self._archived(answer))
        self._end(done)
        whole = answer.whole
        if answer.outcome is Outcome.NOT_MODIFIED and (found := self._read(done)) is not None:
            whole = archived_answer(_request(url), found, self._ledger.plan.fetch)
        self._remember(url, whole)
        return whole

    def _not_modified(self, answer: Received, before: PartRow) -> Position | None:
        assert before.digest is not None
        first = self._database.part_with_digest(before.digest)
        if first is None or answer.revisited is None:
            return None
        earlier = Revisited(first.url, first.time, before.digest)
        return self._archive.append_revisit(answer.revisited, earlier, not_modified=True, more=IS_PART)

    def _archived(self, answer: Received) -> Position:
        assert answer.record is not None
        assert answer.revisited is not None
        digest = answer.revisited.payload_sha1
        first = self._database.part_with_digest(digest) if answer.outcome is Outcome.OK else None
        if first is None or not answer.size_bytes:
            return self._archive.append_member(answer.record)
        earlier = Revisited(first.url, first.time, digest)
        return self._archive.append_revisit(answer.revisited, earlier, not_modified=False, more=IS_PART)

    def _end(self, row: PartRow) -> None:
        self._database.end_part(row)
        self._ledger.wrote_besides()

    # -- reading back -------------------------------------------------------------------------------------------

    def _row(self, url: str) -> PartRow | None:
        """What is known of the part in this epoch; one that is wanted since an earlier one is wanted still."""
        row = self._database.part(url)
        return None if row is None or (row.outcome and row.epoch != self._ledger.number) else row

    def _before(self, url: str) -> PartRow | None:
        """What came of the part in an earlier epoch."""
        if self._ledger.epoch is None:
            return None
        row = self._database.last_part_done(url)
        return None if row is None or row.archived is None or row.digest is None else row

    def _read(self, row: PartRow) -> ArchivedPage | None:
        try:
            return read_part(self._database, self._archive, row)
        except CrawlFolderError:
            return None  # a damaged record: the part is asked for again

    def _page_place(self, url: str) -> Position | None:
        """Where a page of the crawl stands that has this URL, if it came in this epoch."""
        page = self._ledger.seen.find(url)
        row = None if page is None else self._database.page(page)
        epoch = self._ledger.epoch
        return None if row is None or (epoch is not None and row.time < epoch.began) else row.archived

    def _page(self, url: str) -> Fetched | None:
        place = self._page_place(url)
        if place is None:
            return None
        try:
            return archived_answer(_request(url), self._archive.read(place), self._ledger.plan.fetch)
        except CrawlFolderError:
            return None

    def _remember(self, url: str, answer: Fetched) -> None:
        self._memory_bytes -= _size(self._memory.pop(url, None))
        self._memory[url] = replace(answer, request=_request(url))
        self._memory_bytes += _size(answer)
        while self._memory_bytes > self._max_memory_bytes:
            self._memory_bytes -= _size(self._memory.popitem(last=False)[1])


def _request(url: str) -> Request:
    return Request(url, -1, is_part=True)


def _size(answer: Fetched | None) -> int:
    if answer is None:
        return 0
    return 1000 + len(answer.body) + (len(answer.content) if answer.content is not answer.body else 0)
