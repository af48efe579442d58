"""The coordinator alone: CPU time a page of all that stays in one process when others fetch and read.

A live crawl runs as usual (policy, frontier, certificate, ledger, database, archive, log, figures, checkpoints), but
its responses come from memory, packed as workers send them: the work of a worker (fetching, reading, hashing, signing,
compressing) was done before, or is done while the clock is stopped. So pages a second, which is one over the CPU time a
page, is the upper limit for any number of workers: the coordinator's *cap*.

The real pages are those of the section `live_crawl`. The generated web is endless: 40 links on each page, 20 of them to
new URLs, 1,000 hosts; the figure of a size is that of the last pages before it. Components are measured in separate
runs, where the clock itself takes some microseconds a page; a component's time does not include that of the components
it calls.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from benchmarks.crawlers.task import CONNECTIONS, CONNECTIONS_PER_HOST
from benchmarks.live_crawl import DOCUMENTATION
from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from orienteer.browser.job import BrowserRequest
from orienteer.crawl.crawl import Crawl
from orienteer.extract import near_duplicates
from orienteer.extract.page import Page
from orienteer.ledger.duplicates import Duplicates
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.figures import ProgressWatch
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.seed_check import SeedCheck
from orienteer.live.warm_up import warm_up
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.response import HostRequest, HostRequestKind, PageRequest, Request, Response, outcome_of
from orienteer.responses.verdict import Verdict, VerdictKind
from orienteer.store.archive import Archive
from orienteer.store.connection import DatabaseConnection
from orienteer.store.folder import CrawlFolder
from orienteer.store.log import Log
from orienteer.workers.fetch_result import FetchResult, ReadSettings, read_response
from orienteer.workers.serving import WorkerResults, packed, unpack_results, with_request
from orienteer.workers.worker import NO_LIMIT, WorkerFigures
from tests.fake_web.page_site import PageSite
from tests.fake_web.site import RequestHeaders

KINDS: dict[str, dict[str, Any]] = {"all by default": {}, "links only": {"near_duplicates": "off"}}
SIZES = sized((200_000, 1_000_000), (800, 1_600))  # known URLs
LINKS_PER_PAGE, NEW_PER_PAGE, N_HOSTS = 40, 20, 1_000
LAST_PAGES = sized(5_000, 20)  # before a size is reached: their CPU time is reported
RECORD_BYTES = 6_000  # of a compressed record: a usual page
COMPONENTS: dict[str, list[tuple[type, tuple[str, ...]]]] = {
    "URLs, scope, depths": [(Ledger, ("_number",))],
    "duplicates": [(Duplicates, ("exact", "near"))],
    "SQLite": [(DatabaseConnection, ("row", "rows", "first", "write", "write_all", "begin", "commit"))],
    "archive": [(Archive, ("append_member", "append_revisit", "sync"))],
    "policy, frontier, coverage": [
        (Crawl, ("next", "fetched", "failed", "skipped", "blocked", "redirected", "retry", "discover")),
    ],
    "log, figures": [(Log, ("note", "flush")), (ProgressWatch, ("update",))],
    "checkpoint": [(Ledger, ("checkpoint",))],
    "ledger": [(Ledger, ("record_response", "acknowledge"))],
}
REST = "loop and rest"


# -- prepared responses -------------------------------------------------------------------------------------------


class Web(Protocol):
    seeds: tuple[str, ...]
    scope: str

    def received(self, request: Request) -> bytes:
        """The answer to a request, packed as a worker sends it."""


class RealPages:
    """The documentation hosts; linked pages are read before the clock starts, sitemaps and the like on request, while
    it is stopped."""

    scope = "host"

    def __init__(self, signs: bool) -> None:
        self._site, self._reading = PageSite(DOCUMENTATION), ReadSettings(signatures=signs)
        self.seeds = tuple(f"http://{host}/" for host in self._site.hosts)
        hosts = frozenset(self._site.hosts)
        self._known: dict[str, bytes] = {}
        waiting = [*self.seeds, *(f"{seed}robots.txt" for seed in self.seeds)]
        while waiting:
            url = waiting.pop()
            if url not in self._known and url.split("/", 3)[2] in hosts:
                found = self._read(_request(url))
                waiting += [*found.verdict.links, *([found.verdict.target] if found.verdict.target else [])]
                self._known[url] = packed(WorkerResults([(0, found)]))

    def received(self, request: Request) -> bytes:
        if request.url not in self._known:
            self._known[request.url] = packed(WorkerResults([(0, self._read(request))]))
        return self._known[request.url]

    def _read(self, request: Request) -> FetchResult:
        url = request.url
        host, target = url.split("/", 3)[2:]
        head, body = self._site.response(host, f"/{target}", RequestHeaders(b"")).encode()
        lines = head.decode("latin-1").split("\r\n")
        headers = Headers([tuple(line.split(": ", 1)) for line in lines[1:] if line])  # type: ignore[misc]
        status = int(lines[0].split()[1])
        answer = Response(
            request, outcome_of(status, headers, url), status, lines[0], headers, head, body, body, "192.0.2.1",
            "http/1.1", time.time(), 0.1,
        )  # fmt: skip
        return read_response(answer, self._reading, {"Orienteer-Acknowledged": "0 123456"})


def _request(url: str) -> Request:
    return HostRequest(url, HostRequestKind.ROBOTS) if url.endswith("/robots.txt") else PageRequest(url, 0)


class GeneratedPages:
    """An endless web; known links mostly go to old pages: the web links to what it knows."""

    scope = "site"
    _record: ClassVar[bytes] = np.random.default_rng(2).bytes(RECORD_BYTES)

    def __init__(self, signs: bool) -> None:
        self._signs = signs
        self._rng = np.random.default_rng(1)
        self._n_urls = 1
        self.seeds = (self._url(0),)

    def received(self, request: Request) -> bytes:
        if not isinstance(request, PageRequest):
            missing = Response(request, Outcome.CLIENT_ERROR, 404, started_at=time.time())
            return packed(WorkerResults([(0, read_response(missing, ReadSettings()))]))
        rng = self._rng
        old = (self._n_urls * rng.random(LINKS_PER_PAGE - NEW_PER_PAGE) ** 2).astype(int).tolist()
        new = range(self._n_urls, self._n_urls + NEW_PER_PAGE)
        self._n_urls += NEW_PER_PAGE
        page = Page(
            list(dict.fromkeys(map(self._url, (*old, *new)))), f"The title of page {request.page}", "", headings=[],
            anchors=[], description="", language="en", charset="utf-8", canonical=None, noindex=False, nofollow=False,
        )  # fmt: skip
        found = FetchResult(
            request, Outcome.OK, Verdict(VerdictKind.FETCHED, str(Outcome.OK), page), 200, started_at=time.time(),
            duration_s=0.1, n_bytes=15_000, size_bytes=15_000, content_type="text/html", etag='"5f1c-61"',
            digest=rng.bytes(20), signature=rng.bytes(2 * near_duplicates.N_SLOTS) if self._signs else None,
            record=self._record,
        )  # fmt: skip
        return packed(WorkerResults([(0, found)]))

    @staticmethod
    def _url(page: int) -> str:
        """About 60 bytes, as on the web."""
        return f"https://www-{page * 7919 % N_HOSTS}.web.example/section/{page % 97}/article-{page}.html"


class Replaying:
    """Workers that have all responses in memory. `outside_s` is the CPU time that is not the coordinator's."""

    uses_network = True
    max_in_flight = NO_LIMIT
    n_crashed = 0

    def __init__(self, web: Web) -> None:
        self.outside_s = 0.0
        self.n_answers = 0
        self.record_headers: Mapping[str, str] = {}
        self._outside_wall_s = 0.0
        self._web = web
        self._requests: deque[Request] = deque()
        self._clock = time.monotonic

    def begin(self, reading: ReadSettings) -> None:
        """All was read before."""

    @property
    def n_in_flight(self) -> int:
        return len(self._requests)

    def start(self, request: Request) -> None:
        self._requests.append(request)

    def poll(self, timeout_s: float) -> list[FetchResult]:
        return [with_request(unpack_results(data).responses[0][1], request) for data, request in self.handed_over()]

    def handed_over(self) -> list[tuple[bytes, Request]]:
        """Responses that workers have sent by now."""
        cpu_s, wall_s = time.process_time(), self._clock()
        sent = [(self._web.received(request), request) for request in self._requests]
        self._requests.clear()
        self.n_answers += len(sent)
        self.outside_s += time.process_time() - cpu_s
        self._outside_wall_s += self._clock() - wall_s
        return sent

    def now(self) -> float:
        """Replaces time.monotonic: it stops while responses are made, so that commits and figures come as often a page
        as in a real crawl."""
        return self._clock() - self._outside_wall_s

    def browser_requests(self) -> list[BrowserRequest]:
        """No page is rendered in a browser."""
        return []

    def figures(self) -> list[WorkerFigures]:
        return []

    def cancel(self) -> None:
        self._requests.clear()

    def close(self) -> None:
        self._requests.clear()


# -- components -----------------------------------------------------------------------------------------------------


class Clock:
    """CPU time by component, without the time of nested calls of others."""

    def __init__(self) -> None:
        self.spent_s: Counter[str] = Counter()
        self._since = time.thread_time()
        self._open = [REST]

    def enter(self, component: str) -> None:
        now = time.thread_time()
        self.spent_s[self._open[-1]] += now - self._since  # type: ignore[assignment]
        self._open.append(component)
        self._since = now

    def leave(self) -> None:
        now = time.thread_time()
        self.spent_s[self._open.pop()] += now - self._since  # type: ignore[assignment]
        self._since = now

    def timed(self, component: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.enter(component)
            try:
                return function(*arguments, **named)
            finally:
                self.leave()

        return call

    def install(self) -> None:
        """Time the components, until the process ends."""
        for component, owners in COMPONENTS.items():
            for owner, names in owners:
                for name in names or _public_functions(owner):
                    if hasattr(owner, name):
                        setattr(owner, name, self.timed(component, getattr(owner, name)))
        Replaying.handed_over = self.timed("outside", Replaying.handed_over)  # type: ignore[method-assign]


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
    components_s: dict[str, float]
    marks: list[tuple[int, int, float]]


def plan_of(web: Web, settings: dict[str, Any]) -> CrawlPlan:
    tables = {
        "crawl": {"seeds": list(web.seeds), "workers": CONNECTIONS} | settings,
        "scope": {"kind": web.scope},
        "politeness": {"delay_s": 0.0, "connections": CONNECTIONS_PER_HOST},
    }
    return CrawlPlan.of_tables(tables, "benchmark")


def crawled(web: Web, plan: CrawlPlan, folder: Path, clock: Clock | None, mark_every: int = sized(1_000, 10)) -> Spent:
    """Crawl as the command does; without its report."""
    workers = Replaying(web)
    real_monotonic, time.monotonic = time.monotonic, workers.now
    try:
        with CrawlFolder.create(folder, plan.to_toml()) as opened:
            live = LiveCrawl(Ledger(opened, plan), workers)  # type: ignore[arg-type]
            watch, seeds = ProgressWatch(live.intake, live), SeedCheck(live.ledger)
            live.on_response = lambda host, answer: seeds.on_response(host, answer, time.monotonic())
            marks: list[tuple[int, int, float]] = []
            gc.collect()
            started = time.process_time()

            def tick() -> None:
                now = time.monotonic()
                seeds.check_reachable(now)
                seeds.newly_failed(now)
                if watch.is_due():
                    watch.update()
                n_done = len(live.crawl.order)
                if not marks or n_done >= marks[-1][0] + mark_every:
                    marks.append((n_done, len(live.ledger.seen), time.process_time() - started - workers.outside_s))

            if clock is not None:
                clock.spent_s.clear()
            live.run(tick)
            cpu_s = time.process_time() - started - workers.outside_s
            n_pages = live.intake.outcomes[Outcome.OK]
            return Spent(n_pages, workers.n_answers, cpu_s, dict(clock.spent_s) if clock else {}, marks)
    finally:
        time.monotonic = real_monotonic


def prepare(kind: type, settings: dict[str, Any], n_pages: int | None, by_component: bool) -> Callable[[], Spent]:
    """A run over a web; `n_pages` is its budget. A few pages are crawled beforehand, which compiles the kernels."""
    web: Web = kind(settings.get("near_duplicates") != "off")
    plan = plan_of(web, settings | ({} if n_pages is None else {"budget": n_pages}))
    warm_up(plan)
    place = tempfile.TemporaryDirectory(prefix="orienteer-benchmark-")
    crawled(kind(False) if kind is GeneratedPages else web, plan_of(web, settings | {"budget": 200}),
            Path(place.name) / "small", None)  # fmt: skip
    clock = Clock() if by_component else None
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
    totals, timed = [], {}
    for title, (kind, n_pages) in webs.items():
        for label, settings in KINDS.items():
            spent = _best(kind, settings, n_pages, False)
            totals.append([f"{title}, {label}", f"{spent.n_pages:,}", f"{spent.n_answers:,}", *_figures(spent)])
            timed[f"{title}, {label}"] = _best(kind, settings, n_pages, True)
    headings = ["", "pages", "answers", "CPU ms a page", "the cap: pages/s"]
    text += f"{table(headings, totals)}\n{_components_table(timed)}"
    if len(sizes) > 1:
        text += "\n" + _sizes_table(sizes)
    return text


def _best(kind: type, settings: dict[str, Any], n_pages: int | None, by_component: bool, rounds: int = 2) -> Spent:
    """Of some processes, the one that took least: the machine is shared."""
    runs: list[Spent] = [
        measured(prepare, kind, settings, n_pages, by_component, rounds=1).result for _ in range(rounds)
    ]
    return min(runs, key=lambda spent: spent.cpu_s)


def _figures(spent: Spent) -> list[str]:
    return [f"{1e3 * spent.cpu_s / spent.n_pages:.3f}", f"{spent.n_pages / spent.cpu_s:,.0f}"]


def _components_table(runs: dict[str, Spent]) -> str:
    names = [*COMPONENTS, REST]
    rows = [[label, *(f"{1e6 * spent.components_s.get(name, 0.0) / spent.n_pages:.0f}" for name in names)]
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
