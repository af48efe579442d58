"""What pages show: each is a small application of its own (`pages/`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orienteer.browser.job import Supplied, Wanted
from orienteer.browser.renderer import Renderer
from tests.browser.rendering import HTML, opened_renderer, page_job, refused, shown, shown_page, site, supplied

pytestmark = pytest.mark.long

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
    with opened_renderer(tabs=2) as renderer:
        yield renderer


@pytest.mark.parametrize("name", ["infinite_scroll", "scroll_listener", "load_more"])
def test_lists_that_grow_are_followed_to_their_end(renderer: Renderer, name: str) -> None:
    few, many = shown(
        renderer, [page_job(f"{name}.html", i, scrolls=scrolls) for i, scrolls in enumerate((1, 12))]
    ).values()
    few, many = sorted((few, many), key=lambda rendered: rendered.job)
    assert set(_THINGS) == set(many.links) - {f"{_HERE}/away"}
    assert not many.still_growing
    assert few.still_growing
    assert len(few.links) < 40
    assert many.redirect == few.redirect == many.trouble == ""


def test_without_scrolls_only_what_is_there(renderer: Renderer) -> None:
    rendered = shown_page(renderer, "infinite_scroll.html")
    assert rendered.links == _THINGS[:10]
    assert rendered.still_growing


def test_hash_routes(renderer: Renderer) -> None:
    both = shown(renderer, [page_job("hash_routes.html", 0), page_job("table_of_contents.html", 1)])
    page = f"{_HERE}/hash_routes.html"
    assert both[0].hash_routes
    assert both[0].links == (f"{page}#/", f"{page}#/first", f"{page}#!second")
    assert not both[1].hash_routes


def test_a_hash_route_shows_its_own_page(renderer: Renderer) -> None:
    job = page_job("hash_routes.html")
    rendered = shown(renderer, [job._replace(url=job.url + "#/first")])[0]
    assert b"This is #/first" in rendered.dom
    assert rendered.url == f"{_HERE}/hash_routes.html#/first"
    assert rendered.redirect == ""


def test_shadow_roots_are_part_of_the_page(renderer: Renderer) -> None:
    rendered = shown_page(renderer, "shadow.html")
    assert rendered.links == tuple(f"{_HERE}/{path}" for path in ("light", "card", "deep#part", "last"))
    assert rendered.dom.count(b"<template shadowrootmode") == 2
    assert b"words in a card" in rendered.dom
    assert b"deep in the shadow" in rendered.dom


def test_lazy_images_are_asked_for_where_pictures_are_wanted(renderer: Renderer) -> None:
    asked: list[Wanted] = []

    def answer(wanted: Wanted) -> Supplied:
        asked.append(wanted)
        return site(wanted)

    rendered = shown_page(renderer, "lazy_images.html", answer, pictures=True, scrolls=3, screenshot=True)
    assert [(wanted.url, wanted.kind) for wanted in asked] == [
        (f"{_HERE}/{name}.png", "image") for name in ("first", "native", "observed")
    ]
    assert rendered.screenshot.startswith(b"\xff\xd8")
    asked.clear()
    rendered = shown_page(renderer, "lazy_images.html", answer, scrolls=3)
    assert asked == []
    assert (rendered.n_requests, rendered.n_refused, rendered.screenshot) == (0, 0, b"")


def test_time_passes_at_once_and_ends(renderer: Renderer) -> None:
    rendered = shown_page(renderer, "endless_timers.html")
    assert rendered.links == (f"{_HERE}/late",)
    assert rendered.trouble == ""
    assert shown_page(renderer, "endless_timers.html", time_s=2.0).links == ()


def test_what_never_ends_is_ended_and_still_looked_at(renderer: Renderer) -> None:
    names = ("endless_script.html", "endless_messages.html")
    script, messages = sorted(shown(renderer, [page_job(name, i, cpu_s=0.5) for i, name in enumerate(names)]).values())
    assert (script.trouble, messages.trouble) == ("cpu", "cpu")
    assert script.links == (f"{_HERE}/before", f"{_HERE}/after")
    assert messages.links == (f"{_HERE}/there",)
    assert script.cpu_s > 0.5


def test_too_many_requests_and_too_many_bytes(renderer: Renderer) -> None:
    rendered = shown_page(renderer, "endless_requests.html", max_requests=10)
    assert (rendered.trouble, rendered.n_requests, rendered.n_failed) == ("too many requests", 10, 10)
    assert rendered.n_refused > 0
    assert rendered.links == (f"{_HERE}/there",)
    rendered = shown_page(
        renderer, "endless_requests.html", lambda wanted: supplied(wanted, b"x" * 1000), max_bytes=4500
    )
    assert (rendered.trouble, rendered.n_requests, rendered.n_failed) == ("too many requests", 5, 0)


def test_windows_are_not_opened_but_known(renderer: Renderer) -> None:
    rendered = shown_page(renderer, "windows.html")
    assert b"still here, null" in rendered.dom
    assert {f"{_HERE}/popup", "https://elsewhere.test/popup", f"{_HERE}/blank"} <= set(rendered.links)
    assert (rendered.redirect, rendered.n_requests, rendered.n_refused) == ("", 0, 1)  # the download


def test_things_to_click_are_counted(renderer: Renderer) -> None:
    rendered = shown_page(renderer, "click.html")
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
    rendered = shown_page(renderer, name)
    assert rendered.redirect == target
    assert rendered.url == f"{_HERE}/{name}"
    assert rendered.title in ("Moved", "Stay", "Form")  # the first document, as far as it came
    assert rendered.n_requests == 0
    assert rendered.n_refused == (name == "form_post.html")


def test_a_page_that_empties_itself(renderer: Renderer) -> None:
    assert shown_page(renderer, "leaves.html").trouble == "left"


def test_dialogs_are_dismissed_and_end(renderer: Renderer) -> None:
    rendered = shown_page(renderer, "dialogs.html")
    assert b'<p id="said">false,</p>' in rendered.dom
    assert rendered.links == (f"{_HERE}/after",)


def test_frames(renderer: Renderer) -> None:
    asked: list[str] = []

    def answer(wanted: Wanted) -> Supplied:
        asked.append(f"{wanted.kind} {wanted.url}")
        return site(wanted)

    rendered = shown_page(renderer, "frames.html", answer)
    assert rendered.links == tuple(f"{_HERE}/{path}" for path in ("outer", "inner-link", "from-srcdoc"))
    assert sorted(asked) == [
        f"{kind} {host}/{path}"
        for kind, path in (("fetch", "api/inner"), ("frame", "inner.html"))
        for host in ("https://elsewhere.test", _HERE)
    ]


def test_routes_of_the_history(renderer: Renderer) -> None:
    rendered = shown_page(renderer, "history.html")
    assert rendered.routes == (f"{_HERE}/first", f"{_HERE}/second?a=1", f"{_HERE}/third")
    assert rendered.url == f"{_HERE}/third"
    assert b'<p id="where">/third</p>' in rendered.dom


def test_requests_and_what_becomes_of_them(renderer: Renderer) -> None:
    def answer(wanted: Wanted) -> Supplied:
        name = wanted.url.rpartition("/")[2]
        if name == "moved":
            return supplied(wanted, "", status=302, location="/api/target")
        if name == "unreachable":
            return supplied(wanted, "", status=0)
        if name == "missing":
            return supplied(wanted, "no such thing", status=404)
        if name == "other":
            return supplied(wanted, name, access_control_allow_origin=_HERE)
        return refused(wanted) if name == "refused" else supplied(wanted, name)

    rendered = shown_page(renderer, "requests.html", answer)
    said = sorted(line.partition("</li>")[0] for line in rendered.dom.decode().split("<li>")[1:] if "$" not in line)
    assert said == [
        "closed: failed",  # no other origin may read it
        "missing: 404 no such thing",
        "other: 200 other",
        "plain: 200 plain",
        "posted: failed",
        "redirected: 200 target",
        "refused: failed",
        "unreachable: failed",
    ]
    assert rendered.n_requests == 9  # with the style and the target of the redirect
    assert rendered.n_refused == 2
    assert rendered.n_failed == 2


def test_a_bomb_of_elements_and_a_very_long_text(renderer: Renderer) -> None:
    bomb, text = sorted(shown(renderer, [page_job("bomb.html", 0), page_job("large_text.html", 1)]).values())
    assert (bomb.trouble, text.trouble) == ("too large", "too large")
    assert bomb.links == text.links == (f"{_HERE}/first",)
    assert bomb.dom == b""
    assert len(text.dom) == 16 << 20


def test_a_page_that_kills_its_process_hurts_no_other(renderer: Renderer) -> None:
    found = shown(renderer, [page_job("deep.html", 0), page_job("history.html", 1), page_job("click.html", 2)])
    assert [found[i].trouble for i in range(3)] == ["crashed", "", ""]
    assert found[2].n_clickable == 3


def test_documents_in_other_charsets_and_with_odd_headers(renderer: Renderer) -> None:
    job = page_job("click.html")._replace(
        content="<title>Füße</title><p>größer".encode("latin-1"),
        headers=(("Content-Type", "text/html; charset=iso-8859-1"), *_ODD_HEADERS),
        status=404,
    )
    empty = page_job("click.html", 1)._replace(content=b"", headers=HTML, status=500)
    found = shown(renderer, [job, empty])
    assert found[0].title == "Füße"
    assert "größer".encode() in found[0].dom
    assert (found[0].trouble, found[1].trouble, found[1].links) == ("", "", ())


def test_the_page_sees_who_we_are(renderer: Renderer) -> None:
    say = b"<p id=p></p><script>p.textContent = navigator.userAgent</script>"
    jobs = [
        page_job("click.html", i)._replace(content=say, user_agent=agent)
        for i, agent in enumerate(("Orienteer/test", "Other/1"))
    ]
    found = shown(renderer, jobs)
    assert b'<p id="p">Orienteer/test</p>' in found[0].dom
    assert b'<p id="p">Other/1</p>' in found[1].dom


def test_a_page_that_takes_too_long(renderer: Renderer) -> None:
    for wall_s in (0.3, 3.0, 30.0):  # on a busy machine the page may not even have begun after the first
        rendered = shown_page(renderer, "endless_script.html", wall_s=wall_s)
        assert rendered.trouble == "time"
        if rendered.links:
            break
    assert rendered.links == (f"{_HERE}/before", f"{_HERE}/after")
