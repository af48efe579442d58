"""Languages, declared and detected."""

from __future__ import annotations

import pytest

from orienteer.extract.language import MIN_DETECTION_CHARS, detected, primary_language
from tests.tables import over_rows


@over_rows(
    ("tag", "language"),
    [
        ("en", "en"),
        (" EN-us ", "en"),
        ("zh-Hans-CN", "zh"),
        ("pt_BR", "pt"),
        ("gsw", "gsw"),
        ("fr, en", "fr"),
        ("x-default", ""),
        ("i-klingon", ""),
        ("english", ""),
        ("e", ""),
        ("", ""),
        ("12", ""),
        ("日本", ""),
    ],
)
def test_a_tag_is_cut_to_its_language(tag, language):
    assert primary_language(tag) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("A crawler fetches pages, reads their links, and decides which page to fetch next.", "en"),
        ("Der Roboter liest die Seiten, folgt ihren Verweisen und entscheidet, welche Seite als nächste kommt.", "de"),
        ("Робот читает страницы, следует по ссылкам и решает, какую страницу загрузить следующей.", "ru"),
    ],
)
def test_detection(text, language):
    assert detected(text) == language
    assert detected(text * 1000) == language


def test_short_texts_are_not_detected():
    assert detected("") == detected("x" * (MIN_DETECTION_CHARS - 1)) == ""
