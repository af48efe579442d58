"""Changes of crawl.db that hide what the archive has: `verify` rejects the folder, or its bounds do without the page.

Each test crawls a small site, and changes the database so that it claims to have covered everything.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer.certificates.certificate_text import describe, headline
from orienteer.certificates.gathering import facts_of_folder
from orienteer.graph.synthetic import synthetic_web
from orienteer.inspect.verify import Verification, verify
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import refresh
from orienteer.store.visits import VisitKind
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders, Site
from tests.live.apps import SmallSite, application, needs_browser
from tests.live.live_crawls import StoredCrawl, Tables, crawled, hub

A = "http://a.test"
N_NEW = 40
SETTINGS: Tables = {"crawl": {"workers": 1}, "refresh": {"start": "seeds", "revisit_chance": 0.0}}


def page(title: str, *links: str) -> str:
    return f"<title>{title}</title>This is {title}. " + " ".join(f"<a href='{link}'>{link}</a>" for link in links)


def change(folder: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    """Change the database; nothing but its pages says what was reached."""
    (folder / "report.json").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        for sql, values in statements:
            database.execute(sql, values)
        database.execute("DELETE FROM meta WHERE key = 'figures'")


def row(folder: Path, sql: str) -> tuple[Any, ...]:
    with closing(sqlite3.connect(folder / "crawl.db")) as database:
        found: tuple[Any, ...] = database.execute(sql).fetchone()
    return found


def expect_rejected_or_below(found: Verification, truth: float) -> None:
    assert found.certificate.lower > truth + 0.2, "the change had an effect"
    assert found.problems or found.checked.lower <= truth + 1e-7


# A page that was refreshed, and the page as it was before

PAGE = "time, archive_file, archive_offset, archive_bytes, digest, size_bytes, links, outside, title"
RECORD = ", ".join(PAGE.split(", ")[1:4])


class Grown:
    """A site whose home page has many more links at its refresh; `before` is the folder from before that."""

    def __init__(self, base: Path, render: str, home_of: Any, commits: int = 1) -> None:
        files = {"/": home_of(3)} | {f"/p{k}": page(f"page {k}") for k in range(N_NEW)}
        settings: Tables = SETTINGS | {"render": {"mode": render}}
        self.folder, self.before = base / "now", base / "before"
        site = SmallSite(files)
        with FakeWeb(site) as web:
            crawled(web, f"{A}/", self.folder, scope="host", settings=settings)
            shutil.copytree(self.folder, self.before)
            site.files["/"] = home_of(N_NEW)
            for day in range(1, commits + 1):
                refresh(
                    self.folder, now=time.time() + 10 * day * DAY_S, budget=5, settings={"render": {"mode": render}}
                )
        found = verify(self.folder)
        assert found.problems == ()
        self.lower = found.checked.lower
        assert self.lower < 0.3


def home(n: int) -> str:
    return page("home", *(f"/p{k}" for k in range(n)))


def test_a_record_is_not_hidden_by_a_row_of_rendered(tmp_path: Path) -> None:
    grown = Grown(tmp_path, "never", home)
    old, new = (
        row(grown.before, f"SELECT {PAGE} FROM page WHERE id = 0"),
        row(grown.folder, f"SELECT {RECORD} FROM page WHERE id = 0"),
    )
    (unfetched,) = row(grown.folder, "SELECT max(id) FROM url")
    columns = "page, why, time, url, dom_file, dom_offset, dom_bytes, n_words_sent, n_words, n_links_sent, n_links, "
    change(
        grown.folder,
        (f"UPDATE page SET {PAGE.replace(',', ' = ?,')} = ? WHERE id = 0", old),
        ("UPDATE visit SET kind = 3, archive_file = NULL, archive_offset = NULL, archive_bytes = NULL", ()),
        (f"INSERT INTO rendered ({columns} n_parts, cpu_s, trouble) VALUES "
         "(?, 'asked', 1e9, 'x', ?, ?, ?, 0, 0, 0, 0, 0, 0, '')", (unfetched, *new)),
    )  # fmt: skip
    found = verify(grown.folder)
    expect_rejected_or_below(found, grown.lower)
    assert "http://a.test/: the archive has a newer response than the database" in found.problems


def test_a_changed_page_is_no_copy_of_a_page_without_a_record(tmp_path: Path) -> None:
    """A page that has become a copy of another one counts as missing, and its old links stay."""
    grown = Grown(tmp_path, "never", home)
    old = row(grown.before, f"SELECT {PAGE} FROM page WHERE id = 0")
    unfetched, position, digest = row(
        grown.folder, "SELECT (SELECT max(id) FROM url), max(position) + 1, max(digest) FILTER (WHERE id = 0) FROM page"
    )
    values = "?, ?, 4, 'robots.txt', 0, time, NULL, NULL, NULL, ?, 0, '', '', '', 0, 1, NULL, NULL, NULL, '', '', NULL"
    change(
        grown.folder,
        (f"UPDATE page SET {PAGE.replace(',', ' = ?,')} = ? WHERE id = 0", old),
        (f"UPDATE visit SET kind = {VisitKind.MISSING:d} WHERE page = 0", ()),
        (f"INSERT INTO page SELECT {values}, x'', x'' FROM page WHERE id = 1", (position, unfetched, digest)),
    )
    found = verify(grown.folder)
    expect_rejected_or_below(found, grown.lower)
    assert found.checked.unchecked == {"a copy of another page for now": 1}


class Moving(SmallSite):
    """A site whose home page moves to another address."""

    has_moved = False

    def page_response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        has_moved = self.has_moved and target == "/"
        return redirect_to("/new", 301) if has_moved else super().page_response(host, target, headers)


def test_a_page_that_redirects_is_not_unreachable(tmp_path: Path) -> None:
    """A redirect out of the scope leaves the stored page as it is; this one is inside."""
    folder = tmp_path / "now"
    files = {"/": page("home", "/p0"), "/new": home(N_NEW)} | {f"/p{k}": page(f"page {k}") for k in range(N_NEW)}
    site = Moving(files)
    with FakeWeb(site) as web:
        crawled(web, f"{A}/", folder, scope="host", settings=SETTINGS)
        shutil.copytree(folder, tmp_path / "before")
        site.has_moved = True
        refresh(folder, now=time.time() + 10 * DAY_S, budget=5)
    honest = verify(folder)
    assert honest.problems == ()
    columns = f"{PAGE}, state, outcome, status, redirect_to"
    old = row(tmp_path / "before", f"SELECT {columns} FROM page WHERE id = 0")
    places = "archive_file, archive_offset, archive_bytes"
    change(
        folder,
        (f"UPDATE visit SET kind = {VisitKind.UNREACHABLE:d}, state = 4, redirect_to = NULL, "
         f"({places}) = (SELECT {places} FROM page WHERE id = 0) WHERE page = 0", ()),
        (f"UPDATE page SET {columns.replace(',', ' = ?,')} = ? WHERE id = 0", old),
    )  # fmt: skip
    found = verify(folder)
    expect_rejected_or_below(found, honest.checked.lower)
    assert found.checked.unchecked == {"a redirect for now": 1}


@pytest.mark.parametrize("commits", [1, 2])
def test_a_database_that_is_older_than_the_archive(commits: int, tmp_path: Path) -> None:
    """One refresh may have been killed before it was acknowledged; the second one acknowledges the first."""
    grown = Grown(tmp_path, "never", home, commits)
    for name in ("crawl.db", "crawl.db-wal", "crawl.db-shm"):
        (grown.folder / name).unlink(missing_ok=True)
        if (grown.before / name).exists():
            shutil.copy(grown.before / name, grown.folder / name)
    change(grown.folder)
    found = verify(grown.folder)
    expect_rejected_or_below(found, grown.lower)
    assert found.checked.unchecked == {"a later response, not acknowledged": 1}
    assert found.holds == (commits == 1)
    assert all("crawl.db is older than the archive" in line for line in found.problems)


@pytest.mark.slow
def test_an_older_rendered_document_is_not_that_of_the_page(tmp_path: Path) -> None:
    needs_browser()
    script = "document.body.innerHTML = [...Array({}).keys()].map(k => `<a href=/p${{k}}>${{k}}</a> words`).join(' ')"
    grown = Grown(tmp_path, "always", lambda n: application(script.format(n)))
    document = "dom_file, dom_offset, dom_bytes"
    old = row(grown.before, "SELECT links, outside, digest, title FROM page WHERE id = 0")
    change(
        grown.folder,
        ("UPDATE page SET links = ?, outside = ?, digest = ?, title = ? WHERE id = 0", old),
        (f"UPDATE rendered SET ({document}) = (?, ?, ?), time = time + 1e6 WHERE page = 0",
         row(grown.before, f"SELECT {document} FROM rendered WHERE page = 0")),
    )  # fmt: skip
    found = verify(grown.folder)
    expect_rejected_or_below(found, grown.lower)
    assert any("the archive has a rendered document that the database omits" in line for line in found.problems)


# Sessions

SESSION = "/p?sid=" + 31 * "a"


def session_site(shared: str, other: str) -> Site:
    links = [f"{SESSION}{k}" for k in (1, 2, 3)]
    pages = {f"{A}/": page("home", *links, "/x"), f"{A}{links[2]}": other, f"{A}/x": page("x", f"{SESSION}4")}
    pages |= {f"{A}{link}": shared for link in links[:2]}
    return MadeSite(pages | {f"{A}/p{k}": page(f"page {k}") for k in range(N_NEW)})


def test_a_page_is_no_other_session_of_a_page_with_another_content(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with FakeWeb(session_site(page("a shop"), page("another", *(f"/p{k}" for k in range(N_NEW))))) as web:
        crawled(web, f"{A}/", folder, budget=5, scope="host", settings=SETTINGS)
    honest = verify(folder)
    assert honest.problems == ()
    assert honest.checked.unchecked == {}
    (other,) = row(folder, f"SELECT id FROM url WHERE url = '{A}{SESSION}3'")
    first, is_same = row(folder, "SELECT page, is_same FROM session")
    assert is_same
    blob = np.array([first], "<u4").tobytes()
    change(folder, ("UPDATE page SET redirect_to = ?, links = ?, outside = x'' WHERE id = ?", (first, blob, other)))
    found = verify(folder)
    expect_rejected_or_below(found, honest.checked.lower)
    assert found.checked.unchecked == {"sessions that may make a difference": 1}


def test_sessions_that_are_not_archived_are_not_confirmed(tmp_path: Path) -> None:
    shared = f"<meta name=robots content=noarchive>{page('a shop')}"
    with FakeWeb(session_site(shared, shared)) as web:
        crawled(web, f"{A}/", tmp_path / "c", scope="host", settings=SETTINGS)
    found = verify(tmp_path / "c")
    assert found.problems == ()
    assert found.checked.unchecked == {"fetched": 3, "sessions that may make a difference": 1}


# Pages with the same content


def test_a_page_with_unknown_links_is_not_another_name_of_one_without(tmp_path: Path) -> None:
    """Both have the same content; a header asks not to follow the links of the second one."""
    shared = page("shared", "/a")
    header = (("X-Robots-Tag", "nofollow"),)
    pages = {f"{A}/": page("home", "/a", "/b"), f"{A}/a": shared, f"{A}/b": FakeResponse(shared, headers=header)}
    with FakeWeb(MadeSite(pages)) as web:
        merging: Tables = {"crawl": {"workers": 1, "duplicates": "merge"}}
        crawled(web, f"{A}/", tmp_path / "c", scope="host", settings=merging)
    honest = verify(tmp_path / "c")
    assert honest.problems == ()
    change(
        tmp_path / "c",
        ("UPDATE page SET redirect_to = 1, links = x'01000000', outside = x'' WHERE id = 2", ()),
        ("DELETE FROM unknown", ()),
    )
    found = verify(tmp_path / "c")
    expect_rejected_or_below(found, honest.checked.lower)
    assert f"{A}/b: it is not another name of {A}/a: their archived contents differ" in found.problems


# Tables that are none


@pytest.fixture(scope="module")
def plain_crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain") / "c"
    with FakeWeb(SmallSite({"/": home(9)} | {f"/p{k}": page(f"page {k}", "/") for k in range(9)})) as web:
        crawled(web, f"{A}/", folder, budget=3, scope="host", settings=SETTINGS)
    return folder


def test_a_view_is_no_table(plain_crawl: Path, tmp_path: Path) -> None:
    """It could give other links to each query."""
    folder = shutil.copytree(plain_crawl, tmp_path / "c")
    change(
        folder,
        ("ALTER TABLE page RENAME TO stored_page", ()),
        ("CREATE VIEW page AS SELECT * FROM stored_page", ()),
    )
    assert "page is a view of SQLite, and no table of a crawl" in verify(folder).problems


def test_a_page_has_one_row(plain_crawl: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(plain_crawl, tmp_path / "c")
    (sql,) = row(folder, "SELECT sql FROM sqlite_master WHERE name = 'page'")
    change(
        folder,
        ("ALTER TABLE page RENAME TO stored_page", ()),
        (str(sql).replace("NOT NULL UNIQUE", "NOT NULL"), ()),
        ("INSERT INTO page SELECT * FROM stored_page", ()),
        ("DROP TABLE stored_page", ()),
    )
    assert "the table page may have several rows where there must be one" in verify(folder).problems


SUSPECT = "<title>t</title>This is an application. <a href=/>home</a><div id=root></div><script src=/app.js></script>"


def test_unknown_links_have_one_row(tmp_path: Path) -> None:
    """Each of two queries reads another row, since it has an index that covers it."""
    files = {"/": page("home", "/a", "/b"), "/a": page("a", "/"), "/b": SUSPECT}
    with FakeWeb(SmallSite(files)) as web:
        crawled(web, f"{A}/", tmp_path / "c", scope="host", settings=SETTINGS)
    honest = verify(tmp_path / "c")
    assert honest.problems == ()
    assert honest.checked.lower < 0.5, "it is not known what the application links to"
    change(
        tmp_path / "c",
        ("ALTER TABLE unknown RENAME TO stored_unknown", ()),
        ("CREATE TABLE unknown (page INTEGER, n INTEGER NOT NULL, why TEXT NOT NULL)", ()),
        ("INSERT INTO unknown SELECT * FROM stored_unknown", ()),
        ("INSERT INTO unknown SELECT page, 0, 'a' FROM stored_unknown", ()),
        ("DROP TABLE stored_unknown", ()),
        ("CREATE INDEX for_counts ON unknown (page, n DESC)", ()),
        ("CREATE INDEX for_rows ON unknown (page, n, why)", ()),
    )
    found = verify(tmp_path / "c")
    expect_rejected_or_below(found, honest.checked.lower)
    assert "the table unknown may have several rows where there must be one" in found.problems


def test_an_index_that_contradicts_its_table(plain_crawl: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(plain_crawl, tmp_path / "c")
    change(
        folder,
        ("PRAGMA writable_schema = ON", ()),
        ("UPDATE sqlite_master SET sql = replace(sql, '(relevance)', '(id)') WHERE name = 'page_relevance'", ()),
        ("UPDATE sqlite_master SET sql = replace(sql, 'relevance IS', 'id IS') WHERE name = 'page_relevance'", ()),
    )
    assert any(line.startswith("SQLite finds it damaged: ") for line in verify(folder).problems)


# Measured coverage


class Skipping(Site):
    """A site on which all pages but these are given the same response."""

    def __init__(self, site: Site, real: set[str], response: FakeResponse) -> None:
        self.site, self.real, self.other = site, real, response

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        is_real = f"http://{host}{target}" in self.real
        return self.site.response(host, target, headers) if is_real else self.other


def says_measured(folder: Path, how: str) -> None:
    """Whether a survey has reached its goal is a matter of chance; the headline is about one that has."""
    assert f"; {how}: " in str(verify(folder))
    facts = facts_of_folder(folder)
    assert facts.measured is not None
    reached = replace(facts, measured=replace(facts.measured, is_reached=True))
    assert f" {how.capitalize()}: at least " in headline(reached)
    assert f" confidence{how.removeprefix('measured')}, assuming" in dict(describe(reached).covered)["Measured"]


@pytest.mark.parametrize(
    ("response", "of_reachable"),
    [(FakeResponse(b"\x89PNG", content_type="image/png"), False), (FakeResponse(reset=True), True)],
)
def test_what_is_measured_with_pages_that_are_not_archived(
    response: FakeResponse, of_reachable: bool, tmp_path: Path
) -> None:
    """Nothing of the forged part of the crawl is archived: pictures are not, and neither is what failed."""
    folder, site = tmp_path / "c", GraphSite(synthetic_web(1_500, rng=5))
    measured: Tables = {"crawl": {"stop_when": "measured", "budget": 200}}
    with FakeWeb(site) as web:
        crawled(web, hub(site), folder, until=0.9, settings=measured)
    honest = verify(folder)
    says_measured(folder, "measured")
    with FakeWeb(Skipping(site, StoredCrawl(folder).fetched_urls(), response)) as web:
        retry = {"max_attempts": 1, "give_up_after": 100_000, "back_off_s": 0.01, "max_back_off_s": 0.05}
        more: Tables = {
            "crawl": {"stop_when": "measured" + ",reachable" * of_reachable, "budget": 1_500},
            "retry": retry,
        }
        crawled(web, hub(site), folder, until=0.9, settings=more)
    found = verify(folder)
    assert found.problems == ()
    assert found.checked.lower <= honest.checked.lower + 1e-7
    says_measured(folder, "measured, according to the folder")


def test_what_a_refresh_measures_is_from_its_own_seeds(tmp_path: Path) -> None:
    folder, site = tmp_path / "c", GraphSite(synthetic_web(1_000, rng=5))
    measured: Tables = {"crawl": {"stop_when": "measured"}, "refresh": {"revisit_chance": 0.0}}
    with FakeWeb(site) as web:
        crawled(web, hub(site), folder, until=0.8, settings=measured)
        says_measured(folder, "measured")
        refresh(folder, now=time.time() + 10 * DAY_S, until=0.8)
    says_measured(folder, "measured from the seeds of the last refresh, according to the folder")
