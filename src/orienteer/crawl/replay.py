"""A crawl over again on its archive, with another policy or another goal, and no network.

The archive answers instead of the web: with the page, with a redirect, with "there is no page". What it has no answer
for was never fetched; it counts as blocked, so what is proved is as true as it would have been then.

The pages of a crawl folder have the ids they had in the crawl: with one worker and the same policy the replay fetches
the same pages in the same order, apart from those that a sitemap named or that were merged with their duplicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl, Goal
from orienteer.crawl.plan import CrawlPlan, CrawlSettings, canonical_seeds
from orienteer.crawl.scope import Scope, ScopeSettings
from orienteer.errors import InputError
from orienteer.graph.coverage import Certificate
from orienteer.graph.formats.warc import Answer, ArchivedWeb, read_archives
from orienteer.graph.url_table import UrlTable
from orienteer.policies.policy import TrustedPages
from orienteer.policies.policy_spec import PolicySpec
from orienteer.progress import Progress, silent
from orienteer.store.folder import settings_of_folder


@dataclass(frozen=True)
class Replay:
    """What a replay came to; `n_missing` pages were asked for that the archive does not have."""

    policy: str
    urls: UrlTable
    order: NDArray[np.uint32]
    n_missing: int
    stopped_because: str
    goal_reached: bool
    certificate: Certificate


def replay(
    source: str | Path,
    policy: str | None = None,
    until: float | None = None,
    budget: int | None = None,
    *,
    by_certificate: bool = False,
    seeds: Sequence[str] = (),
    progress: Progress = silent,
) -> Replay:
    """Crawl the archive of a crawl folder, or a WARC file or a folder of them.

    A crawl folder knows its seeds, policy and scope; for other archives the seeds must be named, and all is in scope.
    """
    path = Path(source)
    plan = _plan_of(path, seeds)
    spec = PolicySpec.parse(policy or plan.crawl.policy)
    web = read_archives(_files_of(path), plan.crawl.seeds, progress)
    goal = Goal(until, budget, by_certificate)
    crawl, n_missing = _crawled(web, plan, spec, goal, progress)
    why = crawl.stopped_because or "frontier empty"
    assert web.graph.urls is not None
    return Replay(
        policy=str(spec),
        urls=web.graph.urls,
        order=np.array(crawl.order, np.uint32),
        n_missing=n_missing,
        stopped_because=why,
        goal_reached=goal.is_reached(why, len(crawl.order)),
        certificate=crawl.certificate(),
    )


def _crawled(web: ArchivedWeb, plan: CrawlPlan, spec: PolicySpec, goal: Goal, progress: Progress) -> tuple[Crawl, int]:
    graph, hosts = web.graph, web.graph.hosts
    assert graph.urls is not None
    assert hosts is not None
    n_seeds = len(plan.crawl.seeds)
    trusted = TrustedPages(np.arange(n_seeds, dtype=np.uint32), np.full(n_seeds, 1.0 / n_seeds))
    crawl = Crawl(spec.make(plan.crawl.damping), trusted, goal, hosts=hosts[:n_seeds])
    scope = Scope(plan.scope, plan.crawl.seeds)
    seed_names = set(range(n_seeds))
    inside = scope.contains(graph.urls[:])
    n_missing = 0
    while (page := crawl.next()) is not None:
        links, answer = graph.links(page), Answer(int(web.answers[page]))
        if answer is Answer.REDIRECT and page in seed_names:
            seed_names.add(int(links[0]))
            scope.widen(graph.urls[int(links[0])])
            inside = scope.contains(graph.urls[:])
        links = links[inside[links]]
        if answer is Answer.NONE:
            n_missing += 1
            crawl.blocked(page)
        elif answer is Answer.NO_PAGE or (answer is Answer.REDIRECT and len(links) == 0):
            crawl.failed(page)
        elif answer is Answer.REDIRECT:
            crawl.redirected(page, int(links[0]), host=int(hosts[links[0]]))
        else:
            crawl.fetched(page, links, hosts=hosts[links])
        if len(crawl.order) % 1000 == 0:
            progress("replaying", len(crawl.order), graph.n_pages)
    return crawl, n_missing


def _plan_of(path: Path, seeds: Sequence[str]) -> CrawlPlan:
    text = settings_of_folder(path) if path.is_dir() else None
    if text is not None:
        if seeds:
            raise InputError(f"{path} knows its seeds; they cannot be named for its replay")
        return CrawlPlan.parse(text, str(path / "crawl.toml"))
    if not seeds:
        raise InputError(f"{path} is no crawl folder; name the pages to start from (seeds)")
    return CrawlPlan(CrawlSettings(canonical_seeds(list(seeds))), ScopeSettings(kind="web"))


def _files_of(path: Path) -> list[Path]:
    """The WARC files of a crawl folder, of any folder, or the one file."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    folder = path / "archive" if (path / "archive").is_dir() else path
    files = sorted(file for file in folder.iterdir() if ".warc" in file.suffixes)
    if not files:
        raise InputError(f"{folder}: no WARC files in it")
    return files
