"""`orienteer crawl` as a real process, against a fake web in this one."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orienteer.cli.crawl import _expect_url
from orienteer.cli.display import JSON_VERSION
from orienteer.fetch.settings import FetchSettings
from orienteer.graph.link_graph import LinkGraph
from orienteer.ledger.plan import settings_classes
from orienteer.settings import set_tables
from tests.cli.live_process import COMMAND, CONTROLS, ended, options, started, wait_until, without_preparing
from tests.cli.run import Done, orienteer, orienteer_each, refused
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen
from tests.tables import over_rows

pytestmark = pytest.mark.long

SEED = "http://a.test/"
PLACES = {
    SEED: "<title>Home</title><a href=/b>b</a><a href=/c>c</a><a href=/gone>gone</a><a href=/closed>closed</a>",
    "http://a.test/b": "<a href=/c>c</a><a href=/d>d</a>",
    "http://a.test/c": "<a href=/>home</a><a href=http://other.test/>other</a>",
    "http://a.test/d": "the end",
    "http://a.test/closed": FakeResponse("no", status=403),
}
FETCHED = {SEED, "http://a.test/b", "http://a.test/c", "http://a.test/d", "http://a.test/gone"}


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(MadeSite(PLACES)) as web:
        yield web


def crawl(web: FakeWeb, folder: Path, *more: object, code: int = 0, seed: str = SEED) -> Done:
    """A crawl to its end, from the place where the folder is to be."""
    with started("crawl", seed, *options(web, "-o", folder.name), *more, cwd=folder.parent) as process:
        done = ended(process)
    assert done.returncode == code, done.stderr
    return done


def facts(text: str) -> dict[str, str]:
    """The lines of a report by their names."""
    return dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in text.splitlines() if "  " in line.strip())


def test_a_forgotten_allow_private_prints_how_to_continue(web: FakeWeb, tmp_path: Path) -> None:
    command = ["crawl", f"http://127.0.0.1:{web.port}/", "--until", 0.5, "-q", "-o", tmp_path / "c"]
    why = f"127.0.0.1:{web.port} is a private address; --allow-private if it is your own"
    assert why in refused(*command)
    assert not (tmp_path / "c").exists()


# -- what comes of it -------------------------------------------------------------------------------------------


def test_a_crawl_from_its_beginning_to_its_report(web: FakeWeb, tmp_path: Path) -> None:
    done = crawl(web, tmp_path / "c")
    printed = facts(done.stdout)
    assert printed["result"].startswith("everything reachable is fetched; at least ")
    assert printed["pages"] == "4 fetched, 1 failed, 1 blocked; 0 left in the frontier"
    assert printed["errors in this run"] == "http 403 (1), http 404 (1)"
    assert printed["folder"] == "c"
    assert "orienteer status c" in done.stdout
    assert not CONTROLS.search(done.stdout + done.stderr)
    folder = tmp_path / "c"
    assert {path.name for path in folder.iterdir()} == {
        "archive", "checkpoints", "course.jsonl", "crawl.allowed", "crawl.db", "crawl.lock", "crawl.toml",
        "frontier.json", "log.jsonl", "report.json",
    }  # fmt: skip
    assert StoredCrawl(folder).fetched_urls() == FETCHED
    assert json.loads((folder / "report.json").read_text())["stopped_because"] == "frontier empty"
    status = orienteer("status", folder)
    assert "not running" in status.stdout
    assert "fetched    4 pages\n" in re.sub(" +\n", "\n", status.stdout)
    explained = orienteer("explain", folder, "http://a.test/closed")
    assert "blocked, not fetched: the server answered 403" in explained.stdout
    assert status.stderr == explained.stderr == ""


def test_the_report_as_json_and_nothing_else(web: FakeWeb, tmp_path: Path) -> None:
    done = crawl(web, tmp_path / "c", "--json", "--until", "0.999", code=3)
    report = json.loads(done.stdout)
    assert report["stopped_because"] == "reachable", "what is closed cannot be proved to be fetched"
    assert report["goal_reached"] is False
    assert report["figures"]["goal_is_impossible"] is True
    assert report["figures"]["certificate"]["of_reachable"] >= 0.999
    assert report["figures"]["n_fetched"] == 4
    assert report["figures"]["certificate"]["blocked"] > 0
    assert report == {"version": JSON_VERSION} | json.loads((tmp_path / "c" / "report.json").read_text())
    assert done.stderr.startswith("99.9 % cannot be proved: ")
    assert done.stderr.count("\n") == 1
    assert crawl(web, tmp_path / "c", "--json", "--quiet", code=3).stderr == ""


def test_a_coverage_that_cannot_be_reached_is_not_reached(web: FakeWeb, tmp_path: Path) -> None:
    """Reported once, with both figures at the end; what is reachable is a separate goal, also for a finished crawl."""
    done = crawl(web, tmp_path / "c", "--until", "0.999", code=3)
    printed = " ".join(done.stdout.split())
    assert "goal not reached: a coverage of 99.9 % of what is reachable is proved, but 99.9 % of everything" in printed
    assert "unreachable: on blocked pages, or behind them" in printed
    assert "at least 99.99 % of what is reachable is covered" in printed
    assert done.stderr.count("99.9 % cannot be proved: up to ") == 1
    assert "of a surfer's time is on blocked pages (http 403), or behind them" in done.stderr
    status = " ".join(orienteer("status", tmp_path / "c").stdout.split())
    assert "unreachable 99.9 % cannot be proved: up to " in status
    assert "at least 99.99 % of what is reachable is covered" in status
    reached = crawl(web, tmp_path / "c", "--stop-when", "measured,reachable")
    assert facts(reached.stdout)["result"] == "goal reached: a coverage of 99.9 % of what is reachable is proved"
    assert "cannot be proved" not in reached.stderr
    assert "goal a coverage of 99.9 % of what is reachable" in " ".join(
        orienteer("status", tmp_path / "c").stdout.split()
    )
    assert "cannot be proved" in crawl(web, tmp_path / "c", "--stop-when", "measured", code=3).stdout
    assert "cannot be proved" not in crawl(web, tmp_path / "q", "--until", "0.999", "--quiet", code=3).stderr


# -- seeds that lead nowhere ------------------------------------------------------------------------------------

NO_PAGES: dict[str, Any] = {
    "http://a.test/file.ps": FakeResponse(b"%!PS", content_type="application/postscript"),
    "http://a.test/file.pdf": FakeResponse(b"%PDF", content_type="application/pdf"),
    "http://a.test/moved": FakeResponse(b"", status=301, headers=[("Location", "http://a.test/nowhere")]),
    "http://a.test/elsewhere": FakeResponse(b"", status=301, headers=[("Location", "http://b.test/denied")]),
    "http://a.test/closed": FakeResponse("no", status=403),
}


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("closed", "http://a.test/closed: the server answered 403 (forbidden)"),
        ("nowhere", "http://a.test/nowhere: the server answered 404 (not found)"),
        ("file.ps", "http://a.test/file.ps: it is not a page but application/postscript (see fetch.content_types)"),
        ("file.pdf", "http://a.test/file.pdf: it is a document that cannot be read"),
        ("moved", "redirects to http://a.test/nowhere, and there: the server answered 404 (not found)"),
        ("elsewhere", "http://a.test/elsewhere: it redirects to http://b.test/denied, outside the scope"),
    ],
)
def test_a_crawl_that_gets_no_page_says_why_and_leaves_nothing_behind(tmp_path: Path, target: str, why: str) -> None:
    with FakeWeb(MadeSite(NO_PAGES)) as web:
        there = options(web, "-o", tmp_path / "c", "-q", "--deny", "denied")
        line = refused("crawl", f"http://a.test/{target}", *there)
    assert line.endswith(why + "\n")
    assert line.startswith("orienteer: nothing was crawled: ")
    assert not (tmp_path / "c").exists()


def test_a_port_that_is_closed_is_said_and_an_empty_folder_stays(tmp_path: Path) -> None:
    with socket.socket() as closed:  # bound, and not listening
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        line = refused(
            "crawl", f"http://{address}/", "--allow-private", "-o", tmp_path, "--set", "fetch.timeout_s=60", "-q"
        )
    assert line == f"orienteer: nothing was crawled: {address} refused the connection\n"
    assert list(tmp_path.iterdir()) == []


def test_a_name_without_an_address_is_said(tmp_path: Path) -> None:
    line = refused("crawl", "http://wikipdeia.invalid/", "-o", tmp_path / "c", "-q")
    assert "no address found for wikipdeia.invalid: is the name right?" in line
    assert not (tmp_path / "c").exists()


def test_where_some_seeds_work_the_others_are_named(web: FakeWeb, tmp_path: Path) -> None:
    command = ["crawl", SEED, "http://a.test/nowhere", *options(web, "-o", "c")]
    with started(*command, cwd=tmp_path) as process:
        done = ended(process)
    assert done.returncode == 0, done.stderr
    assert facts(done.stdout)["failed seeds"] == "http://a.test/nowhere: the server answered 404 (not found)"
    report = json.loads((tmp_path / "c" / "report.json").read_text())
    assert report["failed_seeds"] == {"http://a.test/nowhere": "the server answered 404 (not found)"}
    assert report["figures"]["eta_s"] == 0


def test_a_word_is_no_url(tmp_path: Path) -> None:
    for word in ("example", "./example", "~/example", "example/"):
        assert f"{word}: no such crawl folder" in refused("crawl", word, "-o", tmp_path / "c")


@over_rows("typed", ["example.org", "localhost:8000/a", "localhost", "127.0.0.1:80", "host:8080", "https://localhost"])
def test_what_is_typed_is_taken_for_a_url(typed: str) -> None:
    assert _expect_url(typed) == typed


def test_without_a_scheme_http_is_tried_after_https(web: FakeWeb, tmp_path: Path) -> None:
    """The attempts are reported; the crawl resumes from the same start page."""
    folder = tmp_path / "c"
    done = crawl(web, folder, "--budget", "2", seed="a.test")
    assert done.stderr.startswith("a.test/: https was tried (")
    assert done.stderr.endswith(f"), http answers: starting at {SEED}\n")
    assert tomllib.loads((folder / "crawl.toml").read_text())["crawl"]["seeds"] == [SEED]
    again = crawl(web, folder, "--budget", "3", seed="a.test")
    assert "https was tried" not in again.stderr, "the folder says which it was"
    assert len(StoredCrawl(folder).order) == 3


def test_what_answers_neither_by_https_nor_by_http_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as closed_port:
        closed_port.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{closed_port.getsockname()[1]}"
        printed = refused("crawl", place, "--allow-private", "-o", tmp_path / "c")
    assert f"{place}/: https, then http was tried ({place} refused the connection)" in printed
    assert not (tmp_path / "c").exists()


# -- goals ------------------------------------------------------------------------------------------------------


def test_a_finished_crawl_goes_on_when_more_is_asked_for(tmp_path: Path) -> None:
    folder, one = tmp_path / "c", ("--workers", 1, "--quiet")
    tree = {f"http://a.test/{k}": f"<a href=/{2 * k}><a href=/{2 * k + 1}>" for k in range(1, 16)}
    with FakeWeb(MadeSite(tree)) as web:
        orienteer("crawl", "http://a.test/1", *options(web, "-o", folder), "--until", 0.3, "--budget", 100, *one)
        n_first = len(StoredCrawl(folder).order)
        orienteer("crawl", folder, "--until", "50%", *one)
        n_second = len(StoredCrawl(folder).order)
        assert plan_of(folder)["until"] == 0.5
        done = orienteer("crawl", folder, "--until", "1", *one)
    assert facts(done.stdout)["result"].startswith("everything reachable is fetched; at least ")
    assert n_first < n_second < len(StoredCrawl(folder).order) == 31
    stored = plan_of(folder)
    assert "until" not in stored, "everything was asked for"
    assert "budget" not in stored


def test_a_budget_can_be_taken_back(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    crawl(web, folder, "--budget", "1")
    orienteer("crawl", folder, "--budget", "none")
    assert StoredCrawl(folder).fetched_urls() == FETCHED
    assert "budget" not in plan_of(folder)


def test_budget_and_resume(web: FakeWeb, tmp_path: Path) -> None:
    """By the same command, by the folder alone, and with settings that may change."""
    folder = tmp_path / "c"
    first = crawl(web, folder, "--budget", "2")
    assert facts(first.stdout)["result"].startswith("stopped at your limit of 2 pages; at least ")
    assert "orienteer crawl c --budget 4" in first.stdout
    n_requests = len(web.requests)
    crawl(web, folder, "--budget", "2")
    assert len(web.requests) == n_requests, "there was nothing left to do"
    crawl(web, folder, "--budget", "3")
    orienteer("crawl", folder, "--budget", "4", "--workers", "1")
    assert tomllib.loads((folder / "crawl.toml").read_text())["crawl"]["workers"] == 1
    assert len(StoredCrawl(folder).order) == 4
    orienteer("crawl", folder, "--budget", "100")  # everything is fetched before the limit
    stored = StoredCrawl(folder)
    assert stored.fetched_urls() == FETCHED
    asked = [(host, target) for _, host, target in web.requests[n_requests - 2 :]]
    assert len(asked) == len(set(asked)) == 6, "no page was asked for twice"
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [line["why"] for line in log if line["event"] == "end"] == ["budget"] * 4 + ["frontier empty"]


def test_without_a_name_the_folder_is_called_after_the_host(tmp_path: Path) -> None:
    with (
        FakeWeb(MadeSite({"http://a.test:8080/b": "a page"})) as other,
        started("crawl", "http://a.test:8080/b", *options(other), "--quiet", cwd=tmp_path) as process,
    ):
        done = ended(process)
    assert done.returncode == 0, done.stderr
    assert facts(done.stdout)["folder"] == "a.test-8080-crawl"
    assert StoredCrawl(tmp_path / "a.test-8080-crawl").outcome("http://a.test:8080/b") == "ok"


def test_a_settings_file(web: FakeWeb, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f"""
        [crawl]
        seeds = ["HTTP://A.test"]
        policy = "breadth-first"
        budget = 1
        robots = false
        log = false
        [scope]
        deny = ["/c$"]
        [fetch]
        connect_to = "{web.address}"
        [politeness]
        delay_s = 0
        """
    )
    folder = tmp_path / "c"
    orienteer("crawl", "-o", folder, "--settings", settings, "--budget", "50")
    stored = StoredCrawl(folder)
    assert stored.urls[0] == SEED
    assert stored.fetched_urls() == {SEED, "http://a.test/b", "http://a.test/d", "http://a.test/gone"}
    stored = tomllib.loads((folder / "crawl.toml").read_text())
    assert stored["crawl"]["policy"] == "breadth-first"
    assert stored["crawl"]["budget"] == 50, "an option counts more than the file"
    assert not (folder / "log.jsonl").exists()


# -- seeds that are chosen --------------------------------------------------------------------------------------


def start(web: FakeWeb, cwd: Path, *more: object, code: int = 0) -> Done:
    with started("crawl", *more, *options(web, "--scope", "web"), cwd=cwd) as process:
        done = ended(process)
    assert done.returncode == code, done.stderr
    return done


def plan_of(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "crawl.toml").read_text())["crawl"]


def test_a_crawl_from_seeds_that_another_one_has_found(web: FakeWeb, crawled: Path, tmp_path: Path) -> None:
    done = start(web, tmp_path, "--seeds-from", crawled, "-o", "c", "--n-seeds", 2, "--seed-hops", 1, "--max-depth", 1)
    assert done.stderr == (
        f"1 seed by greedy: {SEED}; within 1 hop they cover 5 of 5 pages of {crawled} (100.0 % of the value)\n"
    ), "nothing else adds anything to what the first one covers"
    stored = plan_of(tmp_path / "c")
    assert (stored["seeds"], stored["trust"]) == ([SEED], [])
    assert StoredCrawl(tmp_path / "c").fetched_urls() == FETCHED - {"http://a.test/d"}, "one hop, as was said"


def test_the_same_command_goes_on_without_choosing_again(web: FakeWeb, tmp_path: Path) -> None:
    urls = [SEED, "http://a.test/b", "http://a.test/c", "http://a.test/d"]
    graph = tmp_path / "web.npz"
    LinkGraph.from_links(4, [0, 1], [1, 3], urls=urls).save(graph)
    command = ["--seeds-from", graph, "--n-seeds", 2, "--seed-hops", 1, "--seed-trust", "value", "-o", "c"]
    first = start(web, tmp_path, *command, "--budget", 1)
    assert "2 seeds by greedy: http://a.test/, http://a.test/b; within 1 hop they cover 3 of 4" in first.stderr
    stored = plan_of(tmp_path / "c")
    assert (stored["seeds"], stored["trust"]) == ([SEED, "http://a.test/b"], [2.0, 1.0])
    graph.unlink()
    second = start(web, tmp_path, *command)
    assert second.stderr == "c holds a crawl: it is resumed from its 2 seeds, none is chosen again\n"
    assert plan_of(tmp_path / "c") == stored
    assert start(web, tmp_path, SEED, *command).returncode == 0, "its first seed may be named"
    alike = tmp_path / "settings.toml"
    alike.write_text("[crawl]\ntrust = [1, 1]\n")
    other = ["crawl", "http://b.test/", *command[:-1], tmp_path / "c"]
    refused_each(
        {
            "begun with seeds http://a.test/, not http://b.test/": other,
            "begun with trust 2.0, 1.0, not 1.0, 1.0": ["crawl", tmp_path / "c", "--settings", alike],
        }
    )


def test_named_pages_come_first_and_the_folder_is_called_after_the_first(web: FakeWeb, tmp_path: Path) -> None:
    graph = tmp_path / "web.npz"
    LinkGraph.from_links(3, [0], [1], urls=[SEED, "http://a.test/b", "http://b.test/"]).save(graph)
    done = start(web, tmp_path, "http://other.test:81/", "--seeds-from", graph, "--seed-trust", "value", "--json")
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["folder"] == "other.test-81-crawl"
    assert set(report["failed_seeds"]) == {"http://other.test:81/", "http://b.test/"}
    stored = plan_of(tmp_path / "other.test-81-crawl")
    assert stored["seeds"] == ["http://other.test:81/", SEED, "http://b.test/"]
    assert stored["trust"] == [1.5, 2.0, 1.0], "a page that is named gets the mean"
    quiet = start(web, tmp_path, "--seeds-from", graph, "--quiet", "--budget", 1)
    assert (quiet.stderr, facts(quiet.stdout)["folder"]) == ("", "a.test-crawl")
    again = start(web, tmp_path, "--seeds-from", graph, "--quiet", "--budget", 2)
    assert len(StoredCrawl(tmp_path / "a.test-crawl").order) == 2, again


def test_bad_input_for_chosen_seeds_is_one_line(crawled: Path, tmp_path: Path) -> None:
    new = ["-o", tmp_path / "new"]
    titles, bare = tmp_path / "titles.npz", tmp_path / "bare.npz"
    LinkGraph.from_links(2, [0], [1], urls=["A title", "Another"]).save(titles)
    LinkGraph.from_links(2, [0], [1]).save(bare)
    folder = tmp_path / "empty"
    folder.mkdir()
    chosen = ["crawl", "--seeds-from", crawled, *new]
    refused_each(
        {
            "--n-seeds goes with --seeds-from only": ["crawl", SEED, "--n-seeds", 3, *new],
            "--seed-trust goes with --seeds-from only": ["crawl", SEED, "--seed-trust", "value", *new],
            "n_seeds is 0": [*chosen, "--n-seeds", 0],
            "hops is -1": [*chosen, "--seed-hops", -1],
            "did you mean 'greedy'?": [*chosen, "--seed-method", "gredy"],
            "no way to trust seeds named 'valu'": [*chosen, "--seed-trust", "valu"],
            "none: no such file of values": [*chosen, "--seed-value", tmp_path / "none"],
            "'A title' was chosen, and is not a URL": ["crawl", "--seeds-from", titles, *new],
            "bare.npz: the graph has no URLs": ["crawl", "--seeds-from", bare, *new],
            "none.npz: no such file": ["crawl", "--seeds-from", tmp_path / "none.npz", *new],
            "did you mean 'rankmass'?": ["crawl", "--seeds-from", bare, "--policy", "rankmas", *new],
            "is not a crawl folder": ["crawl", folder, "--seeds-from", crawled],
        }
    )
    assert not (tmp_path / "new").exists()


# -- what cannot be done ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crawled(web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawled") / "c"
    crawl(web, folder, "--budget", "1")
    return folder


def refused_each(commands: dict[str, list[Any]]) -> None:
    """Each command ends with exit code 2 and one line, which contains the key."""
    for (printed, command), done in zip(commands.items(), orienteer_each(list(commands.values())), strict=True):
        assert done.returncode == 2, (command, done)
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1, (command, done.stderr)
        assert done.stderr.startswith("orienteer: ")
        assert printed in done.stderr, command


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    new = ["-o", tmp_path / "new"]
    settings = tmp_path / "settings.toml"
    settings.write_text("[crawl]\nworker = 3\n")
    other = tmp_path / "other.toml"
    other.write_text("workers = 3\n")
    refused_each(
        {
            "where to start?": ["crawl"],
            "'http://' is not a valid URL": ["crawl", "http://", *new],
            "'ftp://a.test/': only http and https can be crawled": ["crawl", "ftp://a.test/", *new],
            "did you mean 'rankmass'?": ["crawl", SEED, "--policy", "rankmas", *new],
            "policy optimal must know the whole web beforehand": ["crawl", SEED, "--policy", "optimal", *new],
            "no setting": ["crawl", SEED, "--policy", "fractional:x=1", *new],
            "no choice for --scope named 'hosts'; did you mean 'host'?": ["crawl", SEED, "--scope", "hosts", *new],
            "until is 2.0; a coverage lies between 0 and 1": ["crawl", SEED, "--until", "2", *new],
            "budget is 0": ["crawl", SEED, "--budget", "0", *new],
            "damping is 1.0": ["crawl", SEED, "--set", "crawl.damping=1", *new],
            "workers is 0": ["crawl", SEED, "--workers", "0", *new],
            "'(' is no regular expression": ["crawl", SEED, "--deny", "(", *new],
            "--max-depth is -1": ["crawl", SEED, "--max-depth", "-1", *new],
            "crawl.duplicates named 'keep'": ["crawl", SEED, "--set", "crawl.duplicates=keep", *new],
            "delay": ["crawl", SEED, "--delay", "-1", *new],
            "timeout_s is 0.0": ["crawl", SEED, "--set", "fetch.timeout_s=0", *new],
            "connect_to is 'there'": ["crawl", SEED, "--connect-to", "there", *new],
            "--metrics is 70000": ["crawl", SEED, "--metrics", "70000", *new],
            "did you mean 'workers'?": ["crawl", SEED, "--settings", settings, *new],
            "workers is outside a table": ["crawl", SEED, "--settings", other, *new],
            "none.toml: No such file": ["crawl", SEED, "--settings", tmp_path / "none.toml", *new],
            "is not a crawl folder": ["crawl", tmp_path],
            "not empty and not a crawl folder": ["crawl", SEED, "-o", tmp_path],
            "a file, not a crawl folder": ["crawl", SEED, "-o", settings],
        }
    )
    assert not (tmp_path / "new").exists()


def test_another_crawl_than_that_of_the_folder(web: FakeWeb, crawled: Path) -> None:
    before = (crawled / "crawl.toml").read_text()
    refused_each(
        {
            "begun with seeds http://a.test/, not http://b.test/": ["crawl", "http://b.test/", "-o", crawled],
            "begun with policy certified, not opic": ["crawl", SEED, "-o", crawled, "--policy", "opic"],
            "begun with scope.kind host, not web": ["crawl", crawled, "--scope", "web"],
            "begun with damping 0.85, not 0.5": ["crawl", crawled, "--set", "crawl.damping=0.5"],
        }
    )
    assert (crawled / "crawl.toml").read_text() == before


def test_a_damaged_folder(web: FakeWeb, tmp_path: Path) -> None:
    crawl(web, tmp_path / "c", "--budget", "1")
    settings = tmp_path / "c" / "crawl.toml"
    text = settings.read_text()
    settings.write_text(text[: len(text) // 2] + "= = =")
    refused_each({"c/crawl.toml": ["crawl", tmp_path / "c"]})
    settings.write_bytes(b"\xff\xfe")
    refused_each({"the file is damaged": ["crawl", tmp_path / "c"]})
    settings.write_text(text)
    (tmp_path / "c" / "crawl.db").write_bytes(b"no database" * 1000)
    refused_each({"the file is damaged": ["crawl", tmp_path / "c"]})


def test_a_port_in_use_is_reported_before_anything_is_created(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused_each(
            {f"--metrics: port {port} cannot be used": ["crawl", SEED, "--metrics", port, "-o", tmp_path / "c"]}
        )
    assert not (tmp_path / "c").exists()


# -- those who listen -------------------------------------------------------------------------------------------


def test_a_reader_that_leaves_early(web: FakeWeb, tmp_path: Path) -> None:
    crawl_command = [*COMMAND, "crawl", SEED, *options(web, "-o", "c")]
    with ReadyPopen(crawl_command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert without_preparing(process.stderr.read()) == ""
        assert process.wait(TEST_TIMEOUT_S) == 0
    assert (tmp_path / "c" / "report.json").exists()


def test_figures_can_be_scraped_while_it_runs(tmp_path: Path) -> None:
    places = {SEED: "<a href=/b>b</a>", "http://a.test/b": FakeResponse("late", held_until=threading.Event())}
    with (
        FakeWeb(MadeSite(places)) as web,
        started("crawl", SEED, *options(web, "--metrics", "0", "--json"), cwd=tmp_path) as process,
    ):
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.fullmatch(r"metrics: http://127\.0\.0\.1:(\d+)/metrics\n", line)
        assert found is not None, line

        def is_reported() -> bool:
            connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=TEST_TIMEOUT_S)
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
            connection.close()
            return (
                'orienteer_pages_total{state="fetched"} 1.0\n' in text and "orienteer_fetches_in_flight 1.0\n" in text
            )

        wait_until(is_reported)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        assert json.loads(ended(process).stdout)["stopped_because"] == "interrupted"


def test_a_crawl_with_a_topic(web: FakeWeb, tmp_path: Path) -> None:
    (tmp_path / "ends.toml").write_text('[topic]\nkind = "keywords"\nwords = ["end"]\nthreshold = 0.1\n')
    done = crawl(web, tmp_path / "c", "--topic", "ends.toml")
    printed = facts(done.stdout)
    assert printed["on topic"] == "1 page, 25.0 % of those fetched"
    assert "of the time of a surfer from the pages on topic is on pages fetched" in " ".join(done.stdout.split())
    assert tomllib.loads((tmp_path / "c" / "crawl.toml").read_text())["crawl"]["topic"] is True
    explained = orienteer("explain", tmp_path / "c", "http://a.test/d").stdout
    assert "to the topic of the crawl" in explained
    status = orienteer("status", tmp_path / "c").stdout
    assert "on topic" in status
    again = crawl(web, tmp_path / "c")
    assert "on topic" in again.stdout


def test_what_is_wrong_with_a_topic_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text('[topic]\nkind = "url-pattern"\npatterns = ["("]\n')
    (tmp_path / "untrained.toml").write_text('[topic]\nkind = "linear"\npositive = ["x/"]\n')
    wrong = {
        "no such topic file": ["--topic", tmp_path / "none.toml"],
        "is no regular expression": ["--topic", tmp_path / "broken.toml"],
        "is not trained": ["--topic", tmp_path / "untrained.toml"],
        "looks for pages of a topic": ["--policy", "scent"],
    }
    commands = [["crawl", SEED, "-o", tmp_path / "c", "--quiet", *options] for options in wrong.values()]
    for expected, done in zip(wrong, orienteer_each(commands), strict=True):
        assert done.returncode == 2
        assert done.stderr.startswith("orienteer: ")
        assert done.stderr.count("\n") == 1
        assert expected in done.stderr, done.stderr
        assert not (tmp_path / "c").exists()


READ = {"text/html", "text/plain", "application/pdf", "application/rss+xml", "text/xml"}


@over_rows(
    ("typed", "stored_types"),
    [
        ("+", READ),
        ("text/html", {"text/html"}),
        ("text/html, text/plain", {"text/html", "text/plain"}),
        ("+image/*", {*READ, "image/png"}),
        ('["*/*"]', {*READ, "image/png", "video/mp4"}),
    ],
)
def test_which_types_are_stored(typed: str, stored_types: set[str]) -> None:
    tables = set_tables([f"fetch.content_types={typed}"], settings_classes())
    settings = FetchSettings(**tables["fetch"])
    every = ("text/html", "text/plain", "application/pdf", "application/rss+xml", "text/xml", "image/png", "video/mp4")
    assert {kind for kind in every if settings.accepts(kind)} == stored_types
    assert settings.may_accept("application/octet-stream") == ("application/pdf" in stored_types)
