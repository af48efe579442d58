"""Boilerplate: lines that repeat on the pages of a host."""

from __future__ import annotations

import numpy as np

from orienteer.extract import boilerplate as module
from orienteer.extract.boilerplate import MIN_PAGES, HostBoilerplate

_MENU = ["Home", "Products", "Contact us"]
_NOTICE = "All offers are subject to change without notice, and prices do not include delivery."


def _lines(number: int) -> list[str]:
    said = [
        f"{word} is what page {chr(97 + number)} says about its subject, at some length."
        for word in ["One", "Two", "Three"]
    ]
    return [*_MENU, *said, "Parameters", f"Of {chr(97 + number)}", _NOTICE]


def _learned(n_pages: int) -> HostBoilerplate:
    boilerplate = HostBoilerplate()
    for number in range(n_pages):
        boilerplate.learn("a.org", _lines(number))
    return boilerplate


def test_repeated_lines_are_boilerplate_against_the_model():
    mask = _learned(10).main_lines("a.org", _lines(3), bytes([200] * 9))
    main = [line for line, is_main in zip(_lines(3), mask, strict=True) if is_main]
    assert main == _lines(3)[3:8]  # "Parameters" has other neighbors on each page


def test_the_end_of_the_page_is_a_neighbor():
    shares = _learned(10).repeated("a.org", _lines(3))
    assert shares is not None
    assert (shares[-1], shares[0], shares[4]) == (1, 1, 0)


def test_a_unique_line_within_main_text_is_raised():
    scores = bytes([5, 5, 5, 200, 90, 200, 90, 200, 5])
    mask = _learned(10).main_lines("a.org", _lines(3), scores)
    assert mask.tolist() == [False] * 3 + [True] * 5 + [False]


def test_few_pages_are_no_evidence():
    scores = bytes([200] * 9)
    assert _learned(MIN_PAGES - 1).main_lines("a.org", _lines(0), scores).all()
    assert _learned(MIN_PAGES - 1).repeated("a.org", _lines(0)) is None
    assert HostBoilerplate().main_lines("b.org", ["x"], b"\x80").tolist() == [True]


def test_pages_of_the_same_content_do_not_erase_each_other():
    boilerplate = HostBoilerplate()
    for number in range(20):
        boilerplate.learn("a.org", [f"Sorted by {chr(97 + number)}", *_lines(0)])
    mask = boilerplate.main_lines("a.org", _lines(0), bytes([5, 5, 5, *[200] * 5, 5]))
    assert mask[3:8].all()


def test_fully_repeated_pages_keep_the_decision_of_the_model():
    boilerplate = HostBoilerplate()
    for number in range(20):
        boilerplate.learn("a.org", ["Menu", "Short", "Lines", f"{chr(97 + number)}"])
    mask = boilerplate.main_lines("a.org", ["Menu", "Short", "Lines"], bytes([10, 250, 250]))
    assert mask.tolist() == [False, True, True]


def test_hosts_are_separate():
    boilerplate = _learned(10)
    for _ in range(10):
        boilerplate.learn("b.org", ["Nothing"])
    assert boilerplate.main_lines("b.org", _lines(3), bytes([200] * 9)).all()


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_PAIRS", 50)
    boilerplate = _learned(40)
    assert len(boilerplate._hosts["a.org"].pairs) <= 60
    assert not boilerplate.main_lines("a.org", _lines(3), bytes([200] * 9))[:3].any()


def test_a_page_without_lines():
    assert np.array_equal(_learned(10).main_lines("a.org", [], b""), np.array([], bool))
