"""A certificate holds for its folder, and for no other; whatever was changed is one line."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from orienteer.certificates.certificate_text import headline
from orienteer.certificates.checking import CertificateCheck, check_certificate
from orienteer.certificates.facts import Facts
from orienteer.certificates.gathering import facts_of_folder
from orienteer.certificates.page import certificate_page
from orienteer.errors import CrawlFolderError, InputError
from orienteer.live.control import upload
from orienteer.store.folder import CrawlFolder
from orienteer.wording import SAME_RESPONSES
from tests.certificates.conftest import Certified
from tests.cli.run import orienteer, refused
from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled
from tests.live.refreshes import Refreshed
from tests.store.object_stores import needs_store
from tests.store.stored_crawls import N_PAGES, small_site, stored_crawl


def only(found: CertificateCheck) -> str:
    assert len(found.problems) == 1, found.problems
    return found.problems[0]


def test_it_holds_for_the_folder_it_was_made_of(certified: Certified) -> None:
    found = check_certificate(certified.certificate, certified.then)
    assert (found.problems, found.notes) == ((), ())
    assert found.n_pages_read >= 100
    assert len(certified.facts.archive) > 1
    assert certified.facts.measured is not None
    assert str(found).startswith(f"the certificate holds ({len(certified.facts.archive)} archive files, ")


def test_it_still_holds_when_the_crawl_has_gone_on(certified: Certified) -> None:
    found = check_certificate(certified.certificate, certified.later)
    assert found.problems == ()
    assert found.notes[0].startswith("the crawl has continued since, from ")
    assert check_certificate(certified.certificate, certified.later, quick=True).n_pages_read == 0


def test_a_folder_that_is_older_than_its_certificate(certified: Certified, tmp_path: Path) -> None:
    (tmp_path / "later.html").write_text(certificate_page(facts_of_folder(certified.later)))
    assert only(check_certificate(tmp_path / "later.html", certified.then)).startswith("the folder is older than")


def lower(facts: Facts) -> Facts:
    return replace(facts, proved=replace(facts.proved, lower=facts.proved.lower + 0.01))


def walks(facts: Facts) -> Facts:
    assert facts.measured is not None
    return replace(facts, measured=replace(facts.measured, n_walks=facts.measured.n_walks + 1))


def smaller(facts: Facts) -> Facts:
    return replace(facts, archive=(replace(facts.archive[0], size_bytes=99), *facts.archive[1:]))


def part(name: str, **values: object) -> Callable[[Facts], Facts]:
    """A change of one part of the facts."""
    return lambda facts: replace(facts, **{name: replace(getattr(facts, name), **values)})


CHANGES: dict[str, tuple[Callable[[Facts], Facts], str]] = {
    "lower": (lower, "what is proved at least is "),
    "walks": (walks, "the number of walks is "),
    "no walks": (lambda facts: replace(facts, measured=None), "measured is missing in the certificate"),
    "blocked": (part("pages", n_blocked=7), "the number of pages blocked is 7"),
    "hosts": (part("pages", n_hosts=10_000), "pages.n_hosts is 10,000"),
    "time": (part("moment", last_time=1.0), "the last response is 1970-01-01"),
    "robots": (part("run", robots=True), "run.robots is True in the certificate"),
    "file": (lambda facts: replace(facts, archive=facts.archive[:-1]), "the certificate counts pages in it"),
    "size": (smaller, "orienteer-00000.warc.gz: "),
    "seeds": (part("crawl", damping=0.5), "a certificate of another crawl"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_figure_that_was_changed_with_its_digest(name: str, certified: Certified, tmp_path: Path) -> None:
    change, line = CHANGES[name]
    (tmp_path / "c.html").write_text(certificate_page(change(certified.facts)))
    found = check_certificate(tmp_path / "c.html", certified.then, quick=True)
    assert any(line in problem for problem in found.problems), found.problems


def test_a_figure_that_was_changed_in_the_data_alone(certified: Certified, tmp_path: Path) -> None:
    text = certified.certificate.read_text()
    (tmp_path / "c.html").write_text(text.replace('"n_failed": ', '"n_failed": 1'))
    found = check_certificate(tmp_path / "c.html", certified.then, quick=True)
    assert found.problems[0] == "the certificate was changed: its digest is not that of its facts"
    assert found.problems[1].startswith("the page was changed: it shows ")


def test_a_page_that_shows_something_else(certified: Certified, tmp_path: Path) -> None:
    text = certified.certificate.read_text()
    (tmp_path / "c.html").write_text(text.replace("Proved: at least ", "Proved: at least 1", 1))
    line = only(check_certificate(tmp_path / "c.html", certified.then, quick=True))
    assert line.startswith("the page was changed: it shows 'Proved: at least 1")
    (tmp_path / "c.html").write_text(text.replace("</article>", "<style>.made { display: none }</style></article>", 1))
    line = only(check_certificate(tmp_path / "c.html", certified.then, quick=True))
    assert line == "the page was changed in its markup or style; its text is what its data say"
    (tmp_path / "c.html").write_text(text.replace("\n", "\r\n"))
    assert check_certificate(tmp_path / "c.html", certified.then, quick=True).holds


def test_a_layout_of_another_version(certified: Certified, tmp_path: Path) -> None:
    (tmp_path / "c.html").write_text(certificate_page(replace(certified.facts, layout=99)))
    assert only(check_certificate(tmp_path / "c.html", certified.then, quick=True)).startswith("the page has layout 99")


def test_an_archive_that_was_changed(certified: Certified, folder: Path) -> None:
    first = folder / "archive" / "orienteer-00000.warc.gz"
    data = bytearray(first.read_bytes())
    data[100] ^= 1
    first.write_bytes(data)
    found = check_certificate(certified.certificate, folder, quick=True)
    assert f"{first}: it was changed: the SHA-256 of its first {len(data):,} bytes differs" == only(found)
    first.write_bytes(data[:-1])
    assert f"it is shorter than {len(data):,} bytes" in only(
        check_certificate(certified.certificate, folder, quick=True)
    )
    first.unlink()
    assert f"{first}: the file is missing" == only(check_certificate(certified.certificate, folder, quick=True))
    with pytest.raises(CrawlFolderError, match="the file is missing"):
        facts_of_folder(folder)


def test_a_database_that_says_otherwise_than_the_archive(certified: Certified, folder: Path) -> None:
    last = "(SELECT max(position) FROM page WHERE length(links) > 8)"
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        database.execute(f"UPDATE page SET links = substr(links, 1, length(links) - 4) WHERE position = {last}")
    database.close()
    found = check_certificate(certified.certificate, folder)
    assert any("the archived page has a link to " in line for line in found.problems), found.problems
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        database.execute(f"UPDATE page SET outcome = 'http 404', state = 3 WHERE position = {last}")
    database.close()
    found = check_certificate(certified.certificate, folder)
    assert any("http 404 in the database, ok in the archive" in line for line in found.problems), found.problems


def test_a_certificate_of_another_crawl(certified: Certified, tmp_path: Path) -> None:
    with FakeWeb(MadeSite({"http://b.test/": "<title>b</title>"})) as web:
        crawled(web, "http://b.test/", tmp_path / "b")
    line = only(check_certificate(certified.certificate, tmp_path / "b"))
    assert line.startswith("this is a certificate of another crawl: crawl.seeds is ")


def test_a_refresh_replaces_what_was_certified(tmp_path: Path) -> None:
    pages = {f"http://a.test/{n}": f"<title>{n}</title><a href=/{n + 1}>on</a>" for n in range(5)}
    site = ChangingSite(MadeSite(pages))
    with FakeWeb(site) as web:
        crawl = Refreshed(site, web, tmp_path / "c", seeds="http://a.test/0")
        (tmp_path / "first.html").write_text(certificate_page(facts_of_folder(tmp_path / "c")))
        crawl.refresh()
    line = only(check_certificate(tmp_path / "first.html", tmp_path / "c"))
    assert line.startswith("the crawl was refreshed since the certificate was made")
    facts = facts_of_folder(tmp_path / "c")
    assert (facts.moment.epoch, facts.proved.lower) == (1, pytest.approx(1.0))
    (tmp_path / "second.html").write_text(certificate_page(facts))
    assert check_certificate(tmp_path / "second.html", tmp_path / "c").problems == ()


def test_no_certificate_of_a_crawl_that_runs_or_lies(folder: Path) -> None:
    with CrawlFolder.open(folder), pytest.raises(CrawlFolderError, match="the crawl is running"):
        facts_of_folder(folder)
    report = json.loads((folder / "report.json").read_text())
    report["figures"]["certificate"]["lower"] += 0.01
    (folder / "report.json").write_text(json.dumps(report))
    with pytest.raises(CrawlFolderError, match="no certificate is made, since the claims of the folder do not hold"):
        facts_of_folder(folder)


def test_the_confidence_is_not_said_without_what_it_assumes(certified: Certified) -> None:
    assert certified.facts.measured is not None
    measured = replace(certified.facts.measured, is_reached=True)
    said = headline(replace(certified.facts, measured=measured))
    assert f"confidence, assuming that {SAME_RESPONSES}." in said


@needs_store
def test_an_archive_in_object_storage(tmp_path: Path) -> None:
    with FakeWeb(small_site()) as web:
        stored_crawl(web, tmp_path / "c", None)
    (tmp_path / "here.html").write_text(certificate_page(facts_of_folder(tmp_path / "c")))
    upload(tmp_path / "c", archive_to=f"file://{tmp_path}/drive", drop_local=True)
    facts = facts_of_folder(tmp_path / "c")
    assert {file.known_by for file in facts.archive} == {"noted at the upload"}
    (tmp_path / "c.html").write_text(certificate_page(facts))
    assert "(noted at the upload)" in (tmp_path / "c.html").read_text()
    found = check_certificate(tmp_path / "here.html", tmp_path / "c")
    assert found.problems == ()
    assert found.n_pages_read == 0
    assert "--read-remote" in found.notes[-1]
    assert found.headline.startswith("Proved from the archive: at least 0.00 % is covered.")
    assert f"which counts {N_PAGES} pages that the archive does not confirm: at least 100.00 %" in found.headline
    assert headline(facts) == found.headline
    again = check_certificate(tmp_path / "here.html", tmp_path / "c", read_stored=True)
    assert (again.problems, again.notes) == ((), ())
    assert again.n_pages_read == N_PAGES
    assert again.headline == "Proved: at least 100.00 % is covered."
    of_less = check_certificate(tmp_path / "c.html", tmp_path / "c", read_stored=True)
    assert of_less.problems == (), "its maker had read nothing"
    assert of_less.headline == again.headline
    assert check_certificate(tmp_path / "c.html", tmp_path / "c").problems == ()
    first = tmp_path / "drive" / "orienteer-00000.warc.gz"
    first.write_bytes(first.read_bytes()[:-1] + b"x")
    changed = check_certificate(tmp_path / "here.html", tmp_path / "c", read_stored=True, quick=True)
    assert "it was changed" in only(changed)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<p>hello</p>", "this is no certificate of Orienteer"),
        ('{"facts": {"format": "orienteer-certificate", "version": 7}}', "a certificate of version 7"),
        ('{"facts": {"format": "orienteer-certificate", "version": 2}}', "the certificate is damaged at crawl"),
        ("[" * 100_000, "this is no certificate of Orienteer"),
    ],
)
def test_what_is_no_certificate(text: str, line: str, certified: Certified, tmp_path: Path) -> None:
    (tmp_path / "c.html").write_text(text)
    with pytest.raises(InputError, match=line):
        check_certificate(tmp_path / "c.html", certified.then)


def test_the_commands(certified: Certified, folder: Path, tmp_path: Path) -> None:
    done = orienteer("certificate", folder, "-o", tmp_path / "c.html")
    assert done.stdout.startswith(f"{tmp_path / 'c.html'}: Proved: at least ")
    assert orienteer("verify", tmp_path / "c.html", folder).stdout.startswith("The certificate holds (")
    orienteer("certificate", folder, "-o", tmp_path / "c.json")
    output = json.loads(orienteer("verify", tmp_path / "c.json", folder, "--json").stdout)
    assert output["holds"] is True
    shutil.rmtree(folder / "archive")
    wrong = orienteer("verify", tmp_path / "c.html", folder, "--quick", code=3)
    assert wrong.stdout.count("the file is missing.\n") == len(certified.facts.archive)
    assert "there is no such certificate" in refused("verify", tmp_path / "none.html", folder)
    assert "add the crawl folder" in refused("verify", tmp_path / "c.html")
