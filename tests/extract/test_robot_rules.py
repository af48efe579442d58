"""Rules for robots in headers and elements."""

from __future__ import annotations

import pytest

from orienteer.extract.page import extract_page
from orienteer.extract.robot_rules import robot_name, rules_of, rules_of_header
from tests.tables import over_rows


@over_rows(
    ("text", "noindex", "nofollow"),
    [
        ("", False, False),
        ("noindex", True, False),
        ("NOINDEX, NoFollow", True, True),
        ("noarchive , none", True, True),
        ("otherbot: noindex", False, False),
        ("otherbot: noindex, nofollow", False, False),
        ("otherbot: noindex, orienteer: nofollow", False, True),
        ("orienteer: noindex, otherbot: nofollow", True, False),
        ("otherbot: noindex\nnofollow", False, True),
        ("otherbot: noindex\r\nOrienteer : nofollow", False, True),
        ("*: noindex", True, False),
        ("max-snippet: 20, noindex", True, False),
        ("max-image-preview: large\nnofollow", False, True),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", True, False),
        ("unavailable_after: Wed, 25 Jun 2030 15:00:00 GMT, noindex", True, False),
        ("noindexed, unnofollow", False, False),
        (": noindex", True, False),
        ("max-image-preview: none", False, False),
        ("max-snippet:0, max-image-preview:none, max-video-preview: 0", False, False),
        ("orienteer: max-image-preview: none, nofollow", False, True),
        ("otherbot: max-image-preview: none, nofollow", False, False),
        ("unavailable_after: 25 Jun 2030, 15:00:00, nofollow", False, True),
        ("unavailable_after: Wednesday, 25-Jun-30 15:00:00 UTC", False, False),
        ("unavailable_after: nofollow", False, False),
        ("unavailable_after: none, otherbot: nofollow", False, False),
        ("otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow", False, False),
        ("googlebot: nofollow\notherbot: noindex, nofollow", False, False),
        ("index, follow, all", False, False),
        ("notarule, nofollow-me, no follow", False, False),
        (",,,:::\n,:", False, False),
    ],
)
def test_rules_in_a_header_hold_for_all_or_for_the_robot_named(text, noindex, nofollow):
    assert rules_of_header(text)[:2] == (noindex, nofollow)


def test_rules_add_up():
    assert rules_of("noindex") | rules_of("nofollow") | rules_of("all") == (True, True, False)


@pytest.mark.parametrize("text", ["a" * 10**6, " " * 10**6, "unavailable_after:" + "a" * 10**6, "x:" * 500_000])
def test_a_hostile_header_forbids_nothing(text):
    assert rules_of_header(text) == (False, False, False)


@over_rows(
    ("date", "is_past"),
    [
        ("25 Jun 2010 15:00:00 PST", True),
        ("Fri, 25 Jun 2010 15:00:00 GMT", True),
        ("Friday, 25-Jun-10 15:00:00 UTC", True),
        ("2010-06-25", True),
        ("2010-06-25T15:00:00+00:00", True),
        ("2010-06-25T15:00:00Z", True),
        ("25 Jun 2090 15:00:00 PST", False),
        ("2090-06-25", False),
        ("Thu, 01 Jan 2026 00:00:00 GMT", True),
        ("Thu, 01 Jan 2026 00:00:01 GMT", False),
        ("some day", False),
        ("0", False),
        ("", False),
        ("9999-12-31T23:59:59-14:00", False),
    ],
)
def test_a_page_past_its_date_is_not_indexed_and_its_links_are_followed(date, is_past):
    now = 1767225600.0  # 2026-01-01
    for rules, text in (
        (rules_of_header, f"unavailable_after: {date}"),
        (rules_of_header, f"orienteer: unavailable_after: {date}, noarchive"),
        (rules_of, f"noarchive, unavailable_after: {date}"),
    ):
        assert rules(text, now)[:2] == (is_past, False)
        assert rules(text)[:2] == (False, False)
    assert rules_of_header(f"otherbot: unavailable_after: {date}", now) == (False, False, False)


@over_rows(
    ("content", "noindex", "nofollow"),
    [
        ("noindex nofollow", True, True),
        ("max-image-preview: none", False, False),
        ("max-image-preview:none,nofollow", False, True),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", False, False),
        ("NONE", True, True),
    ],
)
def test_rules_in_an_element(content, noindex, nofollow):
    assert rules_of(content)[:2] == (noindex, nofollow)


@over_rows(
    ("text", "noarchive"),
    [
        ("noarchive", True),
        ("NoArchive, noindex", True),
        ("nocache", True),
        ("noindex, nofollow, none", False),
        ("archive", False),
        ("otherbot: noarchive", False),
        ("otherbot: noindex, orienteer: noarchive", True),
    ],
)
def test_noarchive(text: str, noarchive: bool) -> None:
    assert rules_of_header(text).noarchive == noarchive


def test_rules_for_our_robot() -> None:
    text = "orienteer: noindex, my-bot: nofollow"
    assert rules_of_header(text, robot="my-bot") == (False, True, False)
    assert rules_of_header(text, robot="third") == (False, False, False)
    html = b"<meta name=My-Bot content=noindex><meta name=robots content=noarchive><meta content=nofollow>"
    for robot, noindex in (("my-bot", True), ("orienteer", False), ("robots", False)):
        page = extract_page(html, "http://example.org/", robot=robot)
        assert (page.noindex, page.nofollow, page.noarchive) == (noindex, False, True)


@over_rows(
    ("user_agent", "name"),
    [("Orienteer/1.0 (+http://x)", "orienteer"), ("My-Bot_2", "my-bot_2"), ("(Bot) x", "bot"), ("", ""), ("/ *", "")],
)
def test_the_name_of_a_robot_is_its_product_token(user_agent: str, name: str) -> None:
    assert robot_name(user_agent) == name
