"""The brain alone: CPU time a page of all that stays in one process when others fetch and read.

A live crawl runs as ever (policy, frontier, certificate, ledger, database, archive, log, figures, checkpoints), but its
answers come from memory: what a worker does (fetching, reading, hashing, signing, compressing) was done before, or is
done while the clock stands. So pages a second, which is one over the CPU time a page, is the most that any number of
workers can bring about: the brain's *cap*.

The real pages are those of the section `live_crawl`. The generated web has no end: 40 links on each page, 20 of them
to URLs that are new, 1,000 hosts; of each size it says what the last pages before it took. Parts are measured in runs
of their own, where the clock itself takes some microseconds a page; time inside a part that belongs to another one
counts there alone.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from benchmarks.crawlers.task import CONNECTIONS, CONNECTIONS_PER_HOST
from benchmarks.live_crawl import DOCUMENTATION
from benchmarks.measure import machine, measured, table
from orienteer.answers.answer import Fetched, Request, outcome_of
from orienteer.answers.headers import Headers
from orienteer.answers.meaning import Meaning, Verdict, meaning_of
from orienteer.crawl.crawl import Crawl
from orienteer.extract import near_duplicates
from orienteer.extract.page import Page
from orienteer.fake_web.page_site import PageSite
from orienteer.fake_web.site import RequestHeaders
from orienteer.ledger.duplicates import Duplicates
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.figures import Watch
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.seed_check import SeedCheck
from orienteer.live.warm_up import warm_up
from orienteer.pages.outcome import Outcome
from orienteer.store import archive
from orienteer.store.archive import Archive
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.log import Log
from orienteer.store.record import response_record

KINDS: dict[str, dict[str, Any]] = {"all by default": {}, "links only": {"near_duplicates": "off"}}
SIZES = (200_000, 1_000_000, 5_000_000)  # known URLs
LINKS_PER_PAGE, NEW_PER_PAGE, N_HOSTS = 40, 20, 1_000
LAST_PAGES = 5_000  # before a size is reached: what they took is told
HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nETag: "5f1c-61"\r\n\r\n'
HEADERS = Headers([("Content-Type", "text/html; charset=utf-8"), ("ETag", '"5f1c-61"')])
MEMBER_BYTES = 6_000  # of a compressed record: a usual page
PARTS: dict[str, list[tuple[type, tuple[str, ...]]]] = {
    "URLs, scope, depths": [(Ledger, ("_numbered",))],
    "duplicates": [(Duplicates, ("exact", "near"))],
    "SQLite": [(Database, ())],
    "archive": [(Archive, ("append", "append_member", "_append", "sync"))],
    "policy, frontier, coverage": [
        (Crawl, ("next", "fetched", "failed", "skipped", "blocked", "redirected", "retry", "discover")),
    ],
    "log, figures": [(Log, ("note", "flush")), (Watch, ("look",))],
    "checkpoint": [(Ledger, ("checkpoint",))],
    "ledger": [(Ledger, ("take_in", "acknowledge"))],
}
REST = "loop and rest"


# -- what workers have done -----------------------------------------------------------------------------------------


class Content(bytes):
    """A content, with what a worker says of it."""

    digest: bytes
    media_type: str
    member: bytes


class Text(str):
    signature: bytes | None


class Answer(Fetched):
    """Whose type is known by now."""

    __slots__ = ()

    @property
    def content_type(self) -> str:
        content = self.content
        return content.media_type if isinstance(content, Content) else super().content_type


class Worked(NamedTuple):
    answer: Fetched
    meaning: Meaning


@contextmanager
def done_by_workers() -> Iterator[None]:
    """Inside, nothing is hashed, signed or compressed: it is known."""
    before = near_duplicates.digest, near_duplicates.signature, archive.response_record
    near_duplicates.digest = lambda content: content.digest  # type: ignore[attr-defined]
    near_duplicates.signature = lambda text: text.signature  # type: ignore[attr-defined]
    archive.response_record = lambda response, more=None: response.body.member  # type: ignore[attr-defined]
    try:
        yield
    finally:
        near_duplicates.digest, near_duplicates.signature, archive.response_record = before


class Web(Protocol):
    seeds: tuple[str, ...]
    scope: str

    def worked(self, request: Request) -> Worked:
        """The answer to a request, as a worker hands it over."""


class RealPages:
    """The documentation hosts; everything is read before the clock starts."""

    scope = "host"

    def __init__(self, with_text: bool) -> None:
        self._site, self._with_text = PageSite(DOCUMENTATION), with_text
        self.seeds = tuple(f"http://{host}/" for host in self._site.hosts)
        self._hosts = frozenset(self._site.hosts)
        self._known: dict[str, Worked] = {}
        waiting = [*self.seeds, *(f"{seed}robots.txt" for seed in self.seeds)]
        while waiting:
            url = waiting.pop()
            if url not in self._known and url.split("/", 3)[2] in self._hosts:
                self._known[url] = done = self._made(url)
                waiting += [*done.meaning.links, *([done.meaning.target] if done.meaning.target else [])]

    def worked(self, request: Request) -> Worked:
        answer, meaning = self._known[request.url]
        return Worked(replace(answer, request=request, started_at=time.time()), meaning)

    def _made(self, url: str) -> Worked:
        host, _, target = url.split("/", 3)[2], None, "/" + url.split("/", 3)[3]
        head, body = self._site.answer(host, target, RequestHeaders(b"")).parts()
        lines = head.decode("latin-1").split("\r\n")
        headers = Headers([tuple(line.split(": ", 1)) for line in lines[1:] if line])  # type: ignore[misc]
        status = int(lines[0].split()[1])
        outcome = outcome_of(status, headers, url)
        answer = Answer(
            Request(url, 0), outcome, status, lines[0], headers, head, body, body, "192.0.2.1", "http/1.1", time.time()
        )  # fmt: skip
        meaning = meaning_of(answer, self._with_text)
        content = Content(body)
        content.digest, content.media_type = near_duplicates.digest(body), answer.content_type
        content.member = response_record(_archived(answer, content.digest))
        if meaning.page is not None:
            text = Text(meaning.page.text)
            text.signature = near_duplicates.signature(text)
            meaning = replace(meaning, page=replace(meaning.page, text=text))
        return Worked(replace(answer, body=content, content=content), meaning)


class GeneratedPages:
    """A web without an end; known links mostly go to old pages: the web links to what it knows."""

    scope = "site"
    _member: ClassVar[bytes] = np.random.default_rng(2).bytes(MEMBER_BYTES)

    def __init__(self, with_text: bool) -> None:
        self._with_text = with_text
        self._rng = np.random.default_rng(1)
        self._n_urls = 1
        self.seeds = (self._url(0),)

    def worked(self, request: Request) -> Worked:
        rng = self._rng
        old = (self._n_urls * rng.random(LINKS_PER_PAGE - NEW_PER_PAGE) ** 2).astype(int).tolist()
        new = range(self._n_urls, self._n_urls + NEW_PER_PAGE)
        self._n_urls += NEW_PER_PAGE
        content = Content(b"page %d" % request.page)
        content.digest, content.media_type, content.member = rng.bytes(20), "text/html", self._member
        text = Text("")
        text.signature = rng.bytes(2 * near_duplicates.N_SLOTS) if self._with_text else None
        answer = Answer(
            request, Outcome.OK, 200, "HTTP/1.1 200 OK", HEADERS, HEAD, content, content, "192.0.2.1", "http/1.1",
            time.time(), 0.1,
        )  # fmt: skip
        page = Page(
            list(dict.fromkeys(map(self._url, (*old, *new)))), f"The title of page {request.page}", text, headings=[],
            anchors=[], description="", language="en", charset="utf-8", canonical=None, noindex=False, nofollow=False,
        )  # fmt: skip
        return Worked(answer, Meaning(Verdict.FETCHED, answer.reason, page))

    @staticmethod
    def _url(page: int) -> str:
        """About 60 bytes, as on the web."""
        return f"https://www-{page * 7919 % N_HOSTS}.web.example/section/{page % 97}/article-{page}.html"


def _archived(answer: Fetched, digest: bytes) -> archive.ArchivedResponse:
    return archive.ArchivedResponse(
        answer.request.url,
        answer.started_at,
        answer.raw_headers,
        answer.body,
        answer.address,
        answer.protocol,
        body_sha1=digest,
    )


class Replaying:
    """A fetcher that knows all answers. `outside_s` is the CPU time of what is not the brain's."""

    asks_web = True

    def __init__(self, web: Web) -> None:
        self.outside_s = 0.0
        self.n_answers = 0
        self._outside_wall_s = 0.0
        self._web = web
        self._requests: deque[Request] = deque()
        self._meanings: dict[int, Meaning] = {}
        self._clock = time.monotonic

    @property
    def n_under_way(self) -> int:
        return len(self._requests)

    def start(self, request: Request) -> None:
        self._requests.append(request)

    def poll(self, timeout_s: float) -> list[Fetched]:
        cpu_s, wall_s = time.process_time(), self._clock()
        answers = []
        while self._requests:
            done = self._web.worked(self._requests.popleft())
            self._meanings[id(done.answer)] = done.meaning
            answers.append(done.answer)
        self.n_answers += len(answers)
        self.outside_s += time.process_time() - cpu_s
        self._outside_wall_s += self._clock() - wall_s
        return answers

    def read(self, answers: list[Fetched]) -> list[Meaning]:
        """In place of Intake.read."""
        return [self._meanings.pop(id(answer)) for answer in answers]

    def now(self) -> float:
        """In place of time.monotonic: it stands while answers are made, so that commits and figures come as often a
        page as they would."""
        return self._clock() - self._outside_wall_s

    def cancel(self) -> None:
        self._requests.clear()

    def close(self) -> None:
        self._requests.clear()


# -- parts ----------------------------------------------------------------------------------------------------------


class Clock:
    """CPU time by part; of calls inside each other, the inner one has its own."""

    def __init__(self) -> None:
        self.spent_s: Counter[str] = Counter()
        self._since = time.thread_time()
        self._open = [REST]

    def enter(self, part: str) -> None:
        now = time.thread_time()
        self.spent_s[self._open[-1]] += now - self._since  # type: ignore[assignment]
        self._open.append(part)
        self._since = now

    def leave(self) -> None:
        now = time.thread_time()
        self.spent_s[self._open.pop()] += now - self._since  # type: ignore[assignment]
        self._since = now

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.enter(part)
            try:
                return function(*arguments, **named)
            finally:
                self.leave()

        return call

    def install(self) -> None:
        """Time the parts; for the rest of the process."""
        for part, owners in PARTS.items():
            for owner, names in owners:
                for name in names or _public_functions(owner):
                    if hasattr(owner, name):
                        setattr(owner, name, self.timed(part, getattr(owner, name)))
        Replaying.poll = self.timed("outside", Replaying.poll)  # type: ignore[method-assign]


def _public_functions(owner: type) -> list[str]:
    named = {name: value for kind in owner.__mro__ for name, value in vars(kind).items()}
    return [name for name, value in named.items() if callable(value) and not name.startswith("_")
            and not isinstance(value, (classmethod, staticmethod, type)) and name != "close"]  # fmt: skip


# -- runs -----------------------------------------------------------------------------------------------------------


class Spent(NamedTuple):
    """What a crawl took; `marks` are (pages done, URLs known, CPU s so far) now and then."""

    n_pages: int
    n_answers: int
    cpu_s: float
    parts: dict[str, float]
    marks: list[tuple[int, int, float]]


def plan_of(web: Web, settings: dict[str, Any]) -> CrawlPlan:
    tables = {
        "crawl": {"seeds": list(web.seeds), "workers": CONNECTIONS} | settings,
        "scope": {"kind": web.scope},
        "politeness": {"delay_s": 0.0, "connections": CONNECTIONS_PER_HOST},
    }
    return CrawlPlan.of_tables(tables, "benchmark")


def crawled(web: Web, plan: CrawlPlan, folder: Path, clock: Clock | None, mark_every: int = 1_000) -> Spent:
    """Crawl as the command does; without its report."""
    fetcher = Replaying(web)
    real_monotonic, time.monotonic = time.monotonic, fetcher.now
    try:
        with CrawlFolder.create(folder, plan.to_toml()) as opened, done_by_workers():
            live = LiveCrawl(Ledger(opened, plan), fetcher)
            live.intake.read = fetcher.read  # type: ignore[assignment, method-assign]
            watch, seeds = Watch(live.intake, live), SeedCheck(live.ledger)
            live.hear = lambda answer: seeds.hear(answer, time.monotonic())
            marks: list[tuple[int, int, float]] = []
            gc.collect()
            started = time.process_time()

            def tick() -> None:
                now = time.monotonic()
                seeds.expect_a_page(now)
                seeds.newly_lost(now)
                if watch.is_due():
                    watch.look()
                n_done = len(live.crawl.order)
                if not marks or n_done >= marks[-1][0] + mark_every:
                    marks.append((n_done, len(live.ledger.seen), time.process_time() - started - fetcher.outside_s))

            if clock is not None:
                clock.spent_s.clear()
            live.run(tick)
            cpu_s = time.process_time() - started - fetcher.outside_s
            n_pages = live.intake.outcomes[Outcome.OK]
            return Spent(n_pages, fetcher.n_answers, cpu_s, dict(clock.spent_s) if clock else {}, marks)
    finally:
        time.monotonic = real_monotonic


def prepare(kind: type, settings: dict[str, Any], n_pages: int | None, with_parts: bool) -> Callable[[], Spent]:
    """A run over a web; `n_pages` is its budget. A few pages are crawled beforehand, which compiles the kernels."""
    web: Web = kind(settings.get("near_duplicates") != "off")
    plan = plan_of(web, settings | ({} if n_pages is None else {"budget": n_pages}))
    warm_up(plan)
    place = tempfile.TemporaryDirectory(prefix="orienteer-benchmark-")
    crawled(kind(False) if kind is GeneratedPages else web, plan_of(web, settings | {"budget": 200}),
            Path(place.name) / "small", None)  # fmt: skip
    clock = Clock() if with_parts else None
    if clock is not None:
        clock.install()

    def run() -> Spent:
        with place:
            return crawled(web, plan, Path(place.name) / "crawl", clock)

    return run


def run(sizes: tuple[int, ...] = SIZES) -> str:
    text = machine("numpy", "numba") + "\n\n"
    webs: dict[str, tuple[type, int | None]] = {}
    if DOCUMENTATION.exists():
        webs["36 documentation hosts, real pages"] = (RealPages, None)
    else:
        text += f"The real pages are not here: {DOCUMENTATION.name}\n\n"
    webs[f"A generated web, {sizes[0]:,} URLs"] = (GeneratedPages, sizes[0] // NEW_PER_PAGE)
    totals, parts = [], {}
    for title, (kind, n_pages) in webs.items():
        for label, settings in KINDS.items():
            spent = _best(kind, settings, n_pages, False)
            totals.append([f"{title}, {label}", f"{spent.n_pages:,}", f"{spent.n_answers:,}", *_figures(spent)])
            parts[f"{title}, {label}"] = _best(kind, settings, n_pages, True)
    text += table(["", "pages", "answers", "CPU ms a page", "the cap: pages/s"], totals) + "\n" + _parts_table(parts)
    if len(sizes) > 1:
        text += "\n" + _sizes_table(sizes)
    return text


def _best(kind: type, settings: dict[str, Any], n_pages: int | None, with_parts: bool, rounds: int = 2) -> Spent:
    """Of some processes, the one that took least: the machine is shared."""
    runs: list[Spent] = [measured(prepare, kind, settings, n_pages, with_parts, rounds=1).result for _ in range(rounds)]
    return min(runs, key=lambda spent: spent.cpu_s)


def _figures(spent: Spent) -> list[str]:
    return [f"{1e3 * spent.cpu_s / spent.n_pages:.3f}", f"{spent.n_pages / spent.cpu_s:,.0f}"]


def _parts_table(runs: dict[str, Spent]) -> str:
    names = [*PARTS, REST]
    rows = [[label, *(f"{1e6 * spent.parts.get(name, 0.0) / spent.n_pages:.0f}" for name in names)]
            for label, spent in runs.items()]  # fmt: skip
    return table(["µs a page", *names], rows)


def _sizes_table(sizes: tuple[int, ...]) -> str:
    rows = []
    for label, settings in KINDS.items():
        marks = _best(GeneratedPages, settings, sizes[-1] // NEW_PER_PAGE, False, rounds=1).marks
        took = [_ms_a_page(marks, size) for size in sizes]
        rows.append([label, *(f"{ms:.3f}" for ms in took), f"{max(took) / took[0]:.2f}"])
    headings = ["CPU ms a page, of the last pages before", *(f"{size:,} URLs" for size in sizes)]
    return table([*headings, "the most is ... times the first"], rows)


def _ms_a_page(marks: list[tuple[int, int, float]], size: int) -> float:
    """What the last pages took before so many URLs were known."""
    last = next((k for k, mark in enumerate(marks) if mark[1] >= size), len(marks) - 1)
    first = max((k for k in range(last) if marks[k][0] <= marks[last][0] - LAST_PAGES), default=0)
    (pages, _, cpu_s), (pages_before, _, cpu_s_before) = marks[last], marks[first]
    return 1e3 * (cpu_s - cpu_s_before) / (pages - pages_before)


if __name__ == "__main__":
    print(run())
