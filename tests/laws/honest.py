"""Whether a changed folder is rejected, or claims no more than what is true."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from orienteer.errors import OrienteerError
from orienteer.extract import links as links_module
from orienteer.inspect.verify import verify
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import Scope
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import COUNTS_AS_FETCHED
from orienteer.responses.verdict import LOST_REDIRECTS
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from tests.laws.adversarial_crawl import crawled, plan_of, refreshed
from tests.laws.adversarial_site import AdversarialSite, change, true_coverage

_ROUNDING = 1e-7


@dataclass(frozen=True)
class Honest:
    """A site and the folder of its crawl: the URLs that widened its scope, and the places that it has fetched."""

    site: AdversarialSite
    folder: Path
    widened: tuple[str, ...]
    covered: frozenset[str]
    upper: float = 1.0

    @classmethod
    def crawled(cls, site: AdversarialSite, folder: Path, changes: np.random.Generator | None = None) -> Honest:
        """With `changes`, the site changes after its crawl, and is crawled again."""
        for _ in crawled(site, folder, every=400, archive=True):
            pass
        if changes is not None:
            change(changes, site)
            refreshed(site, folder)
        honest = cls(site, folder, tuple(_widened(folder)), _covered(site, folder))
        assert honest.outcome(folder) == "harmless"
        return honest

    def outcome(self, folder: Path) -> str:
        """ "rejected", or "harmless" where what is said of this copy is true; AssertionError where it is not."""
        try:
            with mock.patch.object(links_module, "MAX_LINKS", self.site.max_links):
                found = verify(folder)
        except OrienteerError as error:
            assert "\n" not in str(error), str(error)
            return "rejected"
        if found.problems:
            assert all("\n" not in problem for problem in found.problems)
            return "rejected"
        try:
            claimed_pages = set(_covered(self.site, folder))
        except OrienteerError:
            return "rejected"
        is_inside, damping = self._scope(folder), found.status.plan.crawl.damping
        trust = found.status.plan.crawl.seed_trust().tolist()
        truth = true_coverage(self.site, set(self.covered), is_inside, damping, trust)
        assert found.checked.lower <= truth + _ROUNDING, (found.checked, truth)
        if not self._knows_redirects(folder):
            return "harmless"  # the upper bound assumes that no other page is another name of a fetched one
        claimed = true_coverage(self.site, claimed_pages, is_inside, damping, trust)
        assert found.checked.upper >= min(claimed, self.upper) - _ROUNDING, (found.checked, claimed)
        return "harmless"

    def _knows_redirects(self, folder: Path) -> bool:
        """Whether every redirect that the folder knows of is in it, as what it is."""
        with FolderView.open(folder) as view:
            outcomes = {view.database.urls.of(row.id): row.outcome for row in view.database.pages.rows()}
            urls = view.database.urls.between(0, view.database.urls.count())
        redirects = [url for url in urls if self.site.place(url).kind == "redirect"]
        return all(outcomes.get(url) in (Outcome.REDIRECT, *LOST_REDIRECTS) for url in redirects)

    def _scope(self, folder: Path) -> Callable[[str], bool]:
        with FolderView.open(folder) as view:
            plan = CrawlPlan.of_folder(view)
        scope = Scope(plan.scope, [*plan.crawl.seeds, *self.widened])
        return lambda url: bool(scope.contains([url])[0])


def _widened(folder: Path) -> list[str]:
    """Where the seeds redirect to, step by step."""
    with FolderView.open(folder) as view:
        database, found = view.database, []
        n_seeds = len(CrawlPlan.of_folder(view).crawl.seeds)
        names = set(range(n_seeds))
        for row in database.pages.rows():
            if row.id in names and row.redirect_to is not None:
                names.add(row.redirect_to)
                found.append(database.urls.of(row.redirect_to))
        return found


def _covered(site: AdversarialSite, folder: Path) -> frozenset[str]:
    with FolderView.open(folder) as view:
        return frozenset(
            site.name(view.database.urls.of(row.id))
            for row in view.database.pages.rows()
            if row.state in COUNTS_AS_FETCHED and row.outcome != Outcome.REDIRECT
        )


def use(folder: Path, site: AdversarialSite) -> None:
    """Everything that is done with a folder: none of it ends in anything but an error of one line."""
    from starlette.testclient import TestClient
    from typer.testing import CliRunner

    from orienteer.cli.main import command_line
    from orienteer.web.app import create_app

    runner, commands = CliRunner(), command_line()
    url = site.seeds[0]
    for words in (
        ["status"], ["status", "--json"], ["explain", url], ["changes"], ["report"],
        ["export", "--format", "jsonl", "-o", f"{folder}.jsonl"], ["certificate", "-o", f"{folder}.html"],
    ):  # fmt: skip
        result = runner.invoke(commands, [words[0], str(folder), *words[1:]])
        error = result.exception
        if error is not None and not isinstance(error, (OrienteerError, SystemExit)):
            raise error
        assert error is None or "\n" not in str(error)
    try:
        app = create_app(folder)
    except OrienteerError:
        return
    try:
        with TestClient(app, base_url="http://127.0.0.1") as client:
            for page in ("", "crawl", "changes", "certificate", "map", "report", "api/crawl", "api/certificate"):
                client.get(f"/{page}")
    finally:
        app.state.served.close()


def continue_crawl(folder: Path, site: AdversarialSite) -> None:
    """The crawl is resumed, and refreshed."""
    plan = plan_of(site, archive=True)
    with suppress(OrienteerError):
        with CrawlFolder.open(folder) as crawl:
            Ledger(crawl, plan)
        refreshed(site, folder)
