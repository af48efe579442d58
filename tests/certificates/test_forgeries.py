"""A folder that was changed, except for its archive: it is rejected, or the headline says what is behind it.

The site is a home page with 30 links, of which eight were followed; each page links to five more. Whatever the
database and the settings say then, the archive shows how little that is.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from orienteer.certificates import gathering
from orienteer.certificates.certificate_text import headline
from orienteer.certificates.checking import check_certificate
from orienteer.certificates.facts import Facts
from orienteer.certificates.gathering import facts_of_folder
from orienteer.certificates.page import certificate_page
from orienteer.errors import CrawlFolderError
from orienteer.inspect.verify import verify
from tests.cli.run import orienteer
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.laws.mutations import Mutations
from tests.live.apps import SmallSite, application, needs_browser
from tests.live.live_crawls import Tables, crawled

A = "http://a.test"
N_LINKS, N_FETCHED = 30, 8
LINKS = "".join(f"<a href=/p{k}>{k}</a>" for k in range(N_LINKS))


class Crawl(NamedTuple):
    folder: Path
    certificate: Path
    facts: Facts


def site() -> MadeSite:
    pages = {
        f"{A}/p{k}": f"<title>{k}</title>" + "".join(f"<a href=/p{k}/{n}>{n}</a>" for n in range(5)) for k in range(30)
    }
    pages |= {f"{A}/p{k}/{n}": f"<title>{k}/{n}</title><a href=/>home</a>" for k in range(30) for n in range(5)}
    return MadeSite({f"{A}/": f"<title>home</title>{LINKS}", **pages})


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    folder = tmp_path_factory.mktemp("changed") / "c"
    with FakeWeb(site()) as web:
        crawled(web, f"{A}/", folder, budget=1 + N_FETCHED, scope="host")
    facts = facts_of_folder(folder)
    assert facts.checked.unchecked == {}
    assert facts.checked.lower == facts.proved.lower < 0.4
    certificate = folder.with_name("c.html")
    certificate.write_text(certificate_page(facts), encoding="utf-8")
    return Crawl(folder, certificate, facts)


@pytest.fixture
def folder(small: Crawl, tmp_path: Path) -> Path:
    """A copy, to be changed; nothing but its pages says what was reached."""
    shutil.copytree(small.folder, tmp_path / "c")
    (tmp_path / "c" / "report.json").unlink()
    change(tmp_path / "c", "DELETE FROM meta WHERE key = 'figures'")
    return tmp_path / "c"


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        for statement in statements:
            assert database.execute(statement).rowcount > 0, statement


def ids(*pages: int) -> bytes:
    return np.array(pages, "<u4").tobytes()


def to_outside(folder: Path) -> None:
    """(1) Links to pages that were not fetched are said to lead out of the scope."""
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        done = {page for (page,) in database.execute("SELECT id FROM page")}
        for page, links in database.execute("SELECT id, links FROM page").fetchall():
            found = np.frombuffer(links, "<u4")
            inside, outside = ids(*(k for k in found if k in done)), ids(*(k for k in found if k not in done))
            database.execute("UPDATE page SET links = ?, outside = ? WHERE id = ?", (inside, outside, page))


def to_names(folder: Path) -> None:
    """(2) All pages are said to be other names of the home page."""
    change(folder, "UPDATE page SET redirect_to = 0, links = x'00000000' WHERE id > 0")


def to_skipped(folder: Path) -> None:
    """(3) Pages are recorded as skipped files."""
    change(folder, "UPDATE page SET state = 5, outcome = 'unwanted type', links = x''")


def to_skipped_without_records(folder: Path) -> None:
    """(3) The same, and what would contradict it is taken out."""
    to_skipped(folder)
    nothing = ", ".join(f"{name} = NULL" for name in ("archive_file", "archive_offset", "archive_bytes", "digest"))
    change(folder, f"UPDATE page SET {nothing}")


def to_sessions(folder: Path) -> None:
    """(4) The home page has a thousand more links, to pages that are skipped."""
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        ((first, position),) = database.execute("SELECT (SELECT max(id) FROM url) + 1, max(position) + 1 FROM page")
        (links,) = database.execute("SELECT links FROM page WHERE id = 0").fetchone()
        for k in range(1_000):
            database.execute("INSERT INTO url VALUES (?, ?)", (first + k, f"{A}/p?phpsessid={k}"))
            database.execute(
                "INSERT INTO page SELECT ?, ?, 5, 'unwanted type', 200, time, NULL, NULL, NULL, NULL, 0, 'image/png', "
                "'', '', 0, 1, NULL, NULL, NULL, '', '', NULL, x'', x'' FROM page WHERE id = 0",
                (position + k, first + k),
            )
        more = links + ids(*range(first, first + 1_000))
        database.execute("UPDATE page SET links = ? WHERE id = 0", (more,))


FORGERIES: dict[str, tuple[Callable[[Path], None], str]] = {
    "links moved out of the scope": (to_outside, "some of its links are inside the scope, but outside in the database"),
    "other names": (to_names, "it is not another name of http://a.test/: their archived contents differ"),
    "skipped pages": (to_skipped, "unwanted type in the database, ok in the archive; it counts as skipped"),
    "skipped pages without records": (to_skipped_without_records, "the archive has a newer response than the database"),
    "invented sessions": (to_sessions, "the database has a link to http://a.test/p?phpsessid=0, which is not on"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_rejected(
    name: str, small: Crawl, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge, line = FORGERIES[name]
    forge(folder)
    found = verify(folder)
    assert any(line in problem for problem in found.problems), found.problems
    with pytest.raises(CrawlFolderError, match="no certificate is made"):
        facts_of_folder(folder)
    assert not check_certificate(small.certificate, folder).holds
    # The forger has a program that makes one all the same.
    monkeypatch.setattr(gathering, "verify", partial(verify, quick=True))
    facts = facts_of_folder(folder)
    assert facts.proved.lower > small.facts.proved.lower + 0.005, "the change had an effect"
    (tmp_path / "changed.html").write_text(certificate_page(facts), encoding="utf-8")
    checked = check_certificate(tmp_path / "changed.html", folder)
    assert any(line in problem for problem in checked.problems), checked.problems


def deny(folder: Path, pattern: str) -> None:
    settings = folder / "crawl.toml"
    settings.write_text(settings.read_text().replace("deny = []", f"deny = [{json.dumps(pattern)}]"))


def test_a_smaller_scope_is_in_the_headline(small: Crawl, folder: Path, tmp_path: Path) -> None:
    """(5) As (1), with a pattern in crawl.toml that excludes what was not fetched."""
    to_outside(folder)
    names = "|".join(str(k) for k in range(N_FETCHED, N_LINKS))
    deny(folder, f"/p({names})$|/p[0-9]+/")
    other = check_certificate(small.certificate, folder)
    assert any("this is a certificate of another crawl: crawl.deny is " in line for line in other.problems)
    facts = facts_of_folder(folder)
    assert facts.digest != small.facts.digest
    assert f"The scope has no URLs with /p({names})"[:60] in headline(facts)
    assert "the scope has no URLs with /p(" in str(verify(folder))
    assert "no URLs with /p(" in certificate_page(facts)
    output = json.loads(orienteer("verify", folder, "--json").stdout)
    assert "the scope has no URLs with /p(" in output["text"]


@pytest.mark.parametrize(
    ("setting", "other", "clause"),
    [
        ("damping = 0.85", "damping = 0.05", "the surfer starts again after each page with a chance of 95 %"),
        ('kind = "host"', 'kind = "prefix"', "the scope has only URLs in the folders of the seeds"),
    ],
)
def test_settings_that_make_a_coverage_higher_are_in_the_headline(
    setting: str, other: str, clause: str, small: Crawl, folder: Path
) -> None:
    text = (folder / "crawl.toml").read_text()
    assert setting in text
    (folder / "crawl.toml").write_text(text.replace(setting, other))
    assert not check_certificate(small.certificate, folder).holds
    assert clause in str(verify(folder))
    assert f"{clause[0].upper()}{clause[1:]}." in headline(facts_of_folder(folder))


def test_a_seed_that_is_trusted_more_is_in_the_headline(tmp_path: Path) -> None:
    """All the trust is on a page without links; next to nothing follows from the other seed."""
    with FakeWeb(site()) as web:
        crawled(web, [f"{A}/p0/0", f"{A}/"], tmp_path / "c", budget=2, scope="host")
    assert "with a chance of" not in str(verify(tmp_path / "c"))
    settings = tmp_path / "c" / "crawl.toml"
    settings.write_text(settings.read_text().replace("trust = []", "trust = [999.0, 1.0]"))
    clause = "the surfer starts at http://a.test/p0/0 with a chance of 99.9 %"
    assert clause in str(verify(tmp_path / "c"))
    (tmp_path / "c" / "report.json").unlink()
    change(tmp_path / "c", "DELETE FROM meta WHERE key = 'figures'")
    assert f"{clause[0].upper()}{clause[1:]}." in headline(facts_of_folder(tmp_path / "c"))


def exchange(folder: Path, one: int, two: int) -> None:
    """Exchange the numbers of two pages."""
    other = {one: two, two: one}
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        urls = dict(database.execute("SELECT id, url FROM url"))
        for page in (one, two):
            database.execute("UPDATE url SET url = ? WHERE id = ?", (urls[page], other[page]))
        for position, page, links in database.execute("SELECT position, id, links FROM page").fetchall():
            blob = ids(*(other.get(link, link) for link in np.frombuffer(links, "<u4").tolist()))
            new = (-1 - other[page] if page in other else page, blob, position)
            database.execute("UPDATE page SET id = ?, links = ? WHERE position = ?", new)
        database.execute("UPDATE page SET id = -1 - id WHERE id < 0")


def test_other_seeds_are_in_the_headline(small: Crawl, folder: Path) -> None:
    """The pages are the same; another one is said to be the seed."""
    assert "the surfer starts at" not in str(verify(small.folder))
    exchange(folder, 0, 1)
    settings = folder / "crawl.toml"
    settings.write_text(settings.read_text().replace(f'"{A}/"', f'"{A}/p0"'))
    assert not check_certificate(small.certificate, folder).holds
    found = verify(folder)
    assert found.problems == ()
    assert f"; the surfer starts at {A}/p0" in str(found)
    assert f"The surfer starts at {A}/p0." in headline(facts_of_folder(folder))


def test_the_first_seeds_are_named(small: Crawl) -> None:
    seeds = tuple(f"{A}/p{k}" for k in range(7))
    some = replace(small.facts, crawl=replace(small.facts.crawl, seeds=seeds, trust=(1 / 7,) * 7, n_seeds=7))
    assert f"The surfer starts at {A}/p0, {A}/p1, {A}/p2 and 4 more pages." in headline(some)


def test_a_scope_without_pages_that_were_fetched(folder: Path) -> None:
    deny(folder, "/p1$")
    assert any("it was fetched, although it is outside the scope" in line for line in verify(folder).problems)


def test_pages_in_files_that_are_not_read_are_in_the_headline(small: Crawl, folder: Path, tmp_path: Path) -> None:
    """All pages that were not fetched are said to be in a file in object storage, which is not there."""
    place = ["s3://bucket/archive", None, None]
    note = {"places": [place], "files": {"1": [0, 10**9, "0" * 64]}, "sealed": [0], "trouble": "", "signature": ""}
    (folder / "archive" / "stored.json").write_text(json.dumps(note))
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        database.execute("UPDATE meta SET value = '[1, 1000000000]' WHERE key = 'archive_end'")
        (position,) = database.execute("SELECT max(position) + 1 FROM page").fetchone()
        rest = database.execute("SELECT id FROM url WHERE id NOT IN (SELECT id FROM page)").fetchall()
        for k, (page,) in enumerate(rest):
            database.execute(
                "INSERT INTO page SELECT ?, ?, state, outcome, status, time, 1, ?, 1000, randomblob(20), size_bytes, "
                "content_type, language, title, noindex, depth, NULL, NULL, NULL, etag, last_modified, NULL, ?, x'' "
                "FROM page WHERE id = 1",
                (position + k, page, 1_000 * k, ids(0)),
            )
    found = verify(folder)
    assert found.certificate.lower > 0.99
    assert found.checked.unchecked == {"in object storage, not read": len(rest)}
    assert found.checked.lower <= small.facts.proved.lower
    assert "proved from the archive: at least " in str(found)
    facts = facts_of_folder(folder)
    assert headline(facts).startswith("Proved from the archive: at least ")
    # The forger's certificate says that it was read, and has no digest of it.
    files = tuple(replace(file, known_by="read") for file in facts.archive)
    changed = replace(facts, archive=files, checked=replace(facts.checked, lower=facts.proved.lower, unchecked={}))
    (tmp_path / "changed.html").write_text(certificate_page(changed), encoding="utf-8")
    checked = check_certificate(tmp_path / "changed.html", folder)
    assert not checked.holds
    assert checked.headline == headline(facts)


def test_a_page_of_other_settings_has_another_digest(small: Crawl) -> None:
    for changed in (replace(small.facts.crawl, deny=("x",)), replace(small.facts.crawl, hooks=("prices",))):
        assert replace(small.facts, crawl=changed).digest != small.facts.digest


def test_the_headline_says_what_cannot_be_checked(tmp_path: Path) -> None:
    """Pictures, and pages that ask not to be archived, are counted by the folder alone."""
    picture = FakeResponse(b"\x89PNG", content_type="image/png")
    noarchive = "<meta name=robots content=noarchive><title>n</title><a href=/>home</a>"
    pages = {f"{A}/{k}.png": picture for k in range(3)} | {f"{A}/{k}": noarchive for k in range(3)}
    home = "<title>home</title>" + "".join(f"<a href={url}>x</a>" for url in pages)
    with FakeWeb(MadeSite({f"{A}/": home, **pages})) as web:
        crawled(web, f"{A}/", tmp_path / "c", scope="host")
    facts = facts_of_folder(tmp_path / "c")
    assert facts.checked.unchecked == {"fetched": 3, "skipped": 3}
    assert facts.proved.lower == pytest.approx(1)
    assert facts.checked.lower == pytest.approx(0.15), "the home page alone"
    assert facts.checked.upper == pytest.approx(1)
    assert headline(facts).startswith("Proved from the archive: at least ")
    assert "According to the folder, which counts 6 pages that the archive does not confirm: at least " in headline(
        facts
    )
    assert "proved from the archive: at least " in str(verify(tmp_path / "c"))
    (tmp_path / "c.html").write_text(certificate_page(facts), encoding="utf-8")
    found = check_certificate(tmp_path / "c.html", tmp_path / "c")
    assert found.problems == ()
    assert found.as_dict()["headline"] == headline(facts)
    better = replace(facts, checked=replace(facts.checked, lower=0.9))
    (tmp_path / "c.html").write_text(certificate_page(better), encoding="utf-8")
    (line,) = check_certificate(tmp_path / "c.html", tmp_path / "c").problems
    assert line.startswith("what the archive proves at least is 90 % in the certificate, ")


ENDINGS = {
    "coverage": (0.99, "goal reached: a coverage of 99 % is proved"),
    "reachable": (0.99, "goal not reached: a coverage of 99 % of what is reachable is proved, "),
    "measured coverage": (0.9, "goal reached: a coverage of 90 % is measured"),
    "frontier empty": (None, "everything reachable is fetched; "),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_result_in_the_report_that_does_not_follow(
    ending: str, small: Crawl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report has the true figures, and another result; certificates repeat it."""
    folder, (until, result) = tmp_path / "c", ENDINGS[ending]
    shutil.copytree(small.folder, folder)
    report = json.loads((folder / "report.json").read_text())
    report["stopped_because"], report["figures"]["until"] = ending, until
    (folder / "report.json").write_text(json.dumps(report))
    (line,) = verify(folder).problems
    assert line.startswith(f"the report says '{result}")
    monkeypatch.setattr(gathering, "verify", lambda *_, **__: replace(verify(folder), problems=()))
    (tmp_path / "c.html").write_text(certificate_page(facts_of_folder(folder)), encoding="utf-8")
    assert result in (tmp_path / "c.html").read_text()
    assert line in check_certificate(tmp_path / "c.html", folder).problems


# Pages that a browser has rendered


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pages whose links are made by scripts; those links are not followed to their end."""
    needs_browser()
    script = "document.body.innerHTML = [1, 2, 3, 4, 5].map(k => `<a href=/{}${k}>${k}</a> some words`).join(' ')"
    files = {"/": application(script.replace("{}", "a")), "/a1": application(script.replace("{}", "b"))}
    folder = tmp_path_factory.mktemp("rendered") / "c"
    with FakeWeb(SmallSite(files)) as web:
        settings: Tables = {"render": {"mode": "always"}, "crawl": {"workers": 1}}
        crawled(web, f"{A}/", folder, budget=2, scope="host", settings=settings)
    found = verify(folder)
    assert found.problems == ()
    assert 0.15 < found.checked.lower < 0.5
    (folder / "report.json").unlink()
    change(folder, "DELETE FROM meta WHERE key = 'figures'")
    return folder


LEFT_OUT = "the archive has a rendered document that the database omits"
OF_THE_OTHER = "(SELECT other.dom_offset, other.dom_bytes FROM rendered other WHERE other.page != rendered.page)"
RENDERINGS = {
    "DELETE FROM rendered WHERE page = 0": LEFT_OUT,
    "UPDATE rendered SET dom_file = NULL, dom_offset = NULL, dom_bytes = NULL": LEFT_OUT,
    f"UPDATE rendered SET (dom_offset, dom_bytes) = {OF_THE_OTHER}": "the document of ",
    "UPDATE page SET links = x'', outside = x'' WHERE id = 0": "the archived page has a link to http://a.test/a1",
}


@pytest.mark.slow
@pytest.mark.parametrize("statement", RENDERINGS)
def test_a_rendered_page_is_compared_with_its_document(statement: str, rendered: Path, tmp_path: Path) -> None:
    shutil.copytree(rendered, tmp_path / "c")
    change(tmp_path / "c", statement)
    assert any(RENDERINGS[statement] in line for line in verify(tmp_path / "c").problems)


@pytest.mark.slow
def test_a_later_row_does_not_hide_a_record(rendered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate is about the rows up to its moment; one after it claims the document of a page before it."""
    shutil.copytree(rendered, tmp_path / "c")
    with closing(sqlite3.connect(tmp_path / "c" / "crawl.db")) as database:
        (document,) = database.execute("SELECT dom_file, dom_offset, dom_bytes FROM rendered WHERE page = 0")
        (page, position) = database.execute("SELECT max(url.id), max(position) + 1 FROM url, page").fetchone()
    change(tmp_path / "c", "DELETE FROM rendered WHERE page = 0")
    monkeypatch.setattr(gathering, "verify", partial(verify, quick=True))
    (tmp_path / "c.html").write_text(certificate_page(facts_of_folder(tmp_path / "c")), encoding="utf-8")
    rest = "size_bytes, content_type, language, title, noindex, depth, NULL, NULL, NULL, etag, last_modified, NULL"
    with closing(sqlite3.connect(tmp_path / "c" / "crawl.db", isolation_level=None)) as database:
        values = f"?, ?, state, outcome, status, time, ?, ?, ?, digest, {rest}, x'', x''"
        database.execute(f"INSERT INTO page SELECT {values} FROM page WHERE id = 0", (position, page, *document))
    found = check_certificate(tmp_path / "c.html", tmp_path / "c")
    assert any(LEFT_OUT in line for line in found.problems), found.problems


@pytest.mark.slow
def test_changes_of_rendered_pages_are_rejected_or_harmless(
    rendered: Path, tmp_path: Path, fresh_rng: random.Random
) -> None:
    true = verify(rendered).checked.lower
    for k in range(40):
        copy = tmp_path / str(k)
        shutil.copytree(rendered, copy)
        done = Mutations(fresh_rng, tables=("page", "rendered", "part", "unknown", "url")).change_tables(copy)
        try:
            found = verify(copy)
        except CrawlFolderError:
            continue
        assert found.problems or found.checked.lower <= true + 1e-7, done
