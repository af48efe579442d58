"""Pages as a browser has shown them: how they stand in an archive, and what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.headers import Headers
from orienteer.answers.meaning import Meaning, Verdict, meaning_of
from orienteer.answers.shown import Shown, archived_document, shown_of
from orienteer.answers.shown_reading import page_as_shown, redirect_of
from orienteer.extract.links import COMES_WITH_SCROLLING, NEEDS_CLICK, SCRIPTED
from orienteer.extract.page import Page, extract_page
from orienteer.pages.outcome import Outcome

URL = "http://a.test/app/"
EMPTY = b"<title>App</title><div id=root></div><script src=app.js></script>"  # made by scripts
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    shown=st.builds(
        Shown,
        url=TEXTS.filter(bool),
        document=st.binary(max_size=50),
        links=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
        redirect=TEXTS,
        n_clickable=st.integers(0, 1 << 20),
        grows=st.booleans(),
        n_refused=st.integers(0, 1 << 20),
        trouble=TEXTS,
    )
)
def test_it_comes_back_from_the_archive_as_it_was(shown: Shown) -> None:
    document = archived_document(shown)
    assert shown_of(document, "http://other.test/") == shown
    comment, end, rest = document.partition(b"-->\n")
    assert (b"--" in comment.removeprefix(b"<!--"), end, rest) == (False, b"-->\n", shown.document)


@pytest.mark.parametrize("front", [b"<!--orienteer {-->\n", b"<!--orienteer [1]-->\n", b"<!-- orienteer {}-->\n", b""])
def test_what_others_wrote_is_the_document(front: bytes) -> None:
    assert shown_of(front + b"<p>x", URL) == Shown(URL, front + b"<p>x")


def test_facts_of_strangers_are_checked() -> None:
    found = shown_of(b'<!--orienteer {"url": 1, "links": [2, "http://b.test/"], "n_clickable": -5}-->\n<p>x', URL)
    assert found == Shown(URL, b"<p>x", ("http://b.test/",))


def sent(html: bytes = EMPTY) -> Page:
    return extract_page(html, URL)


def as_shown(document: bytes, html: bytes = EMPTY, **facts) -> Page:
    return page_as_shown(sent(html), Shown(URL, document, **facts), URL)


LINKS = b"<a href=1>one</a> <a href=2>two</a> <a href=3>three</a>"


def test_links_are_those_sent_and_those_shown_and_the_text_is_shown() -> None:
    page = as_shown(b"<title>Shown</title><p>words" + LINKS, b"<title>Sent</title><p>old<a href=0>zero</a>" + LINKS)
    assert page.links == [URL + name for name in "0123"]
    assert page.title == "Shown"
    assert "words" in page.text
    assert "old" not in page.text
    assert (URL + "0", "zero") in page.anchors


def test_routes_and_windows_are_links_and_fragments_name_pages_only_as_routes() -> None:
    page = as_shown(b"<p>x", links=(URL + "item/1", URL + "#/item/2", URL + "#top", "http://b.test/w", "mailto:a@b.c"))
    assert page.links == [URL + "item/1", URL + "#/item/2", "http://b.test/w"]


def test_a_link_that_robots_are_asked_not_to_follow_is_not_followed_for_having_been_seen() -> None:
    page = as_shown(b"<a href=1 rel=nofollow>x</a>" + b"<a href=2>y</a>", links=(URL + "1", URL + "2"))
    assert (page.links, page.nofollow_links) == ([URL + "2"], (URL + "1",))
    whole = as_shown(b"<meta name=robots content=nofollow><a href=2>y</a>", links=(URL + "2",))
    assert (whole.links, whole.nofollow_links, whole.nofollow) == ([], (URL + "2",), True)


def test_shadows_are_read() -> None:
    assert as_shown(b"<x-a><template shadowrootmode=open><a href=1>in the shadow</a></template></x-a>").links == [
        URL + "1"
    ]


@pytest.mark.parametrize(
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
def test_what_a_browser_does_not_know_is_unknown(facts: dict, document: bytes, unknown: tuple[str, ...]) -> None:
    assert sent().is_suspect
    page = as_shown(document, **facts)
    assert page.unknown_links == unknown
    assert bool(page.why_uncounted) == bool(unknown)


def test_things_to_click_on_a_page_with_many_links_that_scripts_did_not_make_do_not_count() -> None:
    plain = LINKS + b"<p>" + b"many plain words " * 30
    assert as_shown(plain, plain, n_clickable=2).unknown_links == ()


def test_a_page_of_which_nothing_was_shown_is_as_it_was_sent() -> None:
    assert as_shown(b"", trouble="crashed") == sent()


@pytest.mark.parametrize(
    ("redirect", "target"),
    [
        ("", None),
        ("next", URL + "next"),
        ("http://b.test/#x", "http://b.test/"),
        ("#elsewhere", None),
        ("mailto:a@b.test", None),
        (URL, None),
    ],
)
def test_a_redirect_by_script_is_one(redirect: str, target: str | None) -> None:
    shown = Shown(URL, b"<p>x", redirect=redirect)
    assert redirect_of(shown, URL) == target
    answer = Fetched(
        Request(URL, 0), Outcome.OK, 200, headers=Headers([("Content-Type", "text/html")]), content=EMPTY, shown=shown
    )
    found = meaning_of(answer)
    assert (found.verdict, found.target) == ((Verdict.REDIRECT, target) if target else (Verdict.FETCHED, None))


def test_the_meaning_holds_both_pages() -> None:
    answer = Fetched(Request(URL, 0), Outcome.OK, 200, headers=Headers([("Content-Type", "text/html")]), content=EMPTY)
    found: Meaning = meaning_of(replace(answer, shown=Shown(URL, LINKS)))
    assert found.sent == meaning_of(answer).page
    assert found.links == [URL + name for name in "123"]
    assert (meaning_of(answer).unknown, found.unknown) == (SCRIPTED, "")
