"""The Schedule page of a crawl of a library, and its JSON."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orienteer.library.jobs import Jobs
from orienteer.library.library import Library
from orienteer.library.schedule import Schedule
from orienteer.library.schedules import RefreshScheduler, Schedules, running_scheduler
from orienteer.web.app import create_library_app
from tests.web.live_server import client_of, served

PAGE = "/crawls/town/schedule"


@pytest.fixture
def library(changed: Path, tmp_path: Path) -> Library:
    shutil.copytree(changed, tmp_path / "library" / "town")
    return Library(tmp_path / "library")


@pytest.fixture
def client(library: Library) -> Iterator[httpx.Client]:
    app = create_library_app(library.path)
    with served(library.path, app) as address, client_of(address) as client:
        yield client


def test_a_schedule_is_set_changed_and_taken_away_without_scripts(client: httpx.Client, library: Library) -> None:
    first = client.get(PAGE).text
    assert 'value="never" checked' in first
    assert "/schedule" in client.get("/crawls/town/manage").text
    assert "/schedule" in client.get("/crawls/town/changes").text
    form = {"every": "week", "at": "05:30", "on": "friday", "threshold": "20", "webhook": "", "feed": ""}
    response = client.post(PAGE, data=form)
    assert (response.status_code, response.headers["location"]) == (303, PAGE)
    assert Schedules(library).get("town") == Schedule("week", at="05:30", on="friday", threshold=0.2)
    page = client.get(PAGE).text
    assert "Every Friday at 05:30; next: " in page
    assert 'value="week" checked' in page
    assert "The secret" not in page
    hook = "https://hook.test/<b>"
    client.post(PAGE, data=form | {"webhook": hook, "feed": "https://feeds.test/town"})
    page = client.get(PAGE).text
    assert Schedules(library).secret("town") in page
    assert "https://hook.test/&lt;b&gt;" in page
    assert "<b>" not in page
    client.post(PAGE, data={"every": "never"})
    assert Schedules(library).get("town") is None


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({}, "How often? Choose one of the options"),
        ({"every": "hourly"}, "How often? Choose one of the options"),
        ({"every": "day", "at": "25:61"}, "at is &#39;25:61&#39;; a time of day is like 03:00"),
        ({"every": "pays", "threshold": "many"}, "it must be a number of per cent"),
        ({"every": "day", "webhook": "http://127.0.0.1:1/"}, "the webhook leads to 127.0.0.1, which is loopback"),
        ({"every": "day", "webhook": "http://169.254.169.254/"}, "which is link-local"),
        ({"every": "day", "webhook": "javascript:alert(1)"}, "it must be an http or https address"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_changed(
    client: httpx.Client, library: Library, values: dict[str, str], line: str
) -> None:
    response = client.post(PAGE, data=values)
    assert response.status_code == 400
    assert line in response.text
    assert Schedules(library).get("town") is None


def test_as_data(client: httpx.Client, library: Library) -> None:
    api = "/crawls/town/api/schedule"
    assert client.get(api).json()["every"] == "never"
    data = client.post(api, json={"every": "pays", "threshold": 0.3}).json()
    assert (data["every"], data["threshold"]) == ("pays", 0.3)
    assert data["due"] > 0
    assert data["line"].startswith(("next: ", "due now"))
    response = client.post(api, json={"every": "dya"})
    assert (response.status_code, "did you mean 'day'" in response.json()["error"]) == (400, True)
    assert client.post(api, json={"every": "never"}).json()["every"] == "never"
    assert client.get("/crawls/none/api/schedule").status_code == 404


def test_other_sites_cannot_set_it(client: httpx.Client, library: Library) -> None:
    response = client.post(PAGE, data={"every": "day"}, headers={"Origin": "https://evil.test"})
    assert response.status_code == 403
    assert Schedules(library).get("town") is None


def test_an_unreadable_schedule_is_reported_in_one_line_and_can_be_replaced(
    client: httpx.Client, library: Library
) -> None:
    client.post(PAGE, data={"every": "day"})
    (library.path / ".schedules" / "town.toml").write_text("every = 1")
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "it must be a text" in page.text
    client.post(PAGE, data={"every": "week"})
    assert Schedules(library).get("town") == Schedule("week")


def test_a_server_asks_what_is_due_and_ends_at_once(library: Library) -> None:
    asked = threading.Event()

    class Asked(RefreshScheduler):
        def run_due(self, now: float) -> list[object]:  # type: ignore[override]
            asked.set()
            return []

    with running_scheduler(Asked(Jobs(library)), every_s=3600):
        assert asked.wait(60)
