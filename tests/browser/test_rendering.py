"""What pages show: each is a small application of its own (`pages/`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from orienteer.browser.job import BrowserRequest, BrowserResponse
from orienteer.browser.renderer import Renderer
from tests.browser.rendering import PAGES, job_of, open_renderer, page_job, refused, render, render_page, respond, site

pytestmark = pytest.mark.slow

_HERE = "https://site.test"
_ODD_HEADERS = (
    ("Bad Name", "x"),
    ("X-A", "a\r\nb\xff"),
    ("Content-Encoding", "gzip"),
    ("Content-Disposition", "attachment"),
    ("Content-Length", "3"),
)
_THINGS = tuple(f"{_HERE}/thing/{i}" for i in range(50))


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with open_renderer(tabs=2) as renderer:
        yield renderer


@pytest.mark.parametrize("name", ["infinite_scroll", "scroll_listener", "load_more"])
def test_lists_that_grow_are_followed_to_their_end(renderer: Renderer, name: str) -> None:
    found = render(renderer, [page_job(f"{name}.html", i, scrolls=scrolls) for i, scrolls in enumerate((1, 12))])
    few, many = found[0], found[1]
    assert set(_THINGS) == set(many.links) - {f"{_HERE}/away"}
    assert not many.grows
    assert few.grows
    assert len(few.links) < 40
    assert many.redirect == few.redirect == many.trouble == ""


def test_without_scrolls_only_what_is_there(renderer: Renderer) -> None:
    rendered = render_page(renderer, "infinite_scroll.html")
    assert rendered.links == _THINGS[:10]
    assert rendered.grows


def test_hash_routes(renderer: Renderer) -> None:
    both = render(renderer, [page_job("hash_routes.html", 0), page_job("table_of_contents.html", 1)])
    page = f"{_HERE}/hash_routes.html"
    assert both[0].links == (f"{page}#/", f"{page}#/first", f"{page}#!second")
    assert not [link for link in both[1].links if "#" in link]


ROUTES = "".join(f"<a href='#/{page}?id={place}'>x</a>" for page in "ab" for place in range(9))


@pytest.mark.parametrize(
    "script",
    [
        "for (;;) {}",
        "location = '/away'",
        "location.reload()",
        "document.open(); document.write('gone')",
        "document.documentElement.remove()",
        "throw Error('no')",
        "fetch('/refused')",
        "main.textContent = location.hash.split('?')[0]; fetch('/text', {method: 'POST', body: location.hash})",
        "main.textContent = location.hash.split('?')[0]; fetch('https://other.test/text', {method: 'PUT'})",
        "setInterval(() => { main.textContent = ++n }, 10)",
        "window.stop(); history.back(); history.pushState({}, '', '/pushed')",
        "alert(1); window.open('/window')",
    ],
)
def test_a_page_is_rendered_as_before_whatever_it_does_when_its_fragment_changes(
    renderer: Renderer, script: str
) -> None:
    html = f"<!doctype html><p>Words</p><p id=main></p>{ROUTES}<a href=#name>name</a><script>let n = 0; onhashchange ="
    job = page_job("hash_routes.html", content=f"{html} () => {{ {script} }}</script>".encode(), cpu_s=1.0)
    rendered = render(renderer, [job], refused)[0]
    assert (rendered.redirect, rendered.trouble, rendered.url) == ("", "", job.url)
    assert b"Words" in rendered.document
    assert len(rendered.links) == 19
    assert sum("#/" in link for link in rendered.links) == 18, "they are routes"
    assert (rendered.anchors, rendered.named_routes) == ((), False)


def test_anchors_of_routes_and_named_routes(renderer: Renderer) -> None:
    html = f"<!doctype html><p id=main></p>{ROUTES}<a href=#name>name</a><a href=#main>main</a><script>"
    html += (
        "const show = () => { main.textContent = location.hash.split('?')[0] }; onhashchange = show; show()</script>"
    )
    job = page_job("hash_routes.html", content=html.encode())
    rendered = render(renderer, [job])[0]
    assert (rendered.anchors, rendered.named_routes) == (("?id",), True)
    assert f"{job.url}#name" in rendered.links
    assert f"{job.url}#main" not in rendered.links
    assert rendered.n_clickable == 0


def test_a_hash_route_shows_its_own_page(renderer: Renderer) -> None:
    page = (PAGES / "hash_routes.html").read_bytes()
    rendered = render(renderer, [job_of(f"{_HERE}/hash_routes.html#/first", page)])[0]
    assert b"This is #/first" in rendered.document
    assert rendered.url == f"{_HERE}/hash_routes.html#/first"
    assert rendered.redirect == ""


def test_shadow_roots_are_part_of_the_page(renderer: Renderer) -> None:
    rendered = render_page(renderer, "shadow.html")
    assert rendered.links == tuple(f"{_HERE}/{path}" for path in ("light", "card", "deep", "last"))
    assert rendered.document.count(b"<template shadowrootmode") == 2
    assert b"words in a card" in rendered.document
    assert b"deep in the shadow" in rendered.document


def test_lazy_images_are_asked_for_where_pictures_are_wanted(renderer: Renderer) -> None:
    asked: list[BrowserRequest] = []

    def response(wanted: BrowserRequest) -> BrowserResponse:
        asked.append(wanted)
        return site(wanted)

    rendered = render_page(renderer, "lazy_images.html", response, pictures=True, scrolls=3, screenshots=True)
    # Only some browsers ask for the icon.
    assert [(wanted.url, wanted.kind) for wanted in asked if wanted.url != f"{_HERE}/favicon.ico"] == [
        (f"{_HERE}/{name}.png", "image") for name in ("first", "native", "observed")
    ]
    assert rendered.screenshot.startswith(b"\xff\xd8")
    asked.clear()
    rendered = render_page(renderer, "lazy_images.html", response, scrolls=3)
    assert asked == []
    assert (rendered.n_requests, rendered.n_refused, rendered.screenshot) == (0, 0, b"")


def test_time_passes_at_once_and_ends(renderer: Renderer) -> None:
    rendered = render_page(renderer, "endless_timers.html")
    assert rendered.links == (f"{_HERE}/late",)
    assert rendered.trouble == ""
    assert render_page(renderer, "endless_timers.html", time_s=2.0).links == ()


def test_endless_scripts_are_stopped_and_the_page_is_read(renderer: Renderer) -> None:
    names = ("endless_script.html", "endless_messages.html")
    found = render(renderer, [page_job(name, i, cpu_s=0.5) for i, name in enumerate(names)])
    script, messages = found[0], found[1]
    assert (script.trouble, messages.trouble) == ("cpu", "cpu")
    assert script.links == (f"{_HERE}/before", f"{_HERE}/after")
    assert messages.links == (f"{_HERE}/there",)
    assert script.cpu_s > 0.5


def test_too_many_requests_and_too_many_bytes(renderer: Renderer) -> None:
    rendered = render_page(renderer, "endless_requests.html", max_requests=10)
    assert (rendered.trouble, rendered.n_requests) == ("too many requests", 10)
    assert rendered.n_refused > 0
    assert rendered.links == (f"{_HERE}/there",)
    rendered = render_page(
        renderer, "endless_requests.html", lambda wanted: respond(wanted, b"x" * 1000), max_bytes=4500
    )
    assert (rendered.trouble, rendered.n_requests) == ("too many requests", 5)


def test_windows_are_not_opened_but_known(renderer: Renderer) -> None:
    rendered = render_page(renderer, "windows.html")
    assert b"still here, null" in rendered.document
    assert {f"{_HERE}/popup", "https://other.test/popup", f"{_HERE}/blank"} <= set(rendered.links)
    assert (rendered.redirect, rendered.n_requests, rendered.n_refused) == ("", 0, 1)  # the download


def test_things_to_click_are_counted(renderer: Renderer) -> None:
    rendered = render_page(renderer, "click.html")
    assert rendered.n_clickable == 3
    assert rendered.links == (f"{_HERE}/link",)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("script_redirect.html", f"{_HERE}/new-place?from=old#part"),
        ("meta_refresh.html", f"{_HERE}/new-place"),
        ("beforeunload.html", f"{_HERE}/away"),
        ("form_post.html", ""),
    ],
)
def test_where_a_page_leads_by_itself(renderer: Renderer, name: str, target: str) -> None:
    rendered = render_page(renderer, name)
    assert rendered.redirect == target
    assert rendered.url == f"{_HERE}/{name}"
    assert re.search(b"<title>(Moved|Stay|Form)", rendered.document)  # the first document, as far as it came
    assert rendered.n_requests == 0
    assert rendered.n_refused == (name == "form_post.html")


def test_a_page_that_empties_itself(renderer: Renderer) -> None:
    assert render_page(renderer, "leaves.html").trouble == "left"


def test_dialogs_are_dismissed_and_end(renderer: Renderer) -> None:
    rendered = render_page(renderer, "dialogs.html")
    assert b'<p id="said">false,</p>' in rendered.document
    assert rendered.links == (f"{_HERE}/after",)


def test_frames(renderer: Renderer) -> None:
    asked: list[str] = []

    def response(wanted: BrowserRequest) -> BrowserResponse:
        asked.append(f"{wanted.kind} {wanted.url}")
        return site(wanted)

    rendered = render_page(renderer, "frames.html", response)
    assert rendered.links == tuple(f"{_HERE}/{path}" for path in ("outer", "inner-link", "from-srcdoc"))
    assert sorted(asked) == [
        f"{kind} {host}/{path}"
        for kind, path in (("fetch", "api/inner"), ("frame", "inner.html"))
        for host in ("https://other.test", _HERE)
    ]


def test_routes_of_the_history(renderer: Renderer) -> None:
    rendered = render_page(renderer, "history.html")
    assert {f"{_HERE}/first", f"{_HERE}/second?a=1", f"{_HERE}/third"} <= set(rendered.links)
    assert rendered.url == f"{_HERE}/third"
    assert b'<p id="where">/third</p>' in rendered.document


def test_requests_and_what_becomes_of_them(renderer: Renderer) -> None:
    asked: list[tuple[str, str]] = []

    def response(wanted: BrowserRequest) -> BrowserResponse:
        name = wanted.url.rpartition("/")[2]
        asked.append((wanted.method, name))
        if wanted.kind == "preflight":
            headers = {"Origin": _HERE, "Access-Control-Request-Method": "GET"}
            assert dict(wanted.headers) == {**headers, "Access-Control-Request-Headers": "x-wanted"}
            more = {} if name == "unasked" else {"access_control_allow_headers": "X-Wanted"}
            return respond(wanted, "", status=204, access_control_allow_origin=_HERE, **more)
        assert wanted.headers == ((("Origin", _HERE),) if "other.test" in wanted.url else ())
        if name == "moved":
            return respond(wanted, "", status=302, location="/api/target")
        if name == "unreachable":
            return respond(wanted, "", status=0)
        if name == "missing":
            return respond(wanted, "no such thing", status=404)
        if name == "other":
            return respond(wanted, name, access_control_allow_origin=_HERE)
        return refused(wanted) if name == "refused" else respond(wanted, name)

    rendered = render_page(renderer, "requests.html", response)
    said = sorted(
        line.partition("</li>")[0] for line in rendered.document.decode().split("<li>")[1:] if "$" not in line
    )
    assert said == [
        "closed: failed",  # the server lets other origins ask, but not read
        "missing: 404 no such thing",
        "other: 200 other",
        "plain: 200 plain",
        "posted: failed",
        "redirected: 200 target",
        "refused: failed",
        "unasked: failed",  # the server does not let other origins ask with this header
        "unreachable: failed",
    ]
    assert ("GET", "closed") in asked
    assert ("GET", "unasked") not in asked
    assert rendered.n_requests == 12  # with the style, the target of the redirect, and three preflights
    assert rendered.n_refused == 3


def test_a_bomb_of_elements_and_a_very_long_text(renderer: Renderer) -> None:
    found = render(renderer, [page_job("bomb.html", 0), page_job("large_text.html", 1)])
    bomb, text = found[0], found[1]
    assert (bomb.trouble, text.trouble) == ("too large", "too large")
    assert bomb.links == text.links == (f"{_HERE}/first",)
    assert bomb.document == b""
    assert len(text.document) == 16 << 20


def test_a_page_that_kills_its_process_hurts_no_other(renderer: Renderer) -> None:
    found = render(renderer, [page_job("deep.html", 0), page_job("history.html", 1), page_job("click.html", 2)])
    assert [found[i].trouble for i in range(3)] == ["crashed", "", ""]
    assert found[2].n_clickable == 3


def test_documents_in_other_charsets_and_with_odd_headers(renderer: Renderer) -> None:
    job = page_job(
        "click.html",
        content="<title>Füße</title><p>größer".encode("latin-1"),
        headers=(("Content-Type", "text/html; charset=iso-8859-1"), *_ODD_HEADERS),
        status=404,
    )
    empty = page_job("click.html", 1, content=b"", status=500)
    found = render(renderer, [job, empty])
    assert "<title>Füße</title>".encode() in found[0].document
    assert "größer".encode() in found[0].document
    assert found[0].trouble == ""
    # For an error without a body Chromium shows a page of its own; its headless shell shows an empty one.
    assert (found[1].trouble, found[1].document, found[1].links) in [
        ("not loaded", b"", ()), ("", b"<html><head></head><body></body></html>", ()),
    ]  # fmt: skip


def test_the_page_sees_who_we_are(renderer: Renderer) -> None:
    say = b"<p id=p></p><script>p.textContent = navigator.userAgent</script>"
    jobs = [
        page_job("click.html", i, content=say, user_agent=agent)
        for i, agent in enumerate(("Orienteer/test", "Other/1"))
    ]
    found = render(renderer, jobs)
    assert b'<p id="p">Orienteer/test</p>' in found[0].document
    assert b'<p id="p">Other/1</p>' in found[1].document


def test_a_page_that_takes_too_long(renderer: Renderer) -> None:
    for wall_s in (0.3, 3.0, 30.0):  # on a busy machine the page may not even have begun after the first
        rendered = render_page(renderer, "endless_script.html", wall_s=wall_s)
        assert rendered.trouble == "time"
        if rendered.links:
            break
    assert rendered.links == (f"{_HERE}/before", f"{_HERE}/after")
