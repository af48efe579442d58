"""Whatever happens to a site and to its crawl: a refresh reports what has changed, once, and nothing else.

Each step of a state machine edits, deletes and redirects pages of a small site, or breaks its host. Then it refreshes
the crawl, or kills a refresh, which the next one resumes; with and without a browser. After each step all that shows
the bounds shows the same ones, and what is proved does not exceed what is true. The thorough profile tries more
sequences.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from starlette.testclient import TestClient

from orienteer.certificates.gathering import facts_of_folder
from orienteer.graph.proved import percent
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.status_text import interval
from orienteer.inspect.verify import verify
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import refresh
from orienteer.pages.states import COUNTS_AS_FETCHED
from orienteer.store.database import Database
from orienteer.store.lock import holder_of
from orienteer.store.visits import VisitKind
from orienteer.web.app import create_app
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import CrawlCommand, CrawlProcess
from tests.faults.kills import until
from tests.laws.refreshed_site import (
    CHANGING,
    FOR_GOOD,
    FOR_NOW,
    HOME,
    HOST,
    INDEX,
    LINKED,
    OUTAGES,
    PATHS,
    PLAIN,
    SCRIPTED,
    RefreshedSite,
    url_of,
)
from tests.live.apps import needs_browser
from tests.live.live_crawls import crawled
from tests.live.refreshes import rows_of, visits_of

REPORTED = {VisitKind.NEW, VisitKind.CHANGED, VisitKind.MISSING, VisitKind.GONE}
PLAIN_SETTINGS = {
    "crawl": {"workers": 2, "commit_every_s": 0.02},
    "refresh": {"start": "seeds", "revisit_chance": 0.0},
    "retry": {"max_attempts": 1, "give_up_after": 1000},
}


# What happens to the site between two refreshes: the names of methods of `Refreshes`, and their arguments.
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), st.sampled_from(PATHS)),
        st.tuples(st.just("relink"), st.sampled_from((HOME, *PLAIN, *SCRIPTED)), st.sampled_from(LINKED)),
        st.tuples(st.just("edit_script"), st.sampled_from(SCRIPTED), st.none() | st.sampled_from(LINKED)),
        st.tuples(st.just("take_away"), st.sampled_from(CHANGING), st.sampled_from((404, 410, FOR_GOOD, FOR_NOW))),
        st.tuples(st.just("restore_page"), st.sampled_from(CHANGING)),
        st.tuples(st.just("break_down"), st.sampled_from(("", *OUTAGES))),
    ),
    max_size=4,
)


class Refreshes(RuleBasedStateMachine):
    """A site and its crawl. `touched` are pages that were changed since a refresh has last seen them."""

    modes: tuple[str, ...] = ("never",)

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="refreshes-"))
        self.folder = self.home / "crawl"
        self.today = time.time()
        self.touched: set[str] = set()
        self.script_touched: set[str] = set()
        self.was_missing: set[str] = set()
        self.new_paths: set[str] = set(PATHS)
        self.accepted: dict[str, bytes] = {}  # what the server sent of each page when a visit last found it
        self.epoch_seen: tuple[int, set[str]] = (0, set())  # the last epoch, and what it has visited so far
        self.is_interrupted = False
        self.story: list[object] = []  # what a kill leads to is not the same each time, so nothing can be replayed
        self.is_up_to_date = False  # a refresh has seen the site as it is, whole and in order
        self.rendered_since: set[str] = set()  # pages whose script was run as it is
        self.site: RefreshedSite | None = None

    def teardown(self) -> None:
        if self.site is not None:
            self.web.__exit__(None, None, None)
        shutil.rmtree(self.home, ignore_errors=True)

    # -- the first crawl ----------------------------------------------------------------------------------------

    @initialize(has_validators=st.booleans(), data=st.data(), killed_after=st.none() | st.integers(1, 8))
    def crawl(self, has_validators: bool, data: st.DataObject, killed_after: int | None) -> None:
        self.site = RefreshedSite(has_validators)
        self.web = FakeWeb(self.site)
        self.web.__enter__()
        mode = data.draw(st.sampled_from(self.modes))
        self.story.append((mode, killed_after))
        tables = PLAIN_SETTINGS | {"render": {"mode": mode}}
        if killed_after is not None:
            more = {"crawl": {**tables["crawl"], "robots": False, "guess_sitemap": False, "stop_when": "proved"}}
            command = CrawlCommand(self.web.address, [url_of(HOME)], self.folder, "--scope", "host", **(tables | more))
            self._kill(command.started(), killed_after)
        crawled(self.web, url_of(HOME), self.folder, scope="host", settings=tables)
        self._saw(mode)

    # -- the site changes ---------------------------------------------------------------------------------------

    def change(self, changes: list[tuple[Any, ...]]) -> None:
        for name, *arguments in changes:
            getattr(self, name)(*arguments)

    def edit(self, path: str) -> None:
        self.story.append(("edit", path))
        self._page(path).edits += 1
        self._touch(path)

    def relink(self, path: str, link: str) -> None:
        self.story.append(("relink", path, link))
        if link != path and not (path == HOME and link == INDEX):
            self._page(path).links ^= {link}
            self._touch(path)

    def edit_script(self, path: str, link: str | None) -> None:
        self.story.append(("edit_script", path, link))
        page = self._page(path)
        page.script_edits += 1
        if link is not None and link != path:
            page.script_links ^= {link}
        self.script_touched.add(path)
        self.rendered_since.discard(path)
        self.is_up_to_date = False

    def take_away(self, path: str, status: int) -> None:
        self.story.append(("take_away", path, status))
        self._page(path).status = status
        self._touch(path)

    def restore_page(self, path: str) -> None:
        self.story.append(("restore_page", path))
        if self._page(path).status != 200:
            self._page(path).status = 200
            self._touch(path)

    def break_down(self, outage: str) -> None:
        self.story.append(("break_down", outage))
        assert self.site is not None
        if self.site.outage != outage:
            self.site.outage = outage
            for path in PATHS:
                self._touch(path)

    # -- the crawl is refreshed ---------------------------------------------------------------------------------

    @rule(changes=CHANGES, data=st.data(), days=st.floats(0.5, 3))
    def refresh(self, changes: list[tuple[Any, ...]], data: st.DataObject, days: float) -> None:
        self.change(changes)
        mode = data.draw(st.sampled_from(self.modes))
        self.today += days * DAY_S
        report = refresh(self.folder, now=self.today, settings={"render": {"mode": mode}})
        assert not report.stopped_because.is_pause
        self.is_interrupted = False
        self._saw(mode)
        event("refreshed")

    @rule(changes=CHANGES, data=st.data(), n_requests=st.integers(1, 12))
    def refresh_and_kill(self, changes: list[tuple[Any, ...]], data: st.DataObject, n_requests: int) -> None:
        self.change(changes)
        mode = data.draw(st.sampled_from(self.modes))
        self._kill(CrawlProcess([self.folder, "--quiet", "--render", mode], command="refresh"), n_requests)
        self._saw(mode)
        event("killed" if self.is_interrupted else "not killed")

    # -- what must hold -----------------------------------------------------------------------------------------

    @invariant()
    def all_show_the_same_bounds(self) -> None:
        if self.site is None or not self.folder.exists():
            return
        status = crawl_status(self.folder)
        proved = status.proved
        assert proved is not None
        found = verify(self.folder)
        assert found.holds, f"{found.problems}: {self.story}"
        certificates = {"verify": found.certificate, "certificate": facts_of_folder(self.folder).proved}
        with TestClient(create_app(self.folder), base_url="http://127.0.0.1") as client:
            now = client.get("/api/crawl").json()["status"]
            page = client.get("/crawl").text
            client.app.state.served.close()  # type: ignore[attr-defined]
        for name, bounds in certificates.items():
            where = f"{name}: {bounds} and {proved}: {self.story}"
            assert (bounds.lower, bounds.upper) == pytest.approx((proved.lower, proved.upper), abs=1e-8), where
        of_api = now["proved"]["lower"], now["proved"]["upper"]
        assert of_api == pytest.approx((proved.lower, proved.upper), abs=1e-8), str(self.story)
        assert status.as_dict()["proved"]["lower"] == proved.lower
        assert f"at least {percent(proved.lower)}, at most {percent(proved.upper, up=True)}" in page
        assert interval(proved) in str(found)

    @invariant()
    def the_lower_bound_is_true(self) -> None:
        """By the site as it is, where the crawl has seen it so; a page that is missing is not forgotten at once."""
        if self.site is None or not self.is_up_to_date or self.was_missing:
            return
        rows = rows_of(self.folder)
        covered = {
            path for path in PATHS if (row := rows.get(url_of(path))) is not None and row.state in COUNTS_AS_FETCHED
        }
        status = crawl_status(self.folder)
        assert status.proved is not None
        truth = self.site.true_coverage(covered)
        event("compared with the truth")
        assert status.proved.lower <= truth + 1e-7, str(self.story)

    @invariant()
    def what_was_rendered_is_not_lost(self) -> None:
        """The links of a page that was rendered as it is are known, however it was fetched since."""
        if self.site is not None:
            unknown = {url.partition(HOST)[2]: why for url, why in self._unknown().items()}
            assert not unknown.keys() & self.rendered_since, f"{unknown}: {self.story}"

    # -- details ------------------------------------------------------------------------------------------------

    def _page(self, path: str):  # type: ignore[no-untyped-def]
        assert self.site is not None
        return self.site.pages[path]

    def _touch(self, path: str) -> None:
        self.touched |= {HOME, INDEX} if path in (HOME, INDEX) else {path}
        self.rendered_since -= {path}
        self.is_up_to_date = False

    def _unknown(self) -> dict[str, str]:
        """Why the links of pages are not known."""
        with Database.open(self.folder / "crawl.db", read_only=True) as database:
            found = {database.urls.of(page): database.details.unknown(page) for page in range(database.urls.count())}
        return {url: f"{unknown.n} {unknown.why}" for url, unknown in found.items() if unknown.n}

    def _kill(self, process: CrawlProcess, n_requests: int) -> None:
        """Kill it after so many requests, unless it ends before."""
        n_wanted = len(self.web.requests) + n_requests
        with process:
            self.is_interrupted = until(process, lambda: len(self.web.requests) >= n_wanted)
            if self.is_interrupted:
                process.kill()
            process.communicate()
        while holder_of(self.folder) is not None:
            time.sleep(0.01)  # a child that was just forked, and does not run its program yet, has the lock open
        self.story.append(("killed" if self.is_interrupted else "not killed", n_requests))
        self.is_up_to_date = self.is_up_to_date and not self.is_interrupted

    def _saw(self, mode: str) -> None:
        """Check what this run has found against what has happened since the pages were seen before."""
        assert self.site is not None
        visits = {url.partition(HOST)[2]: kind for url, kind in visits_of(self.folder).items()}
        with Database.open(self.folder / "crawl.db", read_only=True) as database:
            epoch = database.epochs.last()
            rendered = {database.urls.of(row.page).partition(HOST)[2] for row in database.rendered.all()}
        number = 0 if epoch is None else epoch.id
        rows = {url.partition(HOST)[2]: row for url, row in rows_of(self.folder).items()}
        before = self.epoch_seen[1] if self.epoch_seen[0] == number else set()
        seen = set(rows if number == 0 else visits)
        self.epoch_seen = number, seen
        new = {path: visits.get(path) for path in seen - before if path in self.site.pages}
        self.story.append((mode, number, {path: kind and kind.name for path, kind in new.items()}))
        for path, kind in new.items():
            if kind is not None:
                self._check(path, kind, mode)
        self._note_seen(set(new), rendered, mode)
        self.new_paths = {path for path in PATHS if path not in rows or rows[path].state not in COUNTS_AS_FETCHED}
        missing = (VisitKind.MISSING, VisitKind.UNREACHABLE)
        self.was_missing = {path for path, kind in visits.items() if kind in missing}
        for path in set(new) - self.was_missing:
            if rows[path].digest is not None and not self.site.outage and self.site.pages[path].status == 200:
                self.accepted[path] = self.site.body(path)[0]
        is_complete = not self.is_interrupted and not self.site.outage
        self.is_up_to_date = is_complete and not self.touched & set(rows) and not self.script_touched & set(rows)

    def _check(self, path: str, kind: VisitKind, mode: str) -> None:
        assert self.site is not None
        page = self.site.pages[path]
        may_change = path in self.touched | self.was_missing or (path in self.script_touched and mode != "never")
        if kind in (VisitKind.CHANGED, VisitKind.GONE):
            assert may_change, f"{path} is {kind.name}, and has not been changed: {self.story}"
        if kind is VisitKind.MISSING and not self.site.outage:
            assert page.status != 200, f"{path} is missing, and it is there: {self.story}"
        if kind is VisitKind.NEW:
            assert path in self.new_paths, f"{path} is new, and was seen before: {self.story}"
        if page.status == 200 and not self.site.outage and path in self.accepted:
            is_edited = self.accepted[path] != self.site.body(path)[0]
            assert not is_edited or kind is VisitKind.CHANGED, f"{path} was edited, and is {kind.name}: {self.story}"

    def _note_seen(self, paths: set[str], rendered: set[str], mode: str) -> None:
        """An answer of a broken host is no sight of the page."""
        assert self.site is not None
        if self.site.outage:
            return
        self.touched -= paths
        if mode != "never":
            self.script_touched -= paths & rendered
            self.rendered_since |= paths & rendered
        self.rendered_since &= rendered


class RenderedRefreshes(Refreshes):
    """The same with a browser."""

    modes = ("auto", "auto", "always", "never")


def _settings(n_examples: int, n_steps: int) -> settings:
    return settings(
        max_examples=settings().max_examples // 10 * n_examples // 3,
        stateful_step_count=n_steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),  # where a kill strikes differs each time, so nothing can be replayed or made smaller
        database=None,
    )


@pytest.mark.long
class TestRefreshes(Refreshes.TestCase):  # type: ignore[misc]
    settings = _settings(3, 6)


@pytest.mark.slow
class TestRenderedRefreshes(RenderedRefreshes.TestCase):  # type: ignore[misc]
    settings = _settings(2, 4)

    @classmethod
    def setup_class(cls) -> None:
        needs_browser()
