"""Rendered pages: serialization for the archive, and parsing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.links import COMES_WITH_SCROLLING, NEEDS_CLICK, SCRIPTED
from orienteer.extract.page import Page, extract_page
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.rendered import (
    RenderedPage,
    archived_document,
    page_as_rendered,
    redirect_of,
    rendered_document_of,
)
from orienteer.responses.response import PageRequest, Response
from orienteer.responses.verdict import Verdict, VerdictKind, verdict_of
from tests.tables import over_rows

URL = "http://a.test/app/"
EMPTY = b"<title>App</title><div id=root></div><script src=app.js></script>"  # made by scripts
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    rendered=st.builds(
        RenderedPage,
        url=TEXTS.filter(bool),
        document=st.binary(max_size=50),
        links=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
        redirect=TEXTS,
        n_clickable=st.integers(0, 1 << 20),
        grows=st.booleans(),
        n_refused=st.integers(0, 1 << 20),
        trouble=TEXTS,
        named_routes=st.booleans(),
        only_routes=st.booleans(),
        anchors=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
    )
)
def test_the_archived_document_round_trips(rendered: RenderedPage) -> None:
    document = archived_document(rendered)
    stored = rendered._replace(screenshot=b"", n_requests=0, cpu_s=0.0)
    assert rendered_document_of(document, "http://other.test/") == stored
    comment, end, rest = document.partition(b"-->\n")
    assert (b"--" in comment.removeprefix(b"<!--"), end, rest) == (False, b"-->\n", rendered.document)


@pytest.mark.parametrize("front", [b"<!--orienteer {-->\n", b"<!--orienteer [1]-->\n", b"<!-- orienteer {}-->\n", b""])
def test_a_document_without_our_comment_is_unchanged(front: bytes) -> None:
    assert rendered_document_of(front + b"<p>x", URL) == RenderedPage(URL, front + b"<p>x")


def test_facts_in_the_comment_are_validated() -> None:
    found = rendered_document_of(
        b'<!--orienteer {"url": 1, "links": [2, "http://b.test/"], "n_clickable": -5}-->\n<p>x', URL
    )
    assert found == RenderedPage(URL, b"<p>x", ("http://b.test/",))


def sent(html: bytes = EMPTY) -> Page:
    return extract_page(html, URL)


def as_rendered(document: bytes, html: bytes = EMPTY, **facts) -> Page:
    return page_as_rendered(sent(html), RenderedPage(URL, document, **facts), URL)


LINKS = b"<a href=1>one</a> <a href=2>two</a> <a href=3>three</a>"


def test_links_are_the_union_and_the_text_is_as_rendered() -> None:
    page = as_rendered(b"<title>Shown</title><p>words" + LINKS, b"<title>Sent</title><p>old<a href=0>zero</a>" + LINKS)
    assert page.links == [URL + name for name in "0123"]
    assert page.title == "Shown"
    assert "words" in page.text
    assert "old" not in page.text
    assert (URL + "0", "zero") in page.anchors


def test_routes_and_windows_are_links_and_other_fragments_are_dropped() -> None:
    page = as_rendered(
        b"<p>x", links=(URL + "item/1", URL + "#/item/2", URL + "#top", "http://b.test/w", "mailto:a@b.c")
    )
    assert page.links == [URL + "item/1", URL + "#/item/2", "http://b.test/w"]


def test_route_fields_that_are_anchors_are_dropped() -> None:
    seen = ("#/guide?id=one", "#/guide?id=two#x", "#/guide?v=2&id=one", "#/guide", "#top")
    links = (*(URL + fragment for fragment in seen), "http://b.test/#/guide?id=one")
    page = as_rendered(b"<p>x", links=links, anchors=("?id",))
    pages = [URL + fragment for fragment in ("#/guide", "#/guide#x", "#/guide?v=2")]
    assert page.links == [*pages, "http://b.test/#/guide?id=one"]
    own = page_as_rendered(
        sent(), RenderedPage(URL + "#/guide", b"<p>x", links=links[:2], anchors=("?id", "#")), URL + "#/guide"
    )
    assert own.links == []


def test_a_route_is_not_a_link_to_the_application_itself() -> None:
    routes = (URL + "#/one", URL + "#/two")
    markup = b"<a href='#/one'>one</a> <a href='#/two'>two</a>"
    page = page_as_rendered(sent(EMPTY + markup), RenderedPage(URL, markup, routes, only_routes=True), routes[0])
    assert page.links == [routes[1]]
    markup += b"<a href=./>home</a>"
    assert page_as_rendered(sent(), RenderedPage(URL, markup, (*routes, URL)), routes[0]).links == [URL, routes[1]]


def test_named_fragments_are_routes_if_the_browser_found_so() -> None:
    assert as_rendered(b"<p>x", links=(URL + "#about",), named_routes=True).links == [URL + "#about"]
    assert as_rendered(b"<p>x", links=(URL + "#about",)).links == []


def test_nofollow_links_are_not_followed_after_rendering() -> None:
    page = as_rendered(b"<a href=1 rel=nofollow>x</a>" + b"<a href=2>y</a>", links=(URL + "1", URL + "2"))
    assert (page.links, page.nofollow_links) == ([URL + "2"], (URL + "1",))
    page_wide = as_rendered(b"<meta name=robots content=nofollow><a href=2>y</a>", links=(URL + "2",))
    assert (page_wide.links, page_wide.nofollow_links, page_wide.nofollow) == ([], (URL + "2",), True)


def test_shadow_roots_are_parsed() -> None:
    assert as_rendered(b"<x-a><template shadowrootmode=open><a href=1>in the shadow</a></template></x-a>").links == [
        URL + "1"
    ]


@over_rows(
    ("facts", "document", "unknown"),
    [
        ({}, LINKS, ()),
        ({}, b"<p>no links at all, and a browser has looked", ()),
        ({"trouble": "time"}, b"<p>half", (SCRIPTED,)),
        ({"n_refused": 1}, LINKS + b"<p>many words " * 60, ()),
        ({"n_refused": 1}, EMPTY, (SCRIPTED,)),
        ({"n_clickable": 2}, b"<div>open</div>", (NEEDS_CLICK,)),
        ({"grows": True}, LINKS, (COMES_WITH_SCROLLING,)),
    ],
)
def test_incomplete_renderings_have_unknown_links(facts: dict, document: bytes, unknown: tuple[str, ...]) -> None:
    assert sent().is_suspect
    page = as_rendered(document, **facts)
    assert page.unknown_links == unknown
    assert bool(page.why_uncounted) == bool(unknown)


def test_clickable_elements_of_plain_pages_with_many_links_do_not_count() -> None:
    plain = LINKS + b"<p>" + b"many plain words " * 30
    assert as_rendered(plain, plain, n_clickable=2).unknown_links == ()


def test_without_a_rendered_document_the_page_is_as_sent() -> None:
    assert as_rendered(b"", trouble="crashed") == sent()


@over_rows(
    ("redirect", "target"),
    [
        ("", None),
        ("next", URL + "next"),
        ("http://b.test/#x", "http://b.test/"),
        ("#section", None),
        ("mailto:a@b.test", None),
        (URL, None),
    ],
)
def test_a_redirect_by_script_is_a_redirect(redirect: str, target: str | None) -> None:
    rendered = RenderedPage(URL, b"<p>x", redirect=redirect)
    assert redirect_of(rendered, URL) == target
    response = Response(
        PageRequest(URL, 0),
        Outcome.OK,
        200,
        headers=Headers([("Content-Type", "text/html")]),
        content=EMPTY,
        rendered=rendered,
    )
    found = verdict_of(response)
    assert (found.kind, found.target) == ((VerdictKind.REDIRECT, target) if target else (VerdictKind.FETCHED, None))


def test_the_verdict_has_both_pages() -> None:
    response = Response(
        PageRequest(URL, 0), Outcome.OK, 200, headers=Headers([("Content-Type", "text/html")]), content=EMPTY
    )
    found: Verdict = verdict_of(replace(response, rendered=RenderedPage(URL, LINKS)))
    assert found.sent == verdict_of(response).page
    assert found.links == [URL + name for name in "123"]
    assert (verdict_of(response).unknown, found.unknown) == (SCRIPTED, "")
