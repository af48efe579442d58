"""Crawl, and use what was crawled, from a program or a notebook.

    crawl = ori.crawl("https://example.org/", until=0.98)
    crawl = ori.open("example.org-crawl")
    crawl = await ori.crawl_async("https://example.org/", until=0.98)

Each method of a SavedCrawl calls what the command of the same name calls.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from orienteer.errors import CrawlFolderError
from orienteer.exports.export import ExportReport, export
from orienteer.exports.saved_pages import SavedPage, saved_pages
from orienteer.graph.defaults import SurveyGoal
from orienteer.graph.estimation.history import EstimateRound
from orienteer.graph.survey.fixed_walks import FixedWalks
from orienteer.hooks import HookSource
from orienteer.inspect.crawl_status import CrawlStatus, crawl_status
from orienteer.inspect.figures import CrawlFigures
from orienteer.inspect.run_report import Report
from orienteer.inspect.verify import Verification, verify
from orienteer.ledger.plan import default_folder
from orienteer.ledger.settings import MEASURED, EstimateSettings, canonical_seeds
from orienteer.live import session
from orienteer.live.live_crawl import StopRequest
from orienteer.notebook import ProgressLine, facts_html
from orienteer.report.finding import SiteReport
from orienteer.report.site_report import DEEP, MAX_PLACES, SLOW_S, site_report
from orienteer.report.writing import expect_free, format_of, save_report
from orienteer.search.indexing import IndexReport, update_index
from orienteer.search.search_index import SearchIndex, SearchResults
from orienteer.side_crawls.estimate import EstimateReport, live_estimate
from orienteer.side_crawls.survey import live_survey
from orienteer.side_crawls.survey_report import SurveyReport
from orienteer.store.folder_view import expect_crawl
from orienteer.store.lock import holder_of
from orienteer.wording import counted, plain

P = ParamSpec("P")
T = TypeVar("T")

Settings = Mapping[str, Mapping[str, Any]]  # tables, as in crawl.toml
Watch = Callable[[CrawlFigures], None]

_AT_ONCE = 3  # the number of Ctrl-C that end a run in any way
_stop_request: ContextVar[StopRequest | None] = ContextVar("stop_request", default=None)  # of crawl_async


class SavedCrawl:
    """A crawl in its folder. Methods that read work while another process crawls.

    `last_run` is the report of the run that this object has made; None if it has made none.
    """

    def __init__(self, folder: str | Path, last_run: Report | None = None) -> None:
        self.folder = Path(folder)
        self.last_run = last_run
        expect_crawl(self.folder)

    # -- fetching -----------------------------------------------------------------------------------------------

    def resume(
        self,
        until: float | None = None,
        *,
        budget: int | None = None,
        hooks: Sequence[HookSource] | None = None,
        settings: Settings | None = None,
        cluster: str | None = None,
        credentials: str | Path | None = None,
        browser: str | Path = "",
        progress: bool = True,
        watch: Watch | None = None,
    ) -> Report:
        """Continue the crawl, or an interrupted refresh; what is not given is as before.

        `cluster`, `credentials` and `browser` are not stored: pass them in every run.
        """
        run = partial(
            session.resume, self.folder, until=until, budget=budget, hooks=hooks, settings=settings, cluster=cluster,
            credentials=credentials, browser=browser,
        )  # fmt: skip
        self.last_run = _run(run, progress, watch)
        return self.last_run

    def refresh(
        self,
        until: float | None = None,
        *,
        budget: int | None = None,
        hooks: Sequence[HookSource] | None = None,
        settings: Settings | None = None,
        cluster: str | None = None,
        credentials: str | Path | None = None,
        browser: str | Path = "",
        progress: bool = True,
        watch: Watch | None = None,
    ) -> Report:
        """Fetch new pages, and those that may have changed; `budget` limits the pages requested in this refresh.

        An interrupted refresh is continued. The arguments are those of `resume`.
        """
        run = partial(
            session.refresh, self.folder, until=until, budget=budget, hooks=hooks, settings=settings, cluster=cluster,
            credentials=credentials, browser=browser,
        )  # fmt: skip
        self.last_run = _run(run, progress, watch)
        return self.last_run

    def survey(
        self,
        half_width: float = 0.005,
        *,
        budget: int | None = None,
        confidence: float = 0.999,
        on_topic: bool = False,
        restart: bool = False,
        settings: Settings | None = None,
        watch: Callable[[FixedWalks], None] | None = None,
    ) -> SurveyReport:
        """Measure by random walks how complete the crawl is, to within `half_width`, and where pages are missing.

        Pages that the walks need are fetched, at most `budget`, and stored separately. Another call continues an
        unfinished survey, unless `restart`. With `on_topic` the walks start from the pages on topic.
        """
        goal = SurveyGoal(half_width, budget, confidence)
        return _stoppable(
            partial(live_survey, self.folder, goal, restart=restart, on_topic=on_topic, settings=settings, watch=watch)
        )

    def estimate(
        self,
        budget: int | None = None,
        *,
        restart: bool = False,
        fetch: Mapping[str, Any] | None = None,
        watch: Callable[[EstimateRound], None] | None = None,
        **settings: Any,
    ) -> EstimateReport:
        """Estimate the rank of each page in the whole web, by fetching `budget` pages outside the crawl.

        Without a budget, twice as many pages as the crawl has. `fetch` overrides settings of the table [fetch];
        `settings` are `rounds`, `settle`, `select` and `method`. Another call continues, unless `restart`.
        """
        chosen = EstimateSettings(budget, **settings)
        return _stoppable(partial(live_estimate, self.folder, chosen, restart=restart, fetch=fetch, watch=watch))

    # -- reading ------------------------------------------------------------------------------------------------

    def status(self) -> CrawlStatus:
        """Return the state of the crawl: its goal, the coverage, the outcomes of pages, and its hosts."""
        return crawl_status(self.folder)

    def pages(self) -> Iterator[SavedPage]:
        """Yield the pages in the order they were fetched, without redirects; texts are read when they are used."""
        return saved_pages(self.folder)

    def index(self, *, rebuild: bool = False, on_topic: bool = False, processes: int | None = None) -> IndexReport:
        """Build the search index, or update it: only changed pages are read again."""
        return update_index(self.folder, rebuild=rebuild, on_topic=on_topic, processes=processes)

    def search(
        self,
        query: str,
        *,
        rank: str = "blend",
        weight: float | None = None,
        page: int = 1,
        n: int = 10,
        n_related: int = 0,
        with_facets: bool = False,
    ) -> SearchResults:
        """Search the pages; the arguments are those of `orienteer.search.SearchIndex.search`.

        If there is no index, or the crawl has fetched more since and is not running, the index is updated first.
        """
        if not self._is_indexed():
            self.index()
        with SearchIndex.open(self.folder) as index:
            return index.search(
                query, rank=rank, weight=weight, page=page, n=n, n_related=n_related, with_facets=with_facets
            )

    def _is_indexed(self) -> bool:
        try:
            with SearchIndex.open(self.folder) as index:
                return index.is_current() or holder_of(self.folder) is not None
        except CrawlFolderError:  # there is none yet
            return False

    def export(self, format: str, path: str | Path | None = None, **options: Any) -> ExportReport:
        """Write the pages or their links in a format of `orienteer export`, by default in the working directory.

        `options` are `force`, `on_topic`, `hosts`, `sites`, `all_pages`, `processes` and the settings of the format.
        """
        return export(self.folder, format, path, **options)

    def report(
        self,
        path: str | Path | None = None,
        *,
        format: str | None = None,
        force: bool = False,
        hosts: Sequence[str] | str = (),
        deep: int = DEEP,
        slow_s: float = SLOW_S,
        max_places: int | None = MAX_PLACES,
        processes: int | None = None,
    ) -> SiteReport:
        """Report the problems of the site, such as broken links, and write them to `path`: .html, .csv or .json.

        A page is deep if it is more than `deep` links from the start, and slow if it took more than `slow_s` seconds.
        """
        out = None if path is None else Path(path)
        chosen = format_of(out, format)
        if out is not None:
            expect_free(out, self.folder, force)
        found = site_report(
            self.folder, hosts=hosts, deep=deep, slow_s=slow_s, max_places=max_places, processes=processes
        )
        if out is not None and chosen is not None:
            save_report(found, chosen, out, self.folder, force)
        return found

    def verify(self, *, quick: bool = False, read_stored: bool = False) -> Verification:
        """Compute the coverage again from the archived pages, and compare it with what the folder claims.

        `quick` trusts the database, and does not read the archive; `read_stored` also reads files in object storage.
        """
        return verify(self.folder, quick=quick, read_stored=read_stored)

    # -- display ------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        result = "" if self.last_run is None else f": {counted(self.last_run.figures.n_fetched, 'page')} fetched"
        headline = "" if self.last_run is None else f"; {self.last_run.headline}"
        return f"<SavedCrawl {plain(str(self.folder), 80)}{result}{headline}>"

    def _repr_html_(self) -> str:
        found = self.status()
        texts = found.texts
        facts = [
            ("seeds", ", ".join(found.plan.crawl.seeds[:3])),
            ("state", texts["stopped"] or found.phase),
            ("coverage", texts["coverage"]),
            ("", texts["measured"]),
            ("fetched", found.n_fetched),
            ("failed", found.n_failed or ""),
            ("blocked", found.n_blocked or ""),
            ("known", found.n_urls),
        ]
        return facts_html(f"Crawl in {self.folder}", facts)


def open(folder: str | Path) -> SavedCrawl:
    """Open the crawl in a folder; it may be running."""
    return SavedCrawl(folder)


def crawl(
    urls: str | Sequence[str],
    folder: str | Path | None = None,
    until: float | None = 0.98,
    *,
    budget: int | None = None,
    scope: str = "host",
    policy: str = "certified",
    stop_when: str = MEASURED,
    topic: str | Path | None = None,
    hooks: Sequence[HookSource] | None = None,
    assets: bool = False,
    settings: Settings | None = None,
    cluster: str | None = None,
    credentials: str | Path | None = None,
    browser: str | Path = "",
    progress: bool = True,
    watch: Watch | None = None,
) -> SavedCrawl:
    """Crawl the web from these URLs into a folder, by default `HOST-crawl`; called again, resume the crawl.

    The crawl stops when the coverage `until` (the share of a random surfer's time that is spent on fetched pages) is
    reached, or after `budget` pages. `stop_when` says how that is known: "measured:0.999" (measured with this
    confidence, or proved) or "proved" (only proved). With `until=None` it fetches all that it can reach in its `scope`:
    "host" or "site" of the URLs, "prefix" (their folders), or "web".

    `topic` is a topic file: pages are scored by their relevance to it. `hooks` are run on each page: names of plug-ins,
    files, or functions that take a HookPage and return None or Added. With `assets` images, style sheets and scripts
    are archived, too. `settings` are tables as in crawl.toml: `{"politeness": {"delay_s": 2.0}}`. `cluster` is a Ray
    cluster that fetches and reads pages, `credentials` a file with headers, cookies and logins, `browser` the program
    that renders pages; these three are not stored: pass them in every run.

    With `progress`, a line shows the progress in a notebook or on a terminal. `watch` is called with the figures
    several times a second. Ctrl-C (in a notebook: interrupt) finishes the requests in flight and then raises
    KeyboardInterrupt; a second one cancels them. The folder can be resumed in any case.
    """
    seeds = [urls] if isinstance(urls, str) else list(urls)
    path = default_folder(canonical_seeds(seeds)) if folder is None else Path(folder)
    run = partial(
        session.live_crawl, seeds, path, until=until, budget=budget, scope=scope, policy=policy, stop_when=stop_when,
        topic=topic, hooks=hooks, assets=assets, settings=settings, cluster=cluster, credentials=credentials,
        browser=browser, expect_pages=True,
    )  # fmt: skip
    return SavedCrawl(path, _run(run, progress, watch))


def _in_thread(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return the function as a coroutine function that runs it in a thread, and stops its crawl when cancelled."""

    @wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        stop, context = StopRequest(), copy_context()
        context.run(_stop_request.set, stop)
        call = partial(context.run, partial(function, *args, **kwargs))
        is_cancelled = False
        with ThreadPoolExecutor(1, f"orienteer-{function.__name__}") as executor:
            thread = asyncio.get_running_loop().run_in_executor(executor, call)
            while not thread.done():
                try:
                    await asyncio.wait({thread})
                except asyncio.CancelledError:
                    is_cancelled = True
                    stop.ask()
        if is_cancelled:
            thread.exception()  # marks it as retrieved
            raise asyncio.CancelledError
        return thread.result()

    run.__name__ = run.__qualname__ = f"{function.__name__}_async"
    run.__doc__ = f"""Run `{function.__name__}` in a thread, with the same arguments, while the event loop goes on.

    If the task is cancelled, the requests in flight are finished first; if it is cancelled again, they are cancelled,
    too. The folder can be resumed. `watch` is called in the thread.
    """
    return run


crawl_async = _in_thread(crawl)


def _run(run: Callable[..., Report], progress: bool, watch: Watch | None) -> Report:
    """Run a crawl with a progress line, until it ends or is interrupted."""
    line = ProgressLine() if progress else None

    def show(figures: CrawlFigures) -> None:
        if line is not None:
            line.show(str(figures))
        if watch is not None:
            watch(figures)

    ending = "interrupted"
    try:
        report = _stoppable(partial(run, watch=show))
        ending = report.headline
        return report
    finally:
        if line is not None:
            line.end(ending)


def _stoppable(run: Callable[..., T]) -> T:
    """Call `run` with a StopRequest that Ctrl-C asks; then raise KeyboardInterrupt when the run has ended.

    In other threads than the main one there are no signals; there the StopRequest is that of `crawl_async`.
    """
    stop = _stop_request.get() or StopRequest()
    with _interruptible(stop):
        return run(stop=stop)


@contextmanager
def _interruptible(stop: StopRequest) -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    n_interrupts = 0

    def interrupt(*_: object) -> None:
        nonlocal n_interrupts
        n_interrupts += 1
        stop.ask()
        if n_interrupts >= _AT_ONCE:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if n_interrupts:
        raise KeyboardInterrupt
