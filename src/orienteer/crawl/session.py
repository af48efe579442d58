"""One run of a live crawl, from opening its folder to its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orienteer.crawl.figures import Figures, Watch, dead_mass
from orienteer.crawl.ledger import Ledger
from orienteer.crawl.live import LiveCrawl
from orienteer.crawl.plan import CrawlPlan, canonical_seeds
from orienteer.crawl.warm_up import warm_up
from orienteer.fetch.fetcher import Fetcher
from orienteer.store.folder import CrawlFolder


@dataclass(frozen=True)
class Report:
    """What came of a run: why it stopped, what is proved, and the figures."""

    folder: Path
    stopped_because: str
    goal_reached: bool
    dead: float  # share of a surfer's time on pages that are not there: covered, but useless
    figures: Figures

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"folder": str(self.folder), "figures": self.figures.as_dict()}


def live_crawl(
    seeds: str | Sequence[str],
    folder: str | Path,
    *,
    until: float | None = None,
    budget: int | None = None,
    policy: str = "certified",
    scope: str = "host",
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    watch: Callable[[Figures], None] | None = None,
) -> Report:
    """Crawl the web from the seeds into a folder; run again, it goes on where it was.

    `settings` are tables as in crawl.toml: `{"politeness": {"delay_s": 2.0}, "fetch": {"timeout_s": 10.0}}`.
    """
    tables = {name: dict(table) for name, table in (settings or {}).items()}
    pages = canonical_seeds([seeds] if isinstance(seeds, str) else list(seeds))
    named: dict[str, Any] = {"seeds": pages, "policy": policy}
    named |= {key: value for key, value in (("until", until), ("budget", budget)) if value is not None}
    tables["crawl"] = named | tables.get("crawl", {})
    tables["scope"] = {"kind": scope} | tables.get("scope", {})
    plan = CrawlPlan.of_tables(tables, "settings")
    with opened(Path(folder), plan) as live:
        observer = Watch(live)

        def tick() -> None:
            if observer.is_due():
                figures = observer.figures()
                if watch is not None:
                    watch(figures)

        return reported(live, observer, live.run(tick))


@contextmanager
def opened(path: Path, plan: CrawlPlan) -> Iterator[LiveCrawl]:
    """A crawl folder, new or begun before, ready to run."""
    with CrawlFolder.open_or_create(path, plan.to_toml()) as folder:
        before = CrawlPlan.parse(folder.settings_text, str(folder.settings_path))
        if before != plan:
            folder.write_settings(before.continued(plan).to_toml())
        warm_up(plan)
        with Fetcher(plan.fetch) as fetcher:
            yield LiveCrawl(Ledger(folder, plan), fetcher)


def reported(live: LiveCrawl, watch: Watch, why: str) -> Report:
    """The report of a run that has ended, also written into the folder."""
    report = Report(
        folder=live.ledger.folder.path,
        stopped_because=why,
        goal_reached=live.crawl.goal.is_reached(why, live.crawl.n_asked),
        dead=dead_mass(live),
        figures=watch.figures(exact=True),
    )
    live.ledger.folder.write_report(report.as_dict())
    return report
