"""A new crawl in the browser: what will happen is said before it happens, and what cannot be is said in one line."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orienteer.ledger.settings import SCOPE_KINDS
from orienteer.web.pages.new import MORE, SCOPES
from tests.web.small_library import notice, served_library

HIDDEN = re.compile(r'name="previewed" value="(\w+)"')


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("new") / "crawls"


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[httpx.Client]:
    with served_library(place) as (client, _):
        yield client


def preview_lines(response: httpx.Response) -> dict[str, str]:
    """What will happen, by label."""
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", response.text, re.DOTALL)
    return {label: html.unescape(text) for label, text in found}


def test_what_will_happen(client: httpx.Client, place: Path) -> None:
    page = client.get("/new", params={"url": "Example.org/docs/", "delay": "2", "budget": "3,600", "until": "95"})
    lines = preview_lines(page)
    assert lines["Fetched"] == (
        "pages of example.org, from example.org/docs/ on. No other host is used. It is requested by https, and by "
        "http if that does not respond."
    )
    assert lines["Pace"] == "at most one request in 2 seconds to example.org, one at a time."
    assert lines["Ends"] == "when 95 % is covered, or nothing is left, or after 3,600 pages, whichever comes first."
    assert lines["Takes"].startswith("at least 2 h 00 min if it fetches all 3,600 pages")
    assert lines["Stored"].startswith(f"in {place}/example.org, on this machine only. ")
    assert lines["robots.txt"].startswith("is obeyed")
    assert lines["User agent"].startswith("Orienteer, without a contact")
    known = preview_lines(client.get("/new?url=https://example.org/&contact=me%40example.org"))
    assert re.fullmatch(r"Orienteer/\S+ \(\+me@example\.org\)", known["User agent"])
    assert "Start the crawl" in page.text
    wide = preview_lines(client.get("/new?url=https://www.example.org/&scope=site&until=100"))
    assert wide["Fetched"].startswith("pages of example.org and all its hosts")
    assert wide["Ends"].startswith("when everything reachable is fetched, or after 10,000 pages")
    below = preview_lines(client.get("/new?url=https://example.org/docs/a.html?x&scope=prefix&delay=0.25"))
    assert below["Fetched"].startswith("pages below example.org/docs/, from ")
    assert below["Pace"].startswith("at most 4 requests a second to example.org")
    everywhere = preview_lines(client.get("/new?url=https://example.org/&scope=web&budget=500"))
    assert everywhere["Fetched"] == "pages of any site that links lead to, from https://example.org/ on."
    assert everywhere["Ends"].endswith("or after 500 pages, whichever comes first.")
    assert everywhere["Pace"].endswith("to each host, one at a time.")


def test_scopes_are_those_of_the_command() -> None:
    assert {choice.name for choice in SCOPES} == set(SCOPE_KINDS)


def test_further_settings_come_from_the_settings(client: httpx.Client) -> None:
    page = client.get("/new?url=https://example.org/&max_depth=3&assets=on&stop_when=proved")
    assert preview_lines(page)["Settings"] == "max depth 3, stop when proved, assets on"
    assert '<option value="on" selected>' in page.text
    assert all(setting.about.help in html.unescape(page.text) for setting in MORE.values())
    assert "Settings" not in preview_lines(client.get("/new?url=https://example.org/"))
    schema = client.get("/api/openapi.json").json()["components"]["schemas"]["NewJob"]["properties"]["options"]
    assert set(MORE) < set(schema["properties"])
    assert schema["properties"]["delay"]["description"] == "Seconds between two requests to a host. (a number)"
    wrong = {"max_depth": "-1", "stop_when": "never", "render": "sometimes", "assets": "perhaps"}
    for name, text in wrong.items():
        assert text in notice(client.get("/new", params={"url": "https://example.org/", name: text}))


def test_only_the_preview_is_sent_to_a_page_that_has_the_rest(client: httpx.Client) -> None:
    part = client.get("/new?url=https://example.org/", headers={"HX-Request": "true"})
    assert "<html" not in part.text
    assert HIDDEN.search(part.text)
    nothing = client.get("/new", headers={"HX-Request": "true"})
    assert notice(nothing).startswith("Which page should the crawl start at?")
    assert notice(client.get("/new")) == ""  # nothing has been typed yet


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ({"url": "http://127.0.0.1:8000/"}, "127.0.0.1:8000 is not a public address (loopback)"),
        ({"url": "http://localhost/"}, "localhost is not a public address (loopback)"),
        ({"url": "http://[::1]/"}, "not a public address (loopback)"),
        ({"url": "http://0x7f.1/"}, "not a public address (loopback)"),
        ({"url": "http://192.168.1.1/admin"}, "192.168.1.1 is not a public address (private)"),
        ({"url": "http://169.254.169.254/latest/meta-data/"}, "not a public address (link-local)"),
        ({"url": "file:///etc/passwd"}, "only http and https"),
        ({"url": "https://me:secret@example.org/"}, "a user name or password"),
        ({"url": "https://"}, "is not a valid URL"),
        ({"url": "https://example.org/", "until": "lots"}, "the coverage is 'lots'"),
        ({"url": "https://example.org/", "until": "nan"}, "the coverage is 'nan'"),
        ({"url": "https://example.org/", "until": "250"}, "a coverage lies between 0 and 1"),
        ({"url": "https://example.org/", "budget": "many"}, "the limit is 'many'"),
        ({"url": "https://example.org/", "budget": ""}, "are all needed"),
        ({"url": "https://example.org/", "delay": "0"}, "choose 0.1 or more seconds"),
        ({"url": "https://example.org/", "delay": "-1"}, "delay"),
        ({"url": "https://example.org/", "scope": "world"}, "no scope is named 'world'"),
        ({"url": "https://example.org/", "name": "../out"}, "cannot be the name of a crawl"),
        ({"url": "https://example.org/", "name": "/tmp/out"}, "cannot be the name of a crawl"),
        ({"url": "https://example.org/", "name": ".jobs"}, "cannot be the name of a crawl"),
    ],
)  # fmt: skip
def test_invalid_values_are_reported_and_the_form_is_preserved(
    client: httpx.Client, place: Path, typed: dict[str, str], line: str
) -> None:
    page = client.get("/new", params=typed)
    assert line in html.unescape(notice(page))
    assert "Start the crawl" not in page.text
    # Without the field of the preview it does not start, either.
    seen = HIDDEN.search(client.get("/new?url=https://example.org/").text)
    assert seen is not None
    for more in ({}, {"previewed": seen[1]}):
        response = client.post("/new", data=typed | more)
        assert line in html.unescape(notice(response))
        assert response.status_code == 400
        for name, value in typed.items():
            if name != "scope" and value:
                assert f'name="{name}"' in response.text
                assert f'value="{html.escape(value)}"' in response.text
    assert not place.exists()


def test_a_crawl_starts_as_previewed(client: httpx.Client, place: Path) -> None:
    fields = {"url": "https://example.org/", "scope": "host", "until": "98", "budget": "10000", "delay": "1"}
    seen = HIDDEN.search(client.get("/new", params=fields).text)
    assert seen is not None
    changed = client.post("/new", data=fields | {"budget": "5000000", "previewed": seen[1]})
    assert changed.status_code == 200
    assert notice(changed) == "The preview has changed. Start the crawl if it is right."
    assert "5,000,000 pages" in preview_lines(changed)["Ends"]
    assert client.post("/new", data=fields).status_code == 200
    assert client.get("/api/jobs").json() == {"jobs": []}
    assert not place.exists()


@pytest.mark.parametrize(
    ("job", "status", "line"),
    [
        ({"kind": "crawl", "options": {"url": "http://10.0.0.1/"}}, 400, "not a public address (private)"),
        ({"kind": "crawl", "crawl": "../x", "options": {"url": "https://example.org/"}}, 400, "cannot be the name"),
        ({"kind": "crawl", "options": {"url": "https://example.org/", "connect_to": "127.0.0.1:1"}}, 400, "no option"),
        ({"kind": "crawl", "options": {"url": "https://example.org/", "allow_private": True}}, 400, "no option"),
        ({"kind": "crawl", "options": {"url": "https://example.org/", "output": "/tmp/x"}}, 400, "no option"),
        ({"kind": "crawl"}, 400, "which one?"),
        ({"kind": "export", "crawl": "none", "options": {"format": "jsonl"}}, 404, "no crawl named none"),
        ({"kind": "export", "crawl": "none", "options": {"format": "jsonl", "out": "/tmp/x"}}, 400, "no option"),
        ({"kind": "rm", "crawl": "none"}, 400, "no kind of job named 'rm'"),
        ({"crawl": "none"}, 422, "kind"),
    ],
)  # fmt: skip
def test_the_api_starts_nothing_else(
    client: httpx.Client, place: Path, job: dict[str, object], status: int, line: str
) -> None:
    response = client.post("/api/jobs", json=job)
    assert response.status_code == status
    assert line in response.json()["error"]
    assert not place.exists()


def test_untrusted_input_is_escaped(client: httpx.Client) -> None:
    for value in ('"><script>alert(1)</script>', "https://example.org/<b>'\"", "x\u202ey"):
        for name in ("url", "name", "until", "budget", "delay", "scope", "contact"):
            fields = {"url": "https://example.org/"} | {name: value}
            for page in (client.get("/new", params=fields), client.post("/new", data=fields)):
                assert "<script>alert" not in page.text
                assert "<b>" not in page.text
                assert "\u202e" not in page.text
