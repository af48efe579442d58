"""One run of a live crawl, from opening its folder to its report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from orienteer.access.access_file import read_access
from orienteer.access.grant import Access
from orienteer.access.keyring import Keyring
from orienteer.errors import CrawlFolderError, InputError, LoginError, SeedError
from orienteer.extract.links import SCRIPTED
from orienteer.fetch.choice import FETCHERS
from orienteer.graph.proved import Certificate
from orienteer.hooks.hook_names import Hook, HookGiven, hooks_given, hooks_kept, names_of
from orienteer.hooks.page_hooks import HookFailures
from orienteer.inspect.library_certificate import library_certificate, topical_certificate
from orienteer.inspect.status_in_words import parts_in_words
from orienteer.inspect.surveyed import surveyed
from orienteer.ledger.kept_policy import LoadedPolicy
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.permission import expect_allowed, remember_allowed
from orienteer.ledger.plan import CrawlPlan, canonical_seeds, tables_of
from orienteer.ledger.revisiting import RefreshSettings
from orienteer.ledger.topic_reading import LoadedTopic
from orienteer.live.compiling import ready_kernels
from orienteer.live.epoch import ready_for_refresh
from orienteer.live.figures import Figures, Watch, dead_mass
from orienteer.live.live_crawl import HOST_FAILURES, LiveCrawl
from orienteer.live.rendering import show_settings
from orienteer.live.seed_check import SeedCheck
from orienteer.notebook import facts_html
from orienteer.pages.outcome import Outcome
from orienteer.pages.stop_reason import StopReason
from orienteer.progress import Progress, silent
from orienteer.settings import merged
from orienteer.store.folder import CrawlFolder, remove_crawl
from orienteer.store.folder_files import DATABASE, settings_of_folder
from orienteer.store.shown_tables import PartFigures, RenderedTally
from orienteer.store.uploads import Uploads
from orienteer.wording import counted
from orienteer.workers.crew import Crew

_FEW_GIVEN_UP = 0.01  # of the pages: a crawl that lost no more to hosts out of reach has done what it was asked to


@dataclass(frozen=True)
class Report:
    """What came of a run: why it stopped, what is proved, and the figures."""

    folder: Path
    stopped_because: StopReason
    goal_reached: bool
    dead: float  # share of a surfer's time on pages that are not there: covered, but useless
    figures: Figures
    library: Certificate | None = None  # after a refresh: of all that the crawl has
    topical: Certificate | None = None  # where there is a topic: as seen from the pages on topic
    refresh: RefreshSettings = field(default_factory=RefreshSettings)
    hook_failures: dict[str, HookFailures] = field(default_factory=dict)  # in this run, by hook
    lost_seeds: dict[str, str] = field(default_factory=dict)  # seeds that led to no page, with the reason
    n_given_up: int = 0  # pages that were not fetched because their hosts could not be reached
    has_pages: bool = True  # False: no page could be fetched at all
    trouble: str = ""  # why a crawl with access stopped
    n_suspect: int = 0  # pages that scripts may make: their links count as not known
    rendered: RenderedTally = field(default_factory=RenderedTally)  # pages that a browser has shown, in all runs
    parts: PartFigures = field(default_factory=PartFigures)  # what pages are shown with
    n_unarchived: int = 0  # pages that were read and are not in the archive, since they ask so

    def as_dict(self) -> dict[str, Any]:
        facts = asdict(self) | {"folder": str(self.folder), "figures": self.figures.as_dict()}
        facts["parts"] = self.parts._asdict()
        for name, proved in (("library", self.library), ("topical", self.topical)):
            facts[name] = None if proved is None else proved.as_dict()
        facts["rendered"] = self.rendered._asdict()
        del facts["refresh"]  # it is in crawl.toml
        return facts

    def __repr__(self) -> str:
        pages = f"{self.figures.n_fetched:,} pages fetched, {self.figures.n_frontier:,} left in the frontier"
        walked = surveyed(self.figures.as_dict())
        measured = "" if walked is None or walked.measured is None else f"; {walked.in_words()}"
        return f"<Report: {pages}; {self.figures.certificate}{measured}; stopped by {self.stopped_because}>"

    def _repr_html_(self) -> str:
        figures, walked = self.figures, surveyed(self.figures.as_dict())
        facts = [
            ("folder", self.folder),
            ("goal", "reached" if self.goal_reached else "not reached"),
            ("stopped by", self.stopped_because),
            ("certificate", figures.certificate),
            ("measured", "" if walked is None else walked.in_words().removeprefix("measured: ")),
            ("fetched", figures.n_fetched),
            ("redirects", figures.n_redirects),
            ("skipped", figures.n_skipped),
            ("failed", figures.n_failed),
            ("blocked", figures.n_blocked),
            ("in the frontier", figures.n_frontier),
            ("perhaps made by scripts", self.n_suspect or ""),
            ("shown with", parts_in_words(self.parts)),
        ]
        return facts_html("Report of a crawl", facts)


def live_crawl(
    seeds: str | Sequence[str],
    folder: str | Path,
    *,
    until: float | None = None,
    budget: int | None = None,
    confidence: float | None = 0.999,
    policy: str = "certified",
    scope: str = "host",
    topic: str | Path | None = None,
    hooks: Sequence[HookGiven] | None = None,
    requisites: bool = False,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    on: str | None = None,
    access: str | Path | None = None,
    browser: str | Path = "",
    watch: Callable[[Figures], None] | None = None,
) -> Report:
    """Crawl the web from the seeds into a folder; run again, it goes on where it was.

    The coverage `until` is measured with this `confidence`, and proved; it stops by what comes first. None: by the
    proof alone. `topic` is a topic file: pages are told how relevant they are to it. `hooks` are run on each page: they
    are names of plug-ins, files, or functions that take a HookPage and return None or Added. With `requisites` all that
    pages are shown with goes into the archive, too: pictures, styles, scripts. `settings` are tables as in crawl.toml:
    `{"politeness": {"delay_s": 2.0}, "fetch": {"timeout_s": 10.0}}`. `on` is a Ray cluster whose machines fetch and
    read: "local-ray", or the address of its head. `access` is a file that says what to show to hosts that ask who it
    is: headers, cookies, a login. `browser` is the program that shows pages which scripts make; without, Chromium is
    looked for. Both are named anew in every run.
    """
    tables = {name: dict(table) for name, table in (settings or {}).items()}
    pages = canonical_seeds([seeds] if isinstance(seeds, str) else list(seeds))
    named: dict[str, Any] = {"seeds": pages, "policy": policy, "topic": topic is not None, "requisites": requisites}
    named |= {"proof": True} if confidence is None else {"confidence": confidence}
    named |= {key: value for key, value in (("until", until), ("budget", budget)) if value is not None}
    tables["crawl"] = named | tables.get("crawl", {})
    tables["scope"] = {"kind": scope} | tables.get("scope", {})
    found = None if hooks is None else hooks_given(hooks)
    shown = None if access is None else read_access(Path(access), Path(folder))
    plan = CrawlPlan.of_tables(merged(tables, {"crawl": {"hooks": names_of(found)}}), "settings")
    place = None if topic is None else Path(topic)
    with opened(Path(folder), plan, topic=place, hooks=found, on=on, access=shown, browser=str(browser)) as live:
        return run(live, watch)


def refresh(
    folder: str | Path,
    *,
    until: float | None = None,
    budget: int | None = None,
    hooks: Sequence[HookGiven] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    now: float | None = None,
    on: str | None = None,
    access: str | Path | None = None,
    browser: str | Path = "",
    watch: Callable[[Figures], None] | None = None,
) -> Report:
    """Look at the pages of a crawl again: an epoch, or the rest of one that was interrupted.

    Goal, `hooks` and `settings` are those of the crawl where nothing else is said; a budget counts the pages asked for
    in the epoch. `now` is the time by which pages are due, in seconds since 1970; `on`, `access` and `browser` are as
    for `live_crawl`.
    """
    path = Path(folder)
    goal = {key: value for key, value in (("until", until), ("budget", budget)) if value is not None}
    found = None if hooks is None else hooks_given(hooks)
    plan = plan_of_folder(path, settings or {}, {"crawl": goal}, {"crawl": {"hooks": names_of(found)}})
    shown = None if access is None else read_access(Path(access), path)
    with opened(path, plan, refresh=True, now=now, hooks=found, on=on, access=shown, browser=str(browser)) as live:
        return run(live, watch)


def plan_of_folder(path: Path, *changes: Mapping[str, Mapping[str, Any]]) -> CrawlPlan:
    """The plan that a crawl folder was made with, changed here and there; what it opens must be allowed."""
    where = str(path / "crawl.toml")
    text = settings_of_folder(path)
    if text is None:
        raise CrawlFolderError(f"{path}: there is no crawl in this folder")
    expect_allowed(path, CrawlPlan.parse(text, where), *changes)
    return CrawlPlan.of_tables(merged(tables_of(text, where), *changes), where)


def run(
    live: LiveCrawl, watch: Callable[[Figures], None] | None = None, tell: Callable[[str], None] | None = None
) -> Report:
    """Crawl to the end, or until somebody asks it to stop; `watch` hears the figures several times a second.

    `tell` is told in one line of each seed that leads nowhere, while others work, and of a goal that cannot be reached.
    Raises SeedError where no seed can be reached: there is nothing to wait for. LoginError: where no page came because
    there was no way in.
    """
    observer = Watch(live.intake, live)
    seeds = SeedCheck(live.ledger)
    live.hear = lambda answer: seeds.hear(answer, time.monotonic())
    live.tell = tell or live.tell

    def tick() -> None:
        now = time.monotonic()
        seeds.expect_a_page(now)
        for url, why in seeds.newly_lost(now).items():
            if tell is not None:
                tell(f"seed {url}: {why}")
        if observer.is_due():
            figures = observer.look()
            if watch is not None:
                watch(figures)

    uploads = live.ledger.folder.uploads
    if uploads is not None and tell is not None:
        uploads.tell = tell
    why = live.run(tick)
    if live.keyring.trouble and not seeds.has_pages:
        raise LoginError(live.keyring.trouble)
    report = reported(live.ledger, observer, why, seeds, live.keyring.trouble)
    if uploads is not None and not report.stopped_because.is_pause:
        live.ledger.folder.archive.seal()
        _send_rest(uploads, live)
    return report


def _send_rest(uploads: Uploads, live: LiveCrawl) -> None:
    """Wait until the whole archive is where it is kept; Ctrl-C ends the wait, and so does a store that fails."""
    if uploads.n_waiting:
        uploads.tell(f"uploading {counted(uploads.n_waiting, 'file')} of the archive; Ctrl-C leaves them for later")
    if not uploads.finish(lambda: live.stop_wanted > 0):
        left = counted(uploads.n_waiting, "file of the archive is", "files of the archive are")
        uploads.tell(f"{left} not uploaded; `orienteer upload {live.ledger.folder.path}` sends the rest")


@contextmanager
def opened(
    path: Path,
    plan: CrawlPlan,
    refresh: bool = False,
    now: float | None = None,
    progress: Progress = silent,
    topic: Path | None = None,
    hooks: Sequence[Hook] | None = None,
    on: str | None = None,
    access: Access | None = None,
    browser: str = "",
) -> Iterator[LiveCrawl]:
    """A crawl folder, new or begun before, ready to run; with `refresh`, ready for an epoch.

    A new crawl takes the `topic` file, with what was learned, into its folder, and what its policy has learned. Without
    `hooks` those that the plan names are run, which must be installed. Workers run `on` this machine, or on a Ray
    cluster; that is said anew in every run, and so are the `access` and the `browser` (a program; "": any that is
    found). A new folder is removed again where a SeedError or
    a LoginError says that nothing was crawled.
    """
    is_new, has_place = not (path / DATABASE).exists(), path.is_dir()
    try:
        with _opened(path, plan, refresh, now, progress, topic, hooks, on, access, browser) as live:
            yield live
    except (SeedError, LoginError):
        if is_new:
            with suppress(CrawlFolderError):
                remove_crawl(path)
            if has_place:
                path.mkdir(exist_ok=True)
        raise


@contextmanager
def _opened(
    path: Path,
    plan: CrawlPlan,
    refresh: bool,
    now: float | None,
    progress: Progress,
    topic: Path | None,
    hooks: Sequence[Hook] | None,
    on: str | None,
    access: Access | None,
    browser: str,
) -> Iterator[LiveCrawl]:
    plan.store.expect_usable()
    show = show_settings(plan, browser)
    plan = _with_access(path, plan, access)
    used_hooks = hooks_kept(plan.crawl.hooks, str(path)) if hooks is None else hooks
    to_keep = None if topic is None else LoadedTopic(topic)
    policy = LoadedPolicy(plan, path)
    plan = policy.plan
    with (
        _crew(plan, on) as crew,
        CrawlFolder.open(path) if refresh else CrawlFolder.open_or_create(path, plan.to_toml()) as folder,
    ):
        before = CrawlPlan.of_folder(folder)
        if to_keep is not None:
            to_keep.keep(folder)
        if before != plan:
            folder.write_settings(before.continued(plan).to_toml())
        remember_allowed(path, plan)
        folder.keep_archive(plan.store)
        policy.keep(folder)
        if refresh:
            ready_for_refresh(folder, plan, now, progress)
        with ready_kernels(plan):
            used_plan = plan if crew.asks_web else _impolite(plan)
            yield LiveCrawl(Ledger(folder, used_plan), crew, used_hooks, Keyring(access), show)


def expect_no_access(path: Path, plan: CrawlPlan) -> None:
    """Refuse a crawl that needs its access file where nobody can name it."""
    if plan.crawl.access:
        names = ", ".join(plan.crawl.access)
        raise InputError(
            f"{path}: this crawl has access to {names}; name the file again (--access FILE), or set access = [] in "
            "crawl.toml to go on without it"
        )


def _with_access(path: Path, plan: CrawlPlan, access: Access | None) -> CrawlPlan:
    """The plan with the names of what there is access to; what must not be combined with it is refused."""
    if access is None:
        expect_no_access(path, plan)
        return plan
    fetch = plan.fetch
    if not getattr(FETCHERS.find(fetch.fetcher.partition(":")[0].strip()), "takes_secrets", False):
        raise InputError(f"--access: the fetcher {fetch.fetcher} cannot send secrets or log in")
    if fetch.cookies:
        raise InputError("--access and fetch.cookies cannot be combined: cookies of other hosts are not kept apart")
    if not fetch.verify_tls and any(origin.startswith("https:") for origin in access.origins):
        raise InputError("--access needs verify_tls: secrets go to nobody whose certificate is not checked (ca_file)")
    return replace(plan, crawl=replace(plan.crawl, access=access.origins))


@contextmanager
def _crew(plan: CrawlPlan, on: str | None) -> Iterator[Crew]:
    """The workers of a crawl, until they are not needed any more."""
    with ExitStack() as stack:
        if on is None:
            crew = Crew(plan.fetch, plan.crawl.processes)
        else:
            from orienteer.workers.ray_actors import RayCluster

            cluster = stack.enter_context(closing(RayCluster(on)))
            n_workers = plan.crawl.processes or cluster.n_workers
            crew = Crew(plan.fetch, n_workers, lambda reading: cluster.workers(plan.fetch, reading))
        yield stack.enter_context(closing(crew))


def _impolite(plan: CrawlPlan) -> CrawlPlan:
    """The plan for a fetcher that asks no host: none has to rest."""
    return replace(plan, politeness=replace(plan.politeness, delay_s=0.0, connections=plan.crawl.workers))


def reported(
    ledger: Ledger, watch: Watch, why: StopReason, seeds: SeedCheck | None = None, trouble: str = ""
) -> Report:
    """The report of a run that has ended, also written into the folder."""
    if ledger.epoch is not None and not why.is_pause:
        ledger.end_epoch()
    figures = watch.look(exact=True, why=why)
    n_given_up = _n_given_up(ledger)
    report = Report(
        folder=ledger.folder.path,
        stopped_because=why,
        goal_reached=_goal_is_reached(ledger, why, figures, seeds, n_given_up),
        dead=dead_mass(ledger.crawl),
        figures=figures,
        library=None if ledger.epoch is None else library_certificate(ledger.database, ledger.plan),
        topical=None
        if ledger.reader is None
        else topical_certificate(ledger.database, ledger.plan, ledger.reader.topic.threshold),
        refresh=ledger.plan.refresh,
        hook_failures=dict(watch.intake.hooks.failures),
        lost_seeds={} if seeds is None or ledger.epoch is not None else seeds.lost(),
        n_given_up=n_given_up,
        has_pages=seeds is None or seeds.has_pages,
        trouble=trouble,
        n_suspect=ledger.database.n_unknown_because(SCRIPTED),
        rendered=ledger.database.rendered_tally(),
        parts=ledger.database.part_figures(),
        n_unarchived=ledger.database.n_unarchived() if ledger.plan.crawl.archive else 0,
    )
    ledger.folder.write_report(report.as_dict())
    return report


def _goal_is_reached(
    ledger: Ledger, why: StopReason, figures: Figures, seeds: SeedCheck | None, n_given_up: int
) -> bool:
    """Whether the crawl did what it was asked to.

    "Nothing is left to fetch" is no success where no page came at all, or where more than a few pages were given up
    because their hosts could not be reached.
    """
    goal, n_asked = ledger.crawl.goal, ledger.crawl.n_asked
    if seeds is not None and not seeds.has_pages:
        return False
    if why is StopReason.FRONTIER_EMPTY and goal.until is None and goal.budget is None:
        return n_given_up <= _FEW_GIVEN_UP * figures.n_done
    return goal.is_reached(why, n_asked)


def _n_given_up(ledger: Ledger) -> int:
    by_outcome = ledger.database.counts().by_outcome
    return sum(by_outcome.get(outcome, 0) for outcome in (Outcome.HOST_GIVEN_UP, *HOST_FAILURES))
