"""Rules for robots in headers."""

from __future__ import annotations

import pytest

from orienteer.extract.robot_rules import rules_of, rules_of_header


@pytest.mark.parametrize(
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
        (",,,:::\n,:", False, False),
    ],
)
def test_rules_in_a_header_hold_for_all_or_for_the_robot_named(text, noindex, nofollow):
    assert rules_of_header(text) == (noindex, nofollow)


def test_rules_add_up():
    assert rules_of("noindex") | rules_of("nofollow") | rules_of("all") == (True, True)


@pytest.mark.parametrize("text", ["a" * 10**6, " " * 10**6, "unavailable_after:" + "a" * 10**6, "x:" * 500_000])
def test_a_hostile_header_forbids_nothing(text):
    assert rules_of_header(text) == (False, False)
