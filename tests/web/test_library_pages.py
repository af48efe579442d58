"""The pages of a library of crawls: what they show, what buttons do, and that jobs outlive the server."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from orienteer.exports import all_exporters
from orienteer.web.pages.jobs import zipped
from orienteer.web.pages.manage import FORMATS
from tests.web.small_crawl import CHARTS
from tests.web.small_library import (
    DAMAGED,
    HARBOUR,
    LINK,
    OTHER,
    ended_job,
    heading,
    make_library,
    notice,
    served_library,
)

_ADDRESS = re.compile(r"""\b(?:href|src|action|data-live)="(/[^"]*)""")


@pytest.fixture(scope="module")
def library(small_crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_library(tmp_path_factory.mktemp("library") / "crawls", small_crawl)


@pytest.fixture(scope="module")
def served_app(library: Path) -> Iterator[tuple[httpx.Client, FastAPI]]:
    with served_library(library) as served:
        yield served


@pytest.fixture(scope="module")
def client(served_app: tuple[httpx.Client, FastAPI]) -> httpx.Client:
    return served_app[0]


def test_the_start_page_shows_all_crawls(client: httpx.Client) -> None:
    text = client.get("/").text
    assert re.findall(r'<h2><a href="([^"]+)">', text) == [
        "/crawls/broken/",
        "/crawls/harbour/",
        "/crawls/other%20town/",
    ]
    assert "Damaged" in text
    assert "http://www.harbour.test/ and 1 more" in text
    assert "not reached: a coverage of 99.999 % of what is reachable is proved" in text
    data = client.get("/api/library").json()["crawls"]
    assert [(crawl["name"], crawl["phase"]) for crawl in data] == [
        (DAMAGED, "damaged"), (HARBOUR, "stopped"), (OTHER, "stopped"),
    ]  # fmt: skip
    assert data[1]["status"]["pages"]["fetched"] > 50
    assert data[1]["is_indexed"]
    assert f"/crawls/{LINK}/" not in text


def test_an_empty_library_invites_and_writes_nothing(tmp_path: Path) -> None:
    with served_library(tmp_path / "none") as (client, _):
        assert "Paste a URL" in client.get("/").text
        assert "No job is running" in client.get("/jobs").text
        assert client.get("/api/library").json()["crawls"] == []
        assert client.get("/new?url=https://example.org/").status_code == 200
    assert list(tmp_path.iterdir()) == []


def test_every_page_that_is_linked_is_there(client: httpx.Client) -> None:
    pages = ["/", "/now", "/new", "/jobs", "/crawls/harbour/", "/crawls/other%20town/manage", "/crawls/broken/manage"]
    linked = {link.replace("&amp;", "&") for page in pages for link in _ADDRESS.findall(client.get(page).text)}
    asked = {link for link in linked if not re.search(r"/(start/\w+|rename|stop|resume|events)$", link)}
    assert len(asked) > 30
    found = {link: client.get(link).status_code for link in asked}
    assert {link: status for link, status in found.items() if status != 200} == {
        link: 409 for link in asked if re.fullmatch(r"/crawls/broken/(crawl|changes|map)", link)
    }


def test_a_crawl_leads_back_to_all_crawls(client: httpx.Client) -> None:
    assert re.search(r'<a [^>]*href="/">All crawls</a>', client.get("/crawls/harbour/crawl").text)
    assert "All crawls" not in client.get("/").text
    assert client.get("/crawls/harbour", follow_redirects=False).headers["location"] == "/crawls/harbour/"


def test_a_crawl_is_searched_by_its_name(served_app: tuple[httpx.Client, FastAPI]) -> None:
    client, app = served_app
    assert client.get("/crawls/harbour/api/search?q=charts").json()["total"] > 5
    assert "Old sea charts" in client.get("/crawls/other%20town/?q=charts").text
    with app.state.library.using(HARBOUR) as crawl, crawl.searching() as index:
        assert index.n_pages > 50
    assert app.state.library.get(OTHER).path == app.state.library.library.path / OTHER


def test_archived_pages_of_all_crawls_are_on_one_other_port(served_app: tuple[httpx.Client, FastAPI]) -> None:
    client, app = served_app
    frames = {}
    for name in ("harbour", "other%20town"):
        page = client.get(f"/crawls/{name}/archived", params={"url": CHARTS})
        frames[name] = re.search(r'<iframe[^>]* src="([^"]+)"', page.text)[1]  # type: ignore[index]
        assert httpx.URL(frames[name]).port == app.state.archived.port
        assert "Old sea charts" in httpx.get(frames[name], trust_env=False).text
    view = frames["harbour"].split("/")[3]
    assert client.get("/crawls/harbour/archived/bar", params={"view": view}).status_code == 200
    assert client.get("/crawls/other%20town/archived/bar", params={"view": view}).status_code == 404


def test_renamed_and_deleted(small_crawl: Path, tmp_path: Path) -> None:
    library = make_library(tmp_path / "crawls", small_crawl)
    with served_library(library) as (client, _):
        assert client.get("/crawls/harbour/?q=charts").status_code == 200
        for wrong in ("../out", "/tmp/out", ".hidden", "a/b", "", "x" * 200, "<b>", OTHER, LINK):
            response = client.post("/crawls/harbour/manage/rename", data={"new": wrong})
            assert response.status_code in (400, 409)
            assert notice(response)
            assert "<b>" not in response.text
        renamed = client.post("/crawls/harbour/manage/rename", data={"new": "Hafen März"})
        assert renamed.headers["location"] == "/crawls/Hafen%20M%C3%A4rz/manage"
        assert heading(client.get(renamed.headers["location"])) == "Manage Hafen März"
        assert client.get("/crawls/harbour/").status_code == 404
        assert client.get("/crawls/harbour/api/crawl").json()["error"].startswith("there is no crawl named harbour")
        assert client.get("/crawls/Hafen%20M%C3%A4rz/?q=charts").status_code == 200
        assert client.post("/api/library/Hafen März/rename", json={"new": "harbour"}).json() == {"name": "harbour"}

        assert heading(client.get("/crawls/harbour/manage/delete")) == "Delete harbour?"
        assert client.post("/crawls/harbour/manage/delete").headers["location"] == "/"
        assert client.get("/crawls/harbour/manage").status_code == 404
        assert client.post("/api/library/broken/delete").json() == {"name": None}
        assert [crawl["name"] for crawl in client.get("/api/library").json()["crawls"]] == [OTHER]
    assert (small_crawl / "crawl.db").exists()  # what the link leads to
    assert (library / LINK).is_symlink()


def test_a_folder_that_a_shell_has_exchanged_is_seen(library: Path, served_app: tuple[httpx.Client, FastAPI]) -> None:
    client, app = served_app
    before = app.state.library.get(OTHER)
    shutil.move(library / OTHER, library.parent / "moved")
    assert client.get("/crawls/other%20town/").status_code == 404
    shutil.copytree(library / HARBOUR, library / OTHER)
    assert client.get("/crawls/other%20town/?q=charts").status_code == 200
    assert app.state.library.get(OTHER) is not before
    assert before.ending.is_set()


@pytest.mark.usefixtures("ready_jobs")
def test_an_export_is_a_job_that_is_there_after_a_restart(library: Path) -> None:
    with served_library(library) as (client, _):
        nothing = client.post("/crawls/harbour/manage/start/export")
        assert (nothing.status_code, notice(nothing)) == (400, "Which format?")
        assert client.post("/crawls/harbour/manage/start/format-disk").status_code == 400
        started = client.post("/crawls/harbour/manage/start/export", data={"format": "jsonl"})
        assert started.headers["location"] == "/crawls/harbour/manage"
        (job,) = client.get("/api/jobs").json()["jobs"]
    with served_library(library) as (client, _):
        job = ended_job(client, job["id"])
        assert (job["state"], job["exit_code"], job["crawl"]) == ("done", 0, HARBOUR)
        saved = client.get(job["file"])
        assert saved.headers["content-disposition"] == "attachment; filename*=UTF-8''harbour.jsonl"
        assert {"url", "title"} <= set(json.loads(saved.text.splitlines()[0]))
        for page in ("/jobs", "/crawls/harbour/manage"):
            assert f'<a href="{job["file"]}" download>Download</a>' in client.get(page).text
        page = client.get(f"/jobs/{job['id']}").text
        assert "orienteer export " in page
        assert "(jsonl)" in page
        stopped = client.post(f"/api/jobs/{job['id']}/stop")
        assert stopped.status_code == 409
        # What is not in the folder of exports is not sent, whatever leads there.
        written = library / ".exports" / job["id"] / "harbour.jsonl"
        written.unlink()
        written.symlink_to("/etc/hostname")
        assert client.get(job["file"]).status_code == 404


def test_a_folder_is_sent_as_a_zip_file(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a.md").write_text("# A\n" * 100_000)
    (folder / "b.md").write_text("")
    (folder / "out.md").symlink_to("/etc/hostname")
    with zipfile.ZipFile(io.BytesIO(b"".join(zipped(folder)))) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == ["b.md", "inner/a.md"]
        assert archive.read("inner/a.md") == b"# A\n" * 100_000


def test_the_formats_on_the_page_are_there() -> None:
    assert {format.name for format in FORMATS} <= set(all_exporters())
