"""One run of a live crawl, from opening its folder to its report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from orienteer.crawl.politeness import HOST_FAILURES
from orienteer.credentials.credentials_file import Credentials, read_credentials, without_secrets_for
from orienteer.credentials.keyring import Keyring
from orienteer.errors import CrawlFolderError, InputError, LoginError, SeedError
from orienteer.extract.links import SCRIPTED
from orienteer.fetch.fetcher import FETCHERS
from orienteer.hooks import (
    Hook,
    HookSource,
    hooks_from_arguments,
    hooks_from_settings,
    names_of,
)
from orienteer.inspect.changes import missing_pages
from orienteer.inspect.figures import CrawlFigures
from orienteer.inspect.run_report import Report
from orienteer.inspect.snapshot import library_certificate, on_topic_certificate
from orienteer.kernel import never_waiting
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan, expect_allowed, remember_allowed, tables_of
from orienteer.ledger.settings import MEASURED, canonical_seeds
from orienteer.ledger.setup import LoadedPolicy
from orienteer.ledger.topic_reading import LoadedTopic
from orienteer.live.figures import ProgressWatch, dead_mass
from orienteer.live.live_crawl import LiveCrawl, StopRequest
from orienteer.live.rendering import can_render
from orienteer.live.seed_check import SeedCheck, nothing_crawled, resolve_schemes
from orienteer.live.start_pages import begin_epoch
from orienteer.live.warm_up import loaded_kernels
from orienteer.pages.outcome import Outcome
from orienteer.pages.stop_reason import StopReason
from orienteer.progress import Progress, silent
from orienteer.settings import merged, stated
from orienteer.store.folder import CrawlFolder, remove_crawl
from orienteer.store.folder_view import DATABASE, settings_of_folder
from orienteer.store.uploads import Uploads
from orienteer.wording import counted
from orienteer.workers.worker_pool import WorkerPool


def live_crawl(
    seeds: str | Sequence[str],
    folder: str | Path,
    *,
    until: float | None = None,
    budget: int | None = None,
    stop_when: str = MEASURED,
    policy: str = "certified",
    scope: str = "host",
    topic: str | Path | None = None,
    hooks: Sequence[HookSource] | None = None,
    assets: bool = False,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    cluster: str | None = None,
    credentials: str | Path | None = None,
    browser: str | Path = "",
    watch: Callable[[CrawlFigures], None] | None = None,
    stop: StopRequest | None = None,
    expect_pages: bool = False,
) -> Report:
    """Crawl the web from the seeds into a folder; called again, resume the crawl.

    A seed without a scheme is requested by https, then by http.

    The crawl stops when the coverage `until` is reached; `stop_when` says how that is known: "measured:0.999" (measured
    with this confidence, or proved) or "proved" (only proved).
    `topic` is a topic file: pages are scored by their relevance to it. `hooks` are run on each page: they are names of
    plug-ins, files, or functions that take a HookPage and return None or Added. With `assets` the archive also receives
    the images, style sheets and scripts of pages. `settings` are tables as in crawl.toml:
    `{"politeness": {"delay_s": 2.0}, "fetch": {"timeout_s": 10.0}}`. `cluster` is a Ray cluster that fetches and reads
    pages: "local-ray", or the address of its head. `credentials` is a file with them: headers, cookies, a login.
    `browser` is the program that renders pages which scripts generate; by default Chromium is searched for. These three
    are not stored: pass them in every run. `stop` may be asked to end the run. With `expect_pages`, a new crawl that
    ends without a page is removed, with a SeedError.
    """
    is_new = expect_pages and not (Path(folder) / DATABASE).exists()
    tables = {name: dict(table) for name, table in (settings or {}).items()}
    pages = canonical_seeds([seeds] if isinstance(seeds, str) else list(seeds))
    named = stated(
        seeds=pages, policy=policy, topic=topic is not None, assets=assets, until=until, budget=budget,
        stop_when=stop_when,
    )  # fmt: skip
    tables["crawl"] = named | tables.get("crawl", {})
    tables["scope"] = {"kind": scope} | tables.get("scope", {})
    given = None if hooks is None else hooks_from_arguments(hooks)
    granted = None if credentials is None else read_credentials(Path(credentials), Path(folder))
    plan = CrawlPlan.of_tables(merged(tables, {"crawl": stated(hooks=names_of(given))}), "settings")
    plan = resolve_schemes(plan, [seeds] if isinstance(seeds, str) else list(seeds), Path(folder))
    topic_file = None if topic is None else Path(topic)
    with open_crawl(
        Path(folder), plan, topic=topic_file, hooks=given, cluster=cluster, credentials=granted, browser=str(browser)
    ) as live:
        (stop or StopRequest()).attach(live)
        report = run(live, watch)
        if is_new and not report.has_pages and not report.stopped_because.is_pause:
            raise nothing_crawled(report.failed_seeds)
        return report


def resume(
    folder: str | Path,
    *,
    until: float | None = None,
    budget: int | None = None,
    refresh: bool = False,
    hooks: Sequence[HookSource] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    now: float | None = None,
    cluster: str | None = None,
    credentials: str | Path | None = None,
    browser: str | Path = "",
    watch: Callable[[CrawlFigures], None] | None = None,
    stop: StopRequest | None = None,
) -> Report:
    """Continue the crawl in a folder; with `refresh`, revisit its pages (see below).

    Goal, `hooks` and `settings` default to those of the crawl; `cluster`, `credentials`, `browser` and `stop` are as
    for `live_crawl`.
    """
    path = Path(folder)
    given = None if hooks is None else hooks_from_arguments(hooks)
    named = stated(until=until, budget=budget, hooks=names_of(given))
    plan = plan_of_folder(path, settings or {}, {"crawl": named})
    granted = None if credentials is None else read_credentials(Path(credentials), path)
    with open_crawl(
        path, plan, refresh=refresh, now=now, hooks=given, cluster=cluster, credentials=granted, browser=str(browser)
    ) as live:
        (stop or StopRequest()).attach(live)
        return run(live, watch)


# Revisit the pages of a crawl: run a new epoch, or resume one that was interrupted. A budget counts the pages that are
# requested in the epoch; `now` is the time by which pages are due, in seconds since 1970.
refresh = partial(resume, refresh=True)


def plan_of_folder(path: Path, *changes: Mapping[str, Mapping[str, Any]]) -> CrawlPlan:
    """Return the plan of a crawl folder with changed settings; raise InputError unless its permissions are granted."""
    where = str(path / "crawl.toml")
    text = settings_of_folder(path)
    if text is None:
        raise CrawlFolderError(f"{path}: there is no crawl in this folder")
    expect_allowed(path, CrawlPlan.parse(text, where), *changes)
    return CrawlPlan.of_tables(merged(tables_of(text, where), *changes), where)


def run(
    live: LiveCrawl, watch: Callable[[CrawlFigures], None] | None = None, notify: Callable[[str], None] | None = None
) -> Report:
    """Crawl to the end, or until it is stopped; `watch` receives the figures several times a second.

    `notify` receives a line for each seed that fails while others work, and for a goal that cannot be reached. Raises
    SeedError if no seed can be reached, and LoginError if no page was fetched because the login failed.
    """
    observer = ProgressWatch(live.intake, live)
    seeds = SeedCheck(live.ledger)
    live.on_response = lambda host, result: seeds.on_response(host, result, time.monotonic())
    live.notify = notify or live.notify

    def tick() -> None:
        now = time.monotonic()
        seeds.check_reachable(now)
        for url, why in seeds.newly_failed(now).items():
            if notify is not None:
                notify(f"seed {url}: {why}")
        if observer.is_due():
            figures = observer.update()
            if watch is not None:
                watch(figures)

    uploads = live.ledger.folder.uploads
    if uploads is not None and notify is not None:
        uploads.report = notify
    why = live.run(tick)
    if live.keyring.problem and not seeds.has_pages:
        raise LoginError(live.keyring.problem)
    report = write_report(live.ledger, observer, why, seeds, live.keyring.problem)
    if uploads is not None and not report.stopped_because.is_pause:
        live.ledger.folder.archive.seal()
        _finish_uploads(uploads, live)
    return report


def _finish_uploads(uploads: Uploads, live: LiveCrawl) -> None:
    """Wait until the whole archive is uploaded; Ctrl-C or a failing object store ends the wait."""
    if uploads.n_waiting:
        uploads.report(f"uploading {counted(uploads.n_waiting, 'file')} of the archive; Ctrl-C leaves them for later")
    if not uploads.finish(lambda: live.stop_level > 0):
        remaining = counted(uploads.n_waiting, "file of the archive is", "files of the archive are")
        uploads.report(f"{remaining} not uploaded; `orienteer upload {live.ledger.folder.path}` sends the rest")


@contextmanager
def open_crawl(
    path: Path,
    plan: CrawlPlan,
    refresh: bool = False,
    now: float | None = None,
    progress: Progress = silent,
    topic: Path | None = None,
    hooks: Sequence[Hook] | None = None,
    cluster: str | None = None,
    credentials: Credentials | None = None,
    browser: str = "",
) -> Iterator[LiveCrawl]:
    """Open or create a crawl folder, ready to run; with `refresh`, ready for an epoch.

    A new crawl copies the `topic` file with its models and the learned model of its policy into its folder. `hooks`
    default to those that the plan names, which must be installed. Workers run on this machine, or on a Ray `cluster`.
    That, the `credentials` and the `browser` (a program; "": the first one found) are not stored and must be
    passed in every run. A new folder is removed again after a SeedError or a LoginError, since nothing was crawled.
    """
    is_new, has_folder = not (path / DATABASE).exists(), path.is_dir()
    plan.store.expect_usable()
    program = browser if can_render(plan, browser) else None
    plan = _with_credentials(path, plan, credentials)
    used_hooks = hooks_from_settings(plan.crawl.hooks, str(path)) if hooks is None else hooks
    loaded_topic = None if topic is None else LoadedTopic(topic)
    policy = LoadedPolicy(plan, path)
    plan = policy.plan
    try:
        with (
            _pool(plan, cluster) as pool,
            CrawlFolder.open(path) if refresh else CrawlFolder.open_or_create(path, plan.to_toml()) as folder,
        ):
            before = CrawlPlan.of_folder(folder)
            if loaded_topic is not None:
                loaded_topic.store(folder)
            if before != plan:
                folder.write_settings(before.continued(plan).to_toml())
            remember_allowed(path, plan)
            folder.configure_archive(plan.store)
            policy.store(folder)
            if refresh:
                begin_epoch(folder, plan, now, progress)
            with loaded_kernels(plan) as kernels:
                ledger = Ledger(folder, plan if pool.uses_network else _without_delays(plan))
                keyring = Keyring(credentials or without_secrets_for(pool.granted_origins))
                live = LiveCrawl(ledger, pool, used_hooks, keyring, program, kernels)
                with never_waiting():
                    yield live
    except (SeedError, LoginError):
        if is_new:
            with suppress(CrawlFolderError):
                remove_crawl(path)
            if has_folder:
                path.mkdir(exist_ok=True)
        raise


def expect_no_credentials(path: Path, plan: CrawlPlan) -> None:
    """Raise InputError if the crawl needs a credentials file, which the caller cannot pass."""
    if plan.crawl.access:
        names = ", ".join(plan.crawl.access)
        raise InputError(
            f"{path}: this crawl has access to {names}; name the file again (--credentials FILE), or set access = [] "
            "in crawl.toml to continue without it"
        )


def _with_credentials(path: Path, plan: CrawlPlan, credentials: Credentials | None) -> CrawlPlan:
    """Return the plan with the origins of the credentials; raise InputError for settings that would leak them."""
    if credentials is None:
        expect_no_credentials(path, plan)
        return plan
    fetch = plan.fetch
    if not getattr(FETCHERS.find(fetch.fetcher.partition(":")[0].strip()), "takes_secrets", False):
        raise InputError(f"--credentials: the fetcher {fetch.fetcher} cannot send secrets or log in")
    if fetch.cookies:
        raise InputError("--credentials and fetch.cookies cannot be combined: cookies of other hosts are not separated")
    if not fetch.verify_tls and any(origin.startswith("https:") for origin in credentials.origins):
        raise InputError("--credentials needs verify_tls: secrets are sent only to verified servers (ca_file)")
    return replace(plan, crawl=replace(plan.crawl, access=credentials.origins))


@contextmanager
def _pool(plan: CrawlPlan, cluster: str | None) -> Iterator[WorkerPool]:
    """Open the worker pool of a crawl; close it on exit."""
    with ExitStack() as stack:
        if cluster is None:
            pool = WorkerPool(plan.fetch, plan.crawl.processes)
        else:
            from orienteer.workers.ray_backend import RayCluster

            ray_cluster = stack.enter_context(closing(RayCluster(cluster)))
            n_workers = plan.crawl.processes or ray_cluster.n_workers
            pool = WorkerPool(plan.fetch, n_workers, lambda reading: ray_cluster.workers(plan.fetch, reading))
        yield stack.enter_context(closing(pool))


def _without_delays(plan: CrawlPlan) -> CrawlPlan:
    """Return the plan without crawl delays, for a fetcher that sends no requests to hosts."""
    return replace(plan, politeness=replace(plan.politeness, delay_s=0.0, connections=plan.crawl.workers))


def write_report(
    ledger: Ledger, watch: ProgressWatch, why: StopReason, seeds: SeedCheck | None = None, problem: str = ""
) -> Report:
    """Return the report of a run that has ended, and write it into the folder; close a completed epoch."""
    if ledger.epoch is not None and not why.is_pause:
        ledger.end_epoch()
    figures = watch.update(exact=True, why=why)
    report = Report(
        folder=ledger.folder.path,
        stopped_because=why,
        dead=dead_mass(ledger.crawl),
        figures=figures,
        library=None if ledger.epoch is None else library_certificate(ledger.database, ledger.plan),
        topical=None
        if ledger.reader is None
        else on_topic_certificate(ledger.database, ledger.plan, ledger.reader.topic.threshold),
        refresh=ledger.plan.refresh,
        hook_failures=dict(watch.intake.hooks.failures),
        failed_seeds={} if seeds is None or ledger.epoch is not None else seeds.failed(),
        n_abandoned=_n_abandoned(ledger),
        has_pages=seeds is None or seeds.has_pages,
        problem=problem,
        n_suspect=ledger.database.details.n_unknown_because(SCRIPTED),
        rendered=ledger.database.rendered.tally(),
        assets=ledger.database.assets.figures(),
        n_unarchived=ledger.database.pages.n_unarchived() if ledger.plan.crawl.archive else 0,
        missing=tuple(missing_pages(ledger.database)),
    )
    ledger.folder.write_report(report.as_dict())
    return report


def _n_abandoned(ledger: Ledger) -> int:
    by_outcome = ledger.database.pages.counts().by_outcome
    return sum(by_outcome.get(outcome, 0) for outcome in (Outcome.HOST_ABANDONED, *HOST_FAILURES))
