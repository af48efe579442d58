"""Refreshes of rendered pages: the sent form is compared with the sent form, the rendered one with the rendered one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from orienteer.browser import process
from orienteer.errors import InputError
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.run_report import Report
from orienteer.inspect.verify import verify
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import refresh
from orienteer.store.database import Database
from orienteer.store.visits import VisitKind
from tests.fake_web.server import FakeWeb
from tests.laws.refreshed_site import HOME, INDEX, SCRIPTED, RefreshedSite, url_of
from tests.live.apps import needs_browser
from tests.live.live_crawls import crawled
from tests.live.refreshes import rows_of, visits_of
from tests.live.rendered_pages import as_in_format_7

pytestmark = pytest.mark.slow

S1 = SCRIPTED[0]


@pytest.fixture(scope="module", autouse=True)
def _with_browser() -> None:
    needs_browser()


class Crawls:
    """First crawls of one site in each mode, run once and copied."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def of(self, mode: str, web: FakeWeb, place: Path) -> Path:
        made = self._home / mode
        if not made.exists():
            crawled(web, url_of(HOME), made, scope="host", settings={"render": {"mode": mode}})
        return shutil.copytree(made, place)


@pytest.fixture(scope="module")
def site() -> RefreshedSite:
    return RefreshedSite(has_validators=True)


@pytest.fixture(scope="module")
def web(site: RefreshedSite) -> Any:
    with FakeWeb(site) as web:
        yield web


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> Crawls:
    return Crawls(tmp_path_factory.mktemp("first"))


def refreshed(folder: Path, mode: str, days: float = 1.0, **named: Any) -> tuple[Report, dict[str, VisitKind]]:
    now = rows_of(folder)[url_of(HOME)].time + days * DAY_S
    settings = {"render": {"mode": mode}, "refresh": {"start": "seeds", "revisit_chance": 0.0}}
    report = refresh(folder, now=now, settings=settings, **named)
    return report, {url.removeprefix("http://s.test"): kind for url, kind in visits_of(folder).items()}


def bounds(folder: Path) -> tuple[float, float]:
    proved = verify(folder).certificate
    return proved.lower, proved.upper


def links(folder: Path) -> dict[str, list[int]]:
    return {url: sorted(row.links.tolist()) for url, row in rows_of(folder).items()}


# Each mode once first and once second; "auto" is what a crawl has by default.
@pytest.mark.parametrize(
    ("first", "second"), [("auto", "auto"), ("auto", "never"), ("never", "always"), ("always", "never")]
)
def test_an_unchanged_site_has_not_changed(
    first: str, second: str, web: FakeWeb, crawls: Crawls, tmp_path: Path
) -> None:
    folder = crawls.of(first, web, tmp_path / "crawl")
    before, known = bounds(folder), links(folder)
    for _ in range(2):
        _, visits = refreshed(folder, second)
        assert set(visits.values()) <= {VisitKind.UNCHANGED, VisitKind.NOT_MODIFIED, VisitKind.NEW}
        assert VisitKind.NEW not in visits.values() or first == "never"  # found only by rendering
    assert bounds(folder)[0] >= before[0] - 1e-9
    assert all(set(row) <= set(links(folder)[url]) for url, row in known.items())
    assert (before[0] > 0.99) == (first != "never")
    assert (bounds(folder)[0] > 0.99) == (first != "never" or second != "never")


def test_the_rendered_form_of_a_page_is_not_lost_without_a_browser(
    web: FakeWeb, crawls: Crawls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = crawls.of("auto", web, tmp_path / "crawl")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(process, "_PATHS", ())
    with pytest.raises(InputError, match="no browser found"):
        process.find_browser()
    _, visits = refreshed(folder, "auto")
    assert set(visits.values()) <= {VisitKind.UNCHANGED, VisitKind.NOT_MODIFIED}
    with Database.open(folder / "crawl.db", read_only=True) as database:
        assert {database.urls.of(row.page) for row in database.rendered.all()} >= {url_of(path) for path in SCRIPTED}
    assert bounds(folder)[0] > 0.99


def test_a_change_by_a_script_is_reported_once(crawls: Crawls, tmp_path: Path) -> None:
    site = RefreshedSite(has_validators=True)
    with FakeWeb(site) as web:
        folder = tmp_path / "crawl"
        crawled(web, url_of(HOME), folder, scope="host", settings={"render": {"mode": "auto"}})
        site.pages[S1].script_edits += 1
        _, visits = refreshed(folder, "never")
        assert visits[S1] is VisitKind.NOT_MODIFIED  # the server sends the same, and the script is not run
        _, visits = refreshed(folder, "auto")
        assert {path for path, kind in visits.items() if kind is VisitKind.CHANGED} == {S1}
        _, visits = refreshed(folder, "auto")
        assert VisitKind.CHANGED not in visits.values()


def test_a_folder_of_version_0_2_is_compared_by_its_archive(web: FakeWeb, crawls: Crawls, tmp_path: Path) -> None:
    folder = crawls.of("auto", web, tmp_path / "crawl")
    as_in_format_7(folder)
    assert crawl_status(folder).rendered.n_pages > 0
    for _ in range(2):
        _, visits = refreshed(folder, "never")
        assert set(visits.values()) <= {VisitKind.UNCHANGED, VisitKind.NOT_MODIFIED}
    assert bounds(folder)[0] > 0.99


def test_without_anything_to_compare_no_change_is_reported(web: FakeWeb, crawls: Crawls, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    tables = {"render": {"mode": "auto"}, "crawl": {"archive": False}}
    crawled(web, url_of(HOME), folder, scope="host", settings=tables)
    as_in_format_7(folder)
    for mode in ("never", "auto", "auto"):
        _, visits = refreshed(folder, mode)
        assert set(visits.values()) <= {VisitKind.UNCHANGED, VisitKind.NOT_MODIFIED}
    assert bounds(folder)[0] > 0.99


def test_two_addresses_of_one_page_change_together_though_one_was_rendered(tmp_path: Path) -> None:
    """The crawl cannot know that they are one page: only one of them was rendered, as a sample of its host."""
    site = RefreshedSite(has_validators=False)
    with FakeWeb(site) as web:
        folder = tmp_path / "crawl"
        crawled(web, url_of(HOME), folder, scope="host", settings={"render": {"mode": "auto"}})
        before = rows_of(folder)
        assert before[url_of(INDEX)].duplicate_of is None
        site.pages[HOME].edits += 1  # both, since they are one file
        _, visits = refreshed(folder, "never")
        assert (visits[HOME], visits[INDEX]) == (VisitKind.CHANGED, VisitKind.CHANGED)
