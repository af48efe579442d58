"""What a folder claims is recomputed; whatever was changed in it, and matters to a claim, is found."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError
from orienteer.graph.synthetic import synthetic_web
from orienteer.inspect.verify import verify
from orienteer.pages.stop_reason import StopReason
from tests.cli.run import orienteer
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import Tables, crawled, hub

pytestmark = pytest.mark.long

UNTIL = 0.8  # walks measure it long before it is proved: many links between hosts
MEASURED: Tables = {"crawl": {"stop_when": "measured"}}


@pytest.fixture(scope="module")
def site() -> GraphSite:
    return GraphSite(synthetic_web(2500, inter_host=0.3, rng=5), page_bytes=500)


@pytest.fixture(scope="module")
def measured(site: GraphSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that stopped by measured coverage."""
    folder = tmp_path_factory.mktemp("verify") / "c"
    with FakeWeb(site) as web:
        report = crawled(web, hub(site), folder, until=UNTIL, settings=MEASURED)
    assert report.stopped_because == StopReason.MEASURED
    return folder


@pytest.fixture(scope="module")
def begun(site: GraphSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was stopped while walks were in flight."""
    folder = tmp_path_factory.mktemp("begun") / "c"
    with FakeWeb(site) as web:
        report = crawled(web, hub(site), folder, until=UNTIL, budget=400, settings=MEASURED)
    assert report.stopped_because == StopReason.BUDGET
    assert report.figures.measured is not None
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    shutil.copytree(measured, tmp_path / "c")
    return tmp_path / "c"


def changed(folder: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        for statement in statements:
            assert database.execute(statement).rowcount > 0, statement
    database.close()
    return folder


def times_of(folder: Path) -> dict[Path, int]:
    """When each file was written, without what SQLite has for those who read."""
    files = (path for path in folder.rglob("*") if path.suffix not in (".db-shm", ".db-wal"))
    return {path: path.stat().st_mtime_ns for path in files if path.is_file()}


def test_a_folder_that_says_what_is_so(measured: Path) -> None:
    found = verify(measured)
    assert found.problems == ()
    assert found.is_claimed
    assert found.survey is not None
    assert found.survey.is_reached
    said = json.loads((measured / "report.json").read_text())["figures"]
    assert found.certificate.lower == pytest.approx(said["certificate"]["lower"], abs=1e-9)
    assert found.survey.measured is not None
    assert (found.survey.measured.n_walks, found.survey.measured.n_probes) == (
        said["measured"]["n_walks"], said["measured"]["n_probes"],
    )  # fmt: skip
    assert str(found).startswith("the certificate and the survey agree with the pages of the folder: proved: at least ")
    assert "at least 80 % with 99.9 % confidence" in str(found)


def test_interrupted_and_resumed_it_is_as_good(site: GraphSite, begun: Path, tmp_path: Path) -> None:
    shutil.copytree(begun, tmp_path / "c")
    assert verify(tmp_path / "c").problems == ()
    with FakeWeb(site) as web:
        more: Tables = {
            "crawl": {"stop_when": "measured", "budget": 100_000, "workers": 3},
            "fetch": {"connect_to": web.address},
        }
        last = crawled(web, hub(site), tmp_path / "c", until=UNTIL, settings=more)
        assert last.stopped_because == StopReason.MEASURED
    assert verify(tmp_path / "c").problems == ()


def test_a_crawl_by_proof_has_no_walks(tmp_path: Path) -> None:
    site = GraphSite(synthetic_web(300, rng=5))
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "c", until=UNTIL)
    found = verify(tmp_path / "c")
    assert found.problems == ()
    assert found.survey is None
    assert str(found).startswith("the certificate agrees with the pages of the folder: proved: at least 8")


def test_another_seed(folder: Path) -> None:
    found = verify(changed(folder, "UPDATE survey SET seed = 'decoys-2-0123456789abcdef'"))
    assert "by its seed it begins at http://" in found.problems[0]


def test_the_walks_of_an_earlier_version_are_not_called_wrong(folder: Path) -> None:
    found = verify(changed(folder, "UPDATE survey SET seed = '0123456789abcdef'"))
    assert found.problems[0].startswith("the random walks were drawn by an earlier version")


def test_a_walk_that_began_at_another_page(folder: Path) -> None:
    # What one walk found is the best there is: another begins there, too.
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        (first,) = database.execute("SELECT entries FROM walks WHERE number = 0").fetchone()
        one, two = first[:4], first[4:8]
        database.execute("UPDATE walks SET entries = ? WHERE number = 0", (two + one + first[8:],))
    database.close()
    found = verify(folder)
    assert "walk 1 of the survey began at http://" in found.problems[0]
    assert "walk 2 of the survey began at http://" in found.problems[1]


FIRST_THAT_COUNTS = "(SELECT min(number) FROM walks WHERE stake > 0)"


@pytest.mark.parametrize("column", ["allowed", "free", "stake"])
def test_a_walk_that_is_held_to_something_else(column: str, folder: Path) -> None:
    found = verify(changed(folder, f"UPDATE walks SET {column} = {column} * 1.5 WHERE number = {FIRST_THAT_COUNTS}"))
    assert "thresholds that do not follow from the pages" in " ".join(found.problems)


@pytest.mark.parametrize("number", ["9e999", "-1", "0"])
def test_numbers_that_make_no_sense(number: str, folder: Path) -> None:
    found = verify(changed(folder, f"UPDATE walks SET stake = {number} WHERE number = {FIRST_THAT_COUNTS}"))
    assert "thresholds that do not follow from the pages" in " ".join(found.problems)


def test_decoys_that_are_made_to_count(folder: Path) -> None:
    decoys = "(SELECT min(number) FROM walks WHERE stake = 0)"
    found = verify(changed(folder, f"UPDATE walks SET stake = 0.5 WHERE number = {decoys}"))
    assert "thresholds that do not follow from the pages" in " ".join(found.problems)


@pytest.mark.parametrize("change", ["allowed = 'much'", "stake = 'much'", "free = 0", "free = -1"])
def test_what_no_crawl_writes_is_one_line(change: str, folder: Path) -> None:
    changed(folder, f"UPDATE walks SET {change}")
    with pytest.raises(CrawlFolderError, match="the file is damaged"):
        verify(folder)


@pytest.mark.parametrize("change", ["error = 0.05", "confidence = 0.9999"])
def test_a_survey_that_allows_itself_more_than_it_says(change: str, folder: Path) -> None:
    found = verify(changed(folder, f"UPDATE survey SET {change}"))
    assert found.problems[0].startswith("the survey allows an error of ")


def test_a_second_survey_with_the_whole_error(folder: Path) -> None:
    """All surveys of an epoch share the error that the confidence allows."""
    values = "0, epoch, n_told, seed, until, confidence, error, of_reachable, width"
    changed(
        folder,
        "UPDATE walks SET survey = 1",
        "UPDATE survey SET id = 1",
        f"INSERT INTO survey SELECT {values} FROM survey",
    )
    assert verify(folder).problems[0].startswith("the survey allows an error of ")


@pytest.mark.parametrize("error", ["1", "1.0"])
def test_a_survey_that_allows_itself_everything(error: str, folder: Path) -> None:
    with pytest.raises(CrawlFolderError, match="its survey cannot be read: the error of a survey is 1.0"):
        verify(changed(folder, f"UPDATE survey SET error = {error}"))


@pytest.mark.parametrize("which", ["max", "min"])
def test_walks_that_were_left_out(which: str, folder: Path) -> None:
    found = verify(changed(folder, f"DELETE FROM walks WHERE number = (SELECT {which}(number) FROM walks)"))
    assert not found.holds


def test_a_page_without_its_links(folder: Path) -> None:
    last = "(SELECT max(position) FROM page WHERE length(links) > 8)"
    found = verify(changed(folder, f"UPDATE page SET links = x'' WHERE position = {last}"))
    assert any("certificate claims" in problem for problem in found.problems)


def test_a_certificate_that_says_more(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    report["figures"]["certificate"]["lower"] += 0.01
    (folder / "report.json").write_text(json.dumps(report))
    assert ["certificate claims" in problem for problem in verify(folder).problems] == [True]


def test_a_claim_before_it_is_reached(begun: Path, tmp_path: Path) -> None:
    shutil.copytree(begun, tmp_path / "c")
    path = tmp_path / "c" / "report.json"
    said = json.loads(path.read_text())
    said["figures"]["evidence"] = 1.0
    path.write_text(json.dumps(said))
    assert ["but its walks say 'measured: about " in problem for problem in verify(tmp_path / "c").problems] == [True]


def test_the_command(measured: Path, folder: Path) -> None:
    before = times_of(measured)
    done = orienteer("verify", measured)
    assert done.stdout.startswith("The certificate and the survey agree with the pages of the folder: ")
    assert done.stdout.count("\n") == 1
    assert times_of(measured) == before
    changed(folder, "UPDATE survey SET seed = 'decoys-2-another'")
    wrong = orienteer("verify", folder, code=3)
    assert re.match(r"Walk \d+ of the survey began at ", wrong.stdout)  # the first may begin at the same page
    output = json.loads(orienteer("verify", folder, "--json", code=3).stdout)
    assert output["holds"] is False
    assert output["problems"]


def test_a_url_is_not_capitalized(measured: Path, folder: Path) -> None:
    changed(folder, "UPDATE page SET time = time + 86400 WHERE position = 0")
    assert orienteer("verify", folder, code=3).stdout.startswith("http://")
