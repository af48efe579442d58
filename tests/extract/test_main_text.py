"""Main text detection."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orienteer.extract.blocks import Block
from orienteer.extract.feature_columns import CHARS, ENDS_SENTENCE, FIGURES, SENTENCES, WORDS, line_counts
from orienteer.extract.learned_words import element_words
from orienteer.extract.line_places import placed
from orienteer.extract.main_text import MAIN, arrays_of, as_bytes, load_model, model_of, whole_groups
from orienteer.extract.page import extract_page
from orienteer.extract.page_text import LINE_NODES, NAMES
from orienteer.extract.reader import read
from tests.tables import over_rows

_URL = "http://example.org/news/a-bridge-for-the-town"
_SENTENCE = "The council decided on Monday that the old bridge across the river, closed since March, will be rebuilt. "
_ARTICLE = f"""<html><head><title>A bridge for the town</title></head><body>
<nav class="menu"><ul><li><a href=/>Home</a><li><a href=/news>News</a><li><a href=/sport>Sport</a></ul></nav>
<div class="cookie-banner"><p>We use cookies. <button>Accept all</button></p></div>
<article class="post"><h1>A bridge for the town</h1><div class="entry-content">
<p>{_SENTENCE * 3}</p><p>{_SENTENCE.replace("Monday", "Tuesday") * 3}</p><p>{_SENTENCE.replace("old", "new") * 4}</p>
</div></article>
<aside class="related"><h3>Related articles</h3><ul><li><a href=/1>One more</a><li><a href=/2>Another</a></ul></aside>
<footer class="site-footer"><p>Copyright 2025 The Paper. <a href=/privacy>Privacy policy</a></p></footer>
</body></html>""".encode()


def _page(html: bytes, **asked: bool):
    return extract_page(html, _URL, with_scores=True, **asked)


def test_the_article_is_main_text_and_menus_are_not():
    main = _page(_ARTICLE).main_text
    assert main.count("The council decided") == 10
    for boilerplate in ("Sport", "cookies", "Related", "Copyright"):
        assert boilerplate not in main


def test_a_score_for_each_line_of_the_text():
    page = _page(_ARTICLE)
    assert len(page.line_scores) == len(page.text.split("\n"))
    main = [line for line, score in zip(page.text.split("\n"), page.line_scores, strict=True) if score >= MAIN]
    assert "\n".join(main) == page.main_text


def test_blocks_and_lines_have_the_same_scores():
    one, other = _page(_ARTICLE), _page(_ARTICLE, with_blocks=True)
    assert one.text == other.text
    assert one.main_text == other.main_text


def test_scores_only_on_request():
    page = extract_page(_ARTICLE, _URL)
    assert page.line_scores == b""
    assert page.main_text == page.text


@pytest.mark.parametrize("html", [b"<p>Hi", b"<nav><a href=/>Home</a></nav>", b"<ul><li>a<li>b</ul>", b"<footer>x"])
def test_where_there_is_text_there_is_main_text(html: bytes):
    assert _page(html).main_text


def test_an_empty_page_has_none():
    page = _page(b"<html></html>")
    assert (page.line_scores, page.main_text) == (b"", "")


def test_repeated_lines_are_main_text_once():
    twice = _ARTICLE.replace(b"</article>", f"<p>{_SENTENCE * 3}</p></article>".encode())
    assert _page(twice).main_text.count(_SENTENCE.strip()) == _page(_ARTICLE).main_text.count(_SENTENCE.strip())


def test_a_page_with_uncertain_lines_has_a_low_threshold():
    scores = np.array([0.45, 0.4, 0.42, 0.01])
    assert list(np.frombuffer(as_bytes(scores, np.full(4, 10.0)), np.uint8) >= MAIN) == [True, True, True, False]


def test_the_model_round_trips():
    again = model_of(arrays_of(load_model()))
    assert again.words == load_model().words
    for one, other in ((again.first, load_model().first), (again.second, load_model().second)):
        assert all(
            np.array_equal(a, b)
            for x, y in zip(one.layers, other.layers, strict=True)
            for a, b in zip(x, y, strict=True)
        )


# Reading by lines


@over_rows(
    "html",
    [
        _ARTICLE,
        b"<p>a <a href=x>b <b>c</b></a> d<p>\xe2\x80\x83e<br>f",
        b"<table><tr><td>1<td><a href=/><div>in a link</div></a></table>\0x",
        b"\xe2\x80\x83<p>\xe2\x80\x83<p>only this<p>\xe2\x80\x83",
        b"<noscript><p>hidden</noscript><p>shown<iframe>x</iframe>",
        b"<b><p>a<p><i><a href=/><div>b</div></a></i></b><p>c<span id=x><p>d",
    ],
)
def test_the_places_are_those_of_the_blocks(html: bytes):
    _check_against_blocks(html)


def _check_against_blocks(html: bytes) -> None:
    reader = read(html, with_blocks=True, with_nodes=True)
    if reader.noscript_text or not reader.text:
        return
    assert reader.lines is not None
    lines, places = [block for block in reader.blocks if block.text], placed(reader.lines)
    assert "\n".join(line.text for line in lines) == reader.text
    assert places.linked.tolist() == [line.n_linked for line in lines]
    for line, place in zip(lines, places.of_lines.tolist(), strict=True):
        for element in line.element.chain():
            if element.number and element.name not in LINE_NODES:
                continue
            assert NAMES[places.names[place]] == element.name
            assert element_words(places.words_of(place)) == element_words(element.words)
            place = int(places.parents[place])


def _groups_of_blocks(lines: list[Block]) -> list[tuple[str, int] | None]:
    """The code block or the table of each line, by the definition: a table is data if it has rows and short cells."""
    chains = [list(line.element.chain()) for line in lines]
    rows, n_lines, n_chars, layouts = defaultdict(set), Counter(), Counter(), set()
    for line, chain in zip(lines, chains, strict=True):
        tables = [element for element in chain if element.name == "table"]
        layouts.update(tables[1:])
        for k, element in enumerate(chain):
            outer = [other for other in chain[k + 1 :] if other.name == "table"]
            if element.name == "pre" or (element.name[0] == "h" and element.name[1:].isdigit()):
                layouts.update(outer)
            if element.name in ("td", "th"):
                n_lines[element] += 1
                n_chars[element] += len(line.text)
                if n_lines[element] > 12 or n_chars[element] > 2_000:
                    layouts.update(outer)
            if element.name == "tr":
                rows[next((other for other in chain[k + 1 : k + 3] if other.name == "table"), None)].add(element)
    groups: list[tuple[str, int] | None] = []
    for chain in chains:
        found = None
        for element in chain:
            is_data = element.name == "table" and element not in layouts and len(rows[element]) >= 2
            if element.name == "pre" or is_data:
                found = element.name, element.number
                break
        groups.append(found)
    return groups


_CELLS = st.sampled_from(
    ["<table>", "</table>", "<tr>", "<td>", "<th>", "<tbody>", "<pre>", "</pre>", "<h2>", "</h2>", "<p>", "<div>",
     "</div>", "a", "b " * 3, "c<br>" * 13, "d" * 2_001]
)  # fmt: skip


@given(st.lists(_CELLS, max_size=60).map("".join))
@example("<table><tr><td>a<td>b<tr><td>c<td>d</table><pre>x</pre><pre>y</pre><p>z")
def test_code_and_tables_are_groups_of_lines(html: str):
    reader = read(html.encode(), with_blocks=True, with_nodes=True)
    lines = [block for block in reader.blocks if block.text]
    if reader.lines is None or not lines:
        return
    expected = _groups_of_blocks(lines)
    places = placed(reader.lines)
    found = places.numbered_groups(places.groups(np.array([len(line.text) for line in lines]))) or bytes(len(lines))
    assert [number > 0 for number in found] == [group is not None for group in expected]
    for k, number in enumerate(found):
        assert number == 0 or (number % 2 == 1) == (expected[k][0] == "pre")
        assert k == 0 or (found[k - 1] == number) == (expected[k - 1] == expected[k])


@over_rows(
    ("is_main", "groups", "expected"),
    [
        ("1101", "0000", "1101"),
        ("1010", "0101", "1111"),  # code after main text
        ("1011", "0200", "1011"),
        ("0011", "1100", "0011"),  # code before main text
        ("1101", "2222", "1111"),
        ("1000", "0222", "1000"),
        ("01000", "22222", "01000"),  # nothing would be left
        ("11010", "12222", "11111"),
        ("1010", "0112", "1110"),
    ],
)
def test_groups_are_whole(is_main: str, groups: str, expected: str):
    mask = np.array([flag == "1" for flag in is_main])
    whole = whole_groups(mask, ["line"] * len(mask), bytes(map(int, groups)))
    assert "".join(str(int(flag)) for flag in whole) == expected


_TAGS = st.sampled_from(
    ["<p>", "</p>", "<a href=/>", "</a>", "<div class=x>", "</div>", "<td>", "<table>", "</table>", "<b>", "<h1>",
     "a b ", "c\n", "&nbsp;", "<script>", "</script>", "<noscript>", "</noscript>", "<title>", "</title>", "é", "<br>",
     "\u00ad",
     "\0", "\x1e", "<", "<li ID='Main' class=Share-Box>", "<textarea>", "</textarea>", "<a href=#x>¶</a>", "<svg>",
     "</svg>", "<iframe>", "</iframe>", "<nav role=a class='>b\"c'>", "&#0;", "&am", "p;"]
)  # fmt: skip


@given(st.lists(_TAGS, max_size=40).map("".join))
def test_the_places_of_any_page_are_those_of_its_blocks(html: str):
    _check_against_blocks(html.encode())


@given(st.lists(_TAGS, max_size=40).map("".join))
def test_any_page_has_a_score_for_each_line(html: str):
    content = html.encode()
    page = extract_page(content, _URL, "utf-8", with_scores=True)
    assert page.text == extract_page(content, _URL, "utf-8").text
    assert len(page.line_scores) == (len(page.text.split("\n")) if page.text else 0)
    assert bool(page.main_text) == bool(page.text)


def test_counts_of_lines():
    counts = line_counts('He said: "No 1." And left\n日本語。\nmenu', 3)
    assert counts[:, CHARS].tolist() == [25, 4, 4]
    assert counts[:, WORDS].tolist() == [6, 4, 1]
    assert counts[:, SENTENCES].tolist() == [1, 2, 0]
    assert counts[:, FIGURES].tolist() == [1, 0, 0]
    assert counts[:, ENDS_SENTENCE].tolist() == [0, 1, 0]
