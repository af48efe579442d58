"""/api/crawl: the live state of a crawl; stop and resume, and which clients may do that."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from orienteer.graph.proved import percent
from orienteer.inspect.crawl_status import FolderWatcher, crawl_status
from orienteer.store.folder import CrawlFolder
from orienteer.store.lock import holder_of
from orienteer.web import crawl_watch
from orienteer.web.app import create_app
from orienteer.wording import JSON_VERSION
from tests.cli.live_process import TEST_TIMEOUT_S, wait_until
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import crawled
from tests.web.live_server import client_of, served
from tests.web.slow_crawl import SlowCrawl, slow_web, stop_holder

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with slow_web() as web:
        yield web


@pytest.fixture
def crawl(web: FakeWeb, tmp_path: Path) -> Iterator[SlowCrawl]:
    """A crawl of its own, that a test may start and stop."""
    crawl = SlowCrawl(web, tmp_path / "crawl", "--until", "0.9", "--budget", "1200")
    yield crawl
    stop_holder(crawl.folder, os.kill, signal.SIGKILL)


def events(stream: httpx.Response) -> Iterator[dict[str, Any]]:
    """Yield the status in each event of a stream."""
    kind = ""
    for line in stream.iter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            assert kind == "crawl"
            yield json.loads(line.removeprefix("data: "))["status"]


def status_of(client: httpx.Client) -> dict[str, Any]:
    status: dict[str, Any] = client.get("/api/crawl").json()["status"]
    return status


def n_done(status: dict[str, Any]) -> int:
    return (status["figures"] or {"n_done": 0})["n_done"]


def test_a_finished_crawl(client: httpx.Client, small_crawl: Path) -> None:
    data = client.get("/api/crawl").json()
    status, texts, progress = data["status"], data["status"]["texts"], data["progress"]
    assert (status["version"], status["phase"], status["process"]) == (JSON_VERSION, "stopped", None)
    reached = "a coverage of 99.999 % of what is reachable is proved"
    assert texts["stopped"] == f"goal not reached: {reached}, but 99.999 % of everything cannot be proved"
    assert texts["impossible"].startswith("99.999 % cannot be proved: up to ")
    lower = status["proved"]["lower"]
    assert lower <= status["proved"]["upper"]
    assert texts["result"].startswith(f"{percent(lower)} proved; no known page left out; what is blocked or not")
    assert texts["result"].endswith(f"can cost {percent(1 - lower, up=True)} at most")
    assert status["figures"]["fetching"] == []
    assert (status["outcomes"]["blocked"]["robots.txt"], status["outcomes"]["failed"]["http 404"]) == (1, 1)
    assert {host["host"] for host in status["hosts"]} == {
        f"{name}.harbour.test" for name in ("www", "museum", "library", "club")
    }
    assert all(point["lower"] <= point["upper"] for point in progress)
    assert (progress[0]["n_done"], progress[-1]["n_done"]) == (0, status["figures"]["n_done"])
    frontier = client.get("/api/crawl/frontier").json()
    assert frontier == {
        "top": {
            "epoch": 0,
            "position": status["figures"]["position"],
            "policy": "certified",
            "n_frontier": 0,
            "pages": [],
        },
        "n_events_ago": 0,
        "is_being_read": False,
    }


def test_it_is_streamed_stopped_and_resumed(crawl: SlowCrawl) -> None:
    with crawl.running() as process, served(crawl.folder) as address, client_of(address) as client:
        with client.stream("GET", "/api/crawl/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            data = events(stream)
            first = next(status for status in data if n_done(status) > 0)
            later = next(status for status in data if n_done(status) > n_done(first) + 20)
        assert (later["phase"], later["process"]) == ("running", process.pid)
        assert later["figures"]["position"] > first["figures"]["position"]
        assert later["figures"]["pages_per_s"] > 0
        # The crawl writes it rarely: the first time it knows the seeds alone.
        wait_until(lambda: len(client.get("/api/crawl/frontier").json()["top"]["pages"]) == 25)
        top = client.get("/api/crawl/frontier").json()["top"]
        # Pages that walks need come first, and have no priority.
        n_needed = sum(page["walk"] is not None for page in top["pages"])
        assert all(page["walk"] is not None for page in top["pages"][:n_needed])
        priorities = [page["priority"] for page in top["pages"][n_needed:]]
        assert priorities == sorted(priorities, reverse=True)
        assert client.post("/api/crawl/resume").status_code == 409
        assert client.post("/api/crawl/stop").json() == {"process": process.pid, "problem": None}
        process.ended()
        wait_until(lambda: status_of(client)["phase"] == "stopped")
        stopped = client.get("/api/crawl").json()
        assert stopped["status"]["texts"]["stopped"] == "stopped by you. Resume any time"
        assert client.post("/api/crawl/stop").status_code == 409

        again = client.post("/api/crawl/resume", json={"budget": 1100}).json()
        assert again["problem"] is None
        with client.stream("GET", "/api/crawl/events") as stream:
            now = next(now for now in events(stream) if n_done(now) > n_done(stopped["status"]))
        budget = now["settings"]["crawl"]["budget"]
        assert (now["phase"], now["process"], budget) == ("running", again["process"], 1100)
        progress = client.get("/api/crawl").json()["progress"]
        assert progress[: len(stopped["progress"])] == stopped["progress"], "the progress continues"
        client.post("/api/crawl/stop")
        wait_until(lambda: holder_of(crawl.folder) is None)


def test_a_killed_crawl_is_replayed_for_its_frontier(crawl: SlowCrawl) -> None:
    with crawl.running() as process, served(crawl.folder) as address, client_of(address) as client:
        wait_until(lambda: n_done(status_of(client)) > 30)
        process.kill()
        wait_until(lambda: not status_of(client)["process"])
        status = status_of(client)
        position = crawl_status(crawl.folder).position  # the figures may be older
        wait_until(lambda: (client.get("/api/crawl/frontier").json()["top"] or {}).get("position") == position)
        data = client.get("/api/crawl/frontier").json()
    assert (len(data["top"]["pages"]), data["n_events_ago"]) == (25, 0)
    assert status["texts"]["stopped"].startswith("the last run ended without a report")


def test_a_frontier_of_lost_pages_is_replayed(crawl: SlowCrawl) -> None:
    """A killed crawl may have written pages to the file that were not yet committed."""
    with crawl.running() as process, served(crawl.folder) as address, client_of(address) as client:
        wait_until(lambda: n_done(status_of(client)) > 30)
        process.kill()
        wait_until(lambda: not status_of(client)["process"])
        position = crawl_status(crawl.folder).position
        data = json.loads((crawl.folder / "frontier.json").read_text())
        (crawl.folder / "frontier.json").write_text(json.dumps(data | {"position": position + 7}))
        wait_until(lambda: (client.get("/api/crawl/frontier").json()["top"] or {}).get("position") == position)


def test_a_crawl_that_cannot_go_on_says_why(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    (folder / "crawl.toml").write_text((folder / "crawl.toml").read_text().replace("workers = 8", "workers = -8"))
    with served(folder) as address, client_of(address) as client:
        response = client.post("/api/crawl/resume", json={"budget": 10})
    assert response.status_code == 400
    assert "workers is -8" in response.json()["error"]


def test_an_error_of_the_crawl_is_displayed(web: FakeWeb, tmp_path: Path) -> None:
    """It ends at once, with an error that cannot be detected before the start."""
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    (folder / "archive").rename(folder / "moved")
    (folder / "archive").write_text("")
    with served(folder) as address, client_of(address) as client:
        client.post("/api/crawl/resume", json={"budget": 10})
        wait_until(lambda: client.get("/crawl").status_code == 409 or client.get("/api/crawl").json()["problem"])


@pytest.mark.parametrize(
    ("goal", "status", "said"),
    [
        ({"until": 2}, 422, "less than or equal to 1"),
        ({"until": "much"}, 422, "number"),
        ({"budget": 0}, 422, "greater than or equal to 1"),
        ({}, 409, "the limit of 3 pages is reached"),
        ({"budget": 2}, 409, "the limit of 2 pages is reached"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(
    web: FakeWeb, tmp_path: Path, goal: dict[str, Any], status: int, said: str
) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    with served(folder) as address, client_of(address) as client:
        response = client.post("/api/crawl/resume", json=goal)
        assert response.status_code == status
        assert said in response.json()["error"]
        form = client.post("/crawl/resume", data={"until": "very much", "budget": ""})
        assert form.status_code == 400
        assert "the coverage is &#39;very much&#39;" in form.text
    assert holder_of(folder) is None


@pytest.mark.parametrize("path", ["/api/crawl/stop", "/api/crawl/resume", "/crawl/stop", "/crawl/resume"])
@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.test"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_other_sites_cannot_stop_or_start_anything(client: httpx.Client, path: str, headers: dict[str, str]) -> None:
    assert client.post(path, headers=headers).status_code == 403
    assert client.get(path).status_code == 405


def test_a_crawl_in_this_very_process_is_not_interrupted(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    with CrawlFolder.open(folder), served(folder) as address, client_of(address) as client:
        response = client.post("/api/crawl/stop")
    assert response.status_code == 409
    assert "the crawl runs in this process" in response.json()["error"]


def test_many_watch_and_the_folder_is_read_once(small_crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[float] = []
    status = FolderWatcher.status

    def counted(watcher: FolderWatcher, *args: Any) -> Any:
        reads.append(threading.get_ident())
        return status(watcher, *args)

    monkeypatch.setattr(FolderWatcher, "status", counted)
    monkeypatch.setattr(crawl_watch, "_MIN_INTERVAL_S", 3600.0)
    watch = create_app(small_crawl).state.crawl.watch
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: watch.status(), range(40)))
    assert len({id(now) for now in seen}) == len(reads) == 1


def test_the_server_ends_while_clients_are_connected(small_crawl: Path) -> None:
    """`served` waits for the end of the server, ten seconds at most."""
    with ThreadPoolExecutor(2) as pool:
        begun = threading.Barrier(3, timeout=TEST_TIMEOUT_S)

        def watch(address: str) -> int:
            with client_of(address) as client, client.stream("GET", "/api/crawl/events") as stream:
                data = events(stream)
                next(data)
                begun.wait()
                return len(list(data))

        with served(small_crawl) as address:
            ends = [pool.submit(watch, address) for _ in range(2)]
            begun.wait()
        assert [end.result(TEST_TIMEOUT_S) for end in ends] == [0, 0], "they end in good order"


def test_who_goes_is_forgotten(small_crawl: Path) -> None:
    """Clients that leave in the middle do no harm to the next."""
    with served(small_crawl) as address, client_of(address) as client:
        for _ in range(20):
            with client.stream("GET", "/api/crawl/events") as stream:
                assert next(events(stream))["phase"] == "stopped"
        assert client.get("/api/crawl").status_code == 200


def test_the_page_works_without_scripts(client: httpx.Client) -> None:
    text = client.get("/crawl").text.replace("<wbr>", "")
    assert "Goal not reached: a coverage of 99.999 % of what is reachable is proved" in text
    assert '<p class="notice">99.999 % cannot be proved: up to ' in text
    assert "museum.harbour.test" in text
    assert '<path class="area" d="M' in text
    assert "style=" not in text
    fragment = client.get("/crawl/now").text
    assert "<html" not in fragment
    for part in ("state", "controls", "cards", "chart", "frontier", "tables"):
        assert f'id="crawl-{part}"' in fragment
        assert f'id="crawl-{part}"' in text


def test_epochs_can_be_chosen(client: httpx.Client) -> None:
    assert client.get("/crawl?epoch=7").status_code == 200, "one that is not there is the present one"
    assert client.get("/crawl?epoch=-1").status_code == 422
    assert client.get("/crawl/now?epoch=x").status_code == 422


def test_it_is_in_the_description_of_the_api(client: httpx.Client) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    data = {path: set(methods) for path, methods in paths.items() if path.startswith("/api/crawl")}
    assert data == {
        "/api/crawl": {"get"},
        "/api/crawl/frontier": {"get"},
        "/api/crawl/events": {"get"},
        "/api/crawl/stop": {"post"},
        "/api/crawl/resume": {"post"},
    }
