"""Archived pages: responses of the second origin, and to which clients; dates, changes, screenshots."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI

from orienteer.errors import InputError
from orienteer.web.app import create_app
from orienteer.web.archived.views import time_text
from tests.inspect.captured import CapturedCrawl, T
from tests.web.archived_crawl import (
    APP,
    BOAT,
    FIRST,
    HOME,
    MOVED,
    NEXT,
    OLD,
    PAPER,
    SCREEN,
    SECOND,
    THIRD,
    A,
    make_archived_crawl,
)  # fmt: skip
from tests.web.live_server import client_of, served
from tests.web.test_security import TOKEN


class ServedPages(NamedTuple):
    app: FastAPI
    client: httpx.Client


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPages]:
    app = create_app(make_archived_crawl(tmp_path_factory.mktemp("archived") / "harbour"))
    with served(Path(), app=app) as address, client_of(address) as client:
        yield ServedPages(app, client)


def frame_in(page: str) -> str:
    found = re.search(r'<iframe id="archived" src="([^"]+)"', page)
    assert found is not None, page
    return html.unescape(found[1])


def framed(site: ServedPages, url: str, **options: str) -> httpx.Response:
    """Return the first response in the frame of an archived page."""
    page = site.client.get("/archived", params={"url": url, **options})
    assert page.status_code == 200
    return site.client.get(frame_in(page.text))


def fetch(response: httpx.Response, url: str, kind: str = "asset") -> httpx.Response:
    """Fetch another URL in the same view."""
    view = urlsplit(str(response.url))
    _, id, _, time, *_ = view.path.split("/")
    where = f"{view.scheme}://{view.netloc}/{id}/{kind}/{time}/{url}"
    return httpx.get(where, trust_env=False, headers={"Sec-Fetch-Dest": "image"})


def test_a_page_is_served_on_a_second_origin(site: ServedPages) -> None:
    page = site.client.get("/archived", params={"url": HOME, "time": time_text(FIRST)})
    frame = urlsplit(frame_in(page.text))
    assert frame.hostname == "127.0.0.1"
    assert frame.port == site.app.state.archived.port != site.client.base_url.port
    assert 'sandbox=""' in page.text
    policy = page.headers["content-security-policy"]
    assert policy.endswith(f"; frame-src {frame.scheme}://{frame.netloc}/{frame.path.split('/')[1]}/")
    response = site.client.get(frame_in(page.text))
    assert response.status_code == 200
    assert "at nine" in response.text
    assert f'{A}/boat.png" alt="a boat"' in response.text


def test_security_headers(site: ServedPages) -> None:
    response = framed(site, HOME)
    headers = response.headers
    view = str(response.url).partition("/rendered/")[0].partition("/sent/")[0] + "/"
    main = f"http://127.0.0.1:{site.client.base_url.port}"
    rules = dict(rule.strip().partition(" ")[::2] for rule in headers["content-security-policy"].split(";"))
    assert rules["sandbox"] == ""
    for name in ("default-src", "script-src", "connect-src", "form-action", "base-uri"):
        assert rules[name] == "'none'"
    assert rules["img-src"] == f"{view} data:"
    assert rules["frame-src"] == view
    assert rules["frame-ancestors"] == main
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["connection-allowlist"] == "(response-origin)"
    assert "set-cookie" not in headers
    assert "server" not in headers
    assert "frame-ancestors" not in fetch(response, NEXT, "frame").headers["content-security-policy"]


def test_assets_are_those_of_the_archive(site: ServedPages) -> None:
    response = framed(site, HOME)
    boat = fetch(response, f"{A}/boat.png")
    assert (boat.content, boat.headers["content-type"]) == (BOAT, "image/png")
    style = fetch(response, f"{A}/s.css")
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert re.search(r'@import "/[\w-]+/asset/\d+/http://a.org/more.css"', style.text)
    assert re.search(r'url\("/[\w-]+/asset/\d+/http://a.org/bg.png"\)', style.text)


def test_what_is_missing_is_counted(site: ServedPages) -> None:
    response = framed(site, HOME)
    gone = fetch(response, f"{A}/gone.png")
    assert (gone.status_code, gone.headers["content-type"]) == (404, "image/svg+xml")
    fetch(response, f"{A}/boat.png")
    id = urlsplit(str(response.url)).path.split("/")[1]
    bar = site.client.get("/archived/bar", params={"view": id}).text
    assert "1 of 2 assets is not in the archive" in bar
    assert f"{A}/gone.png" in bar
    nowhere = fetch(response, f"{A}/nowhere?<b>", "sent")
    assert nowhere.status_code == 404
    assert "not in the archive" in nowhere.text
    assert "<b>" not in nowhere.text
    assert "Not in the archive" in site.client.get("/archived/bar", params={"view": id}).text


def test_links_are_rewritten_to_the_archive(site: ServedPages) -> None:
    response = framed(site, HOME)
    links = re.findall(r'href="(/[^"]+)">(next|nowhere|outside)', response.text)
    assert [name for _, name in links] == ["next", "nowhere", "outside"]
    base = str(response.url).partition("/archived")[0]
    origin = "/".join(base.split("/")[:3])
    assert "The next page" in site.client.get(origin + links[0][0]).text
    id = links[0][0].split("/")[1]
    bar = site.client.get("/archived/bar", params={"view": id}).text
    assert NEXT in bar, "the bar knows where the frame is"


def test_redirects_stay_in_the_archive(site: ServedPages) -> None:
    response = framed(site, MOVED)
    assert response.status_code == 302
    assert response.headers["location"].endswith(f"/{NEXT}")
    assert response.headers["location"].startswith("/")
    assert "set-cookie" not in response.headers


def test_a_rendered_page(site: ServedPages) -> None:
    rendered = framed(site, APP)
    assert "Made by scripts" in rendered.text
    assert "No" not in rendered.text
    sent = framed(site, APP, sent="true")
    assert "Made by scripts" not in sent.text
    assert "<p>No scripts</p>" in sent.text
    assert "<script" not in sent.text + rendered.text
    page = site.client.get("/archived", params={"url": APP}).text
    assert "As rendered" in page
    assert "As sent by the server" in page
    assert "As sent by the server" not in site.client.get("/archived", params={"url": HOME}).text


def test_old_charsets_and_files(site: ServedPages) -> None:
    old = framed(site, OLD)
    assert old.headers["content-type"] == "text/html; charset=utf-8"
    assert "Käse" in old.text
    page = site.client.get("/archived", params={"url": PAPER}).text
    saved = re.search(r'href="([^"]+)" rel="noreferrer">Save the file', page)
    assert saved is not None
    file = site.client.get(html.unescape(saved[1]))
    assert file.content == b"PK\x03\x04 a file"
    assert file.headers["content-disposition"] == "attachment; filename*=UTF-8''paper.zip"
    assert "A file: application/zip" in framed(site, PAPER).text


def test_the_nearest_date_is_chosen(site: ServedPages) -> None:
    for time, said in ((FIRST, "nine"), (FIRST + 1000, "nine"), (SECOND, "ten"), (THIRD + 1e6, "ten")):
        assert f"at {said}" in framed(site, HOME, time=time_text(time)).text
    assert "at ten" in framed(site, HOME).text
    assert site.client.get("/archived", params={"url": HOME, "time": "yesterday"}).status_code == 400


def test_a_view_is_required(site: ServedPages) -> None:
    response = framed(site, HOME)
    origin = "/".join(str(response.url).split("/")[:3])
    id = str(response.url).split("/")[3]
    wrong = id[:-1] + ("A" if id[-1] != "A" else "B")
    for target in (
        "/", f"/{wrong}/sent/2023/{HOME}", f"/{id}/sent/x/{HOME}", f"/{id}/sent/2023/file:///etc/passwd",
        f"/{id}/other/2023/{HOME}", f"/{id}/", "/api/search?q=sea", "/archived?url=x", "/static/style.css",
    ):  # fmt: skip
        response = httpx.get(origin + target, trust_env=False)
        assert response.status_code == 404, target
        assert "sandbox" in response.headers["content-security-policy"]
        assert "harbour" not in response.text.lower()
    assert httpx.get(f"{origin}/{id}/sent/2023/{HOME}", trust_env=False).status_code == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert httpx.request(method, f"{origin}/{id}/sent/2023/{HOME}", trust_env=False).status_code == 405
    evil = httpx.get(f"{origin}/{id}/sent/2023/{HOME}", headers={"Host": "evil.test"}, trust_env=False)
    assert (evil.status_code, evil.content) == (421, b"")
    assert httpx.get(f"{origin}/{id}/sent/2023/{HOME}{'x' * 9000}", trust_env=False).status_code == 414


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "null", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Dest": "image", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"},
        {"Origin": "OTHER", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Site": "same-site"},
    ],
)
def test_the_api_answers_no_archived_page(site: ServedPages, headers: dict[str, str]) -> None:
    other = f"http://127.0.0.1:{site.app.state.archived.port}"
    sent = {name: value.replace("OTHER", other) for name, value in headers.items()}
    for path in ("/api/search?q=harbour", "/api/archived?url=" + HOME, "/api/page?url=" + HOME):
        response = site.client.get(path, headers=sent)
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers
    assert site.client.post("/api/crawl/stop", headers=sent).status_code == 403
    assert site.client.get("/api/search?q=harbour").status_code == 200


def test_dates_and_changes(site: ServedPages) -> None:
    found = site.client.get("/api/archived", params={"url": HOME}).json()["dates"]
    assert [date["time"] for date in found] == [FIRST, SECOND, THIRD]
    assert [date["changed"] for date in found] == [None, True, False]
    page = site.client.get("/archived/dates", params={"url": HOME}).text
    assert "Archived 3 times, changed once." in page
    assert site.client.get("/api/archived", params={"url": A + "/nope"}).json()["dates"] == []
    assert site.client.get("/archived/dates", params={"url": A + "/nope"}).status_code == 404
    assert site.client.get("/archived", params={"url": A + "/nope"}).status_code == 404
    app = site.client.get("/api/archived", params={"url": APP}).json()["dates"]
    assert (app[0]["rendered"], app[0]["screenshot"]) == (True, True)


def test_differences_between_two_dates(site: ServedPages) -> None:
    both = {"url": HOME, "before": time_text(FIRST), "after": time_text(SECOND)}
    for params in (both, {"url": HOME}, {**both, "before": both["after"], "after": both["before"]}):
        found = site.client.get("/api/archived/changes", params=params).json()
        assert (found["n_added"], found["n_removed"], found["complete"]) == (2, 1, True)
        lines = {(line["kind"], line["text"]) for line in found["lines"]}
        assert {("removed", "The ferry leaves at nine."), ("added", "The café is open.")} <= lines
    page = site.client.get("/archived/changes", params=both).text
    assert "2 lines added, 1 line removed." in page
    assert "<mark>nine.</mark>" in page
    same = site.client.get("/archived/changes", params={**both, "before": time_text(THIRD)}).text
    assert "the text is the same" in same


def test_screenshots_are_pictures_in_the_results(site: ServedPages) -> None:
    site.client.get("/archived", params={"url": APP})  # the archive has been read by now
    assert "/archived/picture?" not in site.client.get("/?q=ferry").text
    page = site.client.get("/?q=app").text
    assert '<img src="/archived/picture?url=http%3A%2F%2Fa.org%2Fapp" alt="" loading="lazy"' in page
    picture = site.client.get("/archived/picture", params={"url": APP})
    assert (picture.content, picture.headers["content-type"]) == (SCREEN, "image/png")
    assert picture.headers["cross-origin-resource-policy"] == "same-origin"
    assert site.client.get("/archived/picture", params={"url": HOME}).status_code == 404


def test_results_and_details_lead_there(site: ServedPages) -> None:
    assert "/archived?url=http%3A%2F%2Fa.org%2F" in site.client.get("/?q=harbour").text
    details = site.client.get("/page", params={"url": HOME}).text
    assert 'href="/archived?url=http%3A%2F%2Fa.org%2F">As archived' in details


def test_what_is_appended_is_seen_and_a_screenshot_must_be_one(tmp_path: Path) -> None:
    with CapturedCrawl(tmp_path / "crawl") as crawl:
        crawl.put(HOME, T, "one")
    with served(tmp_path / "crawl") as address, client_of(address) as client:
        assert len(client.get("/api/archived", params={"url": HOME}).json()["dates"]) == 1
        with CapturedCrawl(tmp_path / "crawl") as crawl:
            crawl.put(HOME, T + 1, "two")
            crawl.view(HOME, T + 1, b"<script>alert(1)</script>", "image/png")
        assert len(client.get("/api/archived", params={"url": HOME}).json()["dates"]) == 2
        assert client.get("/archived/picture", params={"url": HOME}).status_code == 404


def test_a_view_needs_the_token(site: ServedPages) -> None:
    folder = site.app.state.crawl.path
    app = create_app(folder, token=TOKEN, only_this_machine=False)
    with served(folder, app=app) as address, client_of(address) as client:
        for path in ("/archived", "/archived/dates", "/archived/picture", "/api/archived"):
            assert client.get(path, params={"url": HOME}).status_code == 401
        client.get("/", params={"token": TOKEN})
        page = client.get("/archived", params={"url": HOME}, headers={"Host": "crawl.example:1234"})
        frame = frame_in(page.text)
        assert frame.startswith(f"http://crawl.example:{app.state.archived.port}/")
        path = urlsplit(frame).path
        there = f"http://127.0.0.1:{app.state.archived.port}{path}"
        response = httpx.get(there, headers={"Host": f"crawl.example:{app.state.archived.port}"}, trust_env=False)
        assert response.status_code == 200
        assert "frame-ancestors http://crawl.example:1234;" in response.headers["content-security-policy"]


def test_an_address_of_ipv6_is_called_by_name(site: ServedPages) -> None:
    page = site.client.get("/archived", params={"url": HOME}, headers={"Host": "[::1]:1234"})
    port = site.app.state.archived.port
    assert frame_in(page.text).startswith(f"http://localhost:{port}/")
    response = httpx.get(frame_in(page.text).replace("localhost", "127.0.0.1"), trust_env=False)
    assert "frame-ancestors" not in response.headers["content-security-policy"]
    app = create_app(site.app.state.crawl.path, token=TOKEN, only_this_machine=False)
    with served(Path(), app=app) as address, client_of(address) as client:
        said = {"Host": "[2001:db8::1]:80", "Authorization": b"Bearer " + TOKEN.encode()}
        response = client.get("/archived", params={"url": HOME}, headers=said)
        assert response.status_code == 400
        assert "by a host name" in response.text


def test_behind_a_web_server_the_other_origin_is_named(site: ServedPages) -> None:
    folder = site.app.state.crawl.path
    app = create_app(folder, archived_at="https://archive.example.org/")
    with served(folder, app=app) as address, client_of(address) as client:
        assert frame_in(client.get("/archived", params={"url": HOME}).text).startswith("https://archive.example.org/")
    for wrong in ("archive.example.org", "https://a b", "ftp://x", "https://a.org/path", "https://a.org; script-src *"):
        with pytest.raises(InputError, match="--archive-origin"):
            create_app(folder, archived_at=wrong)
