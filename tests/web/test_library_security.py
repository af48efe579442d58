"""Who may change something in a library, and that no name leads out of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from orienteer.web.app import LIBRARY_PAGES, PAGES
from orienteer.web.pages import manage
from tests.tables import over_rows
from tests.web.small_library import HARBOUR, make_library, served_library
from tests.web.test_security import raw_status

TOKEN = "a token of many characters"
CHANGING = sorted(
    {
        (root + route.path)
        .replace("{name}", HARBOUR)
        .replace("{kind}", "export")
        .replace("{id}", "20260101-000000-000001")
        for root, pages in (("", LIBRARY_PAGES), ("/crawls/harbour", (*PAGES, manage)))
        for page in pages
        for route in page.router.routes
        if isinstance(route, APIRoute) and not route.methods <= {"GET", "HEAD"}
    }
)


@pytest.fixture(scope="module")
def library(small_crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = make_library(tmp_path_factory.mktemp("guarded") / "crawls", small_crawl)
    shutil.copytree(small_crawl, library.parent / "outside")
    shutil.copytree(small_crawl, library / ".jobs" / "inside")
    return library


@pytest.fixture(scope="module")
def client(library: Path) -> Iterator[httpx.Client]:
    with served_library(library) as (client, _):
        yield client


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "/search/" not in f"{path}/"}


def test_the_list_of_what_changes_something_is_whole() -> None:
    assert {"/new", "/api/jobs", "/crawls/harbour/manage/delete", "/crawls/harbour/crawl/resume"} <= set(CHANGING)
    assert len(CHANGING) >= 12


@pytest.mark.parametrize(
    ("path", "methods"),
    [("/api/jobs", "GET, POST"), ("/crawls/harbour/api/crawl/stop", "POST"), ("/crawls/harbour/map", "GET, HEAD")],
)
def test_a_method_that_is_not_possible_is_answered_with_those_that_are(
    client: httpx.Client, path: str, methods: str
) -> None:
    response = client.request("PATCH", path)
    assert (response.status_code, response.headers["allow"]) == (405, methods)


@pytest.mark.parametrize("path", CHANGING)
def test_pages_of_other_sites_change_nothing(client: httpx.Client, library: Path, path: str) -> None:
    before = tree(library)
    fields = {"format": "jsonl", "new": "stolen", "url": "https://example.org/", "previewed": "x"}
    for headers in (
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert client.post(path, data=fields, headers=headers).status_code == 403
        assert client.post(path, content="{}", headers=headers | {"Content-Type": "text/plain"}).status_code == 403
    assert client.post(path, data=fields, headers={"Host": "evil.test"}).status_code == 421
    assert client.get(path).status_code in (200, 404, 405)  # a link changes nothing
    assert tree(library) == before


@pytest.mark.parametrize("path", CHANGING)
def test_where_others_may_connect_a_token_is_needed(guarded: httpx.Client, library: Path, path: str) -> None:
    before = tree(library)
    assert guarded.post(path).status_code == 401
    assert tree(library) == before


@pytest.fixture(scope="module")
def guarded(library: Path) -> Iterator[httpx.Client]:
    with served_library(library, token=TOKEN, only_this_machine=False) as (client, _):
        yield client


def test_with_the_token_it_can_be_done(guarded: httpx.Client) -> None:
    for path in ("/", "/api/library", "/api/jobs", "/crawls/harbour/", "/crawls/harbour/api/crawl"):
        assert guarded.get(path).status_code == 401
    known = {"Authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/api/library", headers=known).status_code == 200
    response = guarded.post("/api/jobs", json={"kind": "crawl", "options": {"url": "http://10.0.0.1/"}}, headers=known)
    assert response.status_code == 400


@over_rows(
    "name",
    [
        "..", "%2e%2e", "%2e%2e%2foutside", "..%2foutside", "..%5coutside", ".", "%2e", ".jobs", ".jobs%2finside",
        "harbour%2f..%2f..%2foutside", "%00", "harbour%00", "link", "%2fetc", "outside", "", "%ff", "HARBOUR",
        "harbour%20",
    ],
)  # fmt: skip
@over_rows("page", ["/", "/?q=charts", "/manage", "/api/crawl", "/archived?url=http://www.harbour.test/"])
def test_no_name_leads_out(client: httpx.Client, name: str, page: str) -> None:
    address = str(client.base_url).rstrip("/")
    request = f"GET /crawls/{name}{page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    assert raw_status(address, request) in (303, 400, 404)


@pytest.mark.parametrize("id", ["..%2f..%2foutside", "%2e%2e", "x", "20260101-000000-000001", "%2fetc%2fpasswd", "%00"])
@pytest.mark.parametrize("what", ["", "/now", "/file"])
def test_no_id_of_a_job_leads_out(client: httpx.Client, id: str, what: str) -> None:
    for path in (f"/jobs/{id}{what}", f"/api/jobs/{id}"):
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        assert raw_status(str(client.base_url).rstrip("/"), request) in (400, 404)


def test_nothing_outside_is_renamed_or_deleted(client: httpx.Client, library: Path) -> None:
    before = tree(library.parent)
    for name in ("..%2Foutside", "%2E%2E", "link", ".jobs", "harbour%2F..%2F..%2Foutside"):
        for change, body in (("delete", None), ("rename", {"new": "taken"})):
            assert client.post(f"/api/library/{name}/{change}", json=body).status_code in (400, 404)
            assert client.post(f"/crawls/{name}/manage/{change}", data=body).status_code in (400, 404)
    assert tree(library.parent) == before


def test_the_state_is_a_seam_for_other_pages(library: Path) -> None:
    with served_library(library) as (_, app):
        assert isinstance(app, FastAPI)
        assert app.state.library.library.path == library
        assert app.state.library.get(HARBOUR).name == HARBOUR
