"""What the readers rely on in the HTML library, which is young: another version that behaves otherwise fails here."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from orienteer.extract.parser import TokenType, charset_of, dispatch, tokens
from tests.extract.pieces import mutated, random_page


class Collected:
    """A handler that stores its tokens, with adjacent texts joined."""

    handle_comment = handle_decl = handle_pi = bool

    def __init__(self, html: str) -> None:
        self.found: list[tuple[object, ...]] = []
        dispatch(html, self)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str]]) -> None:
        self.found.append(("start", tag, tuple(attributes)))

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        self.found.append(("end", tag))

    def handle_data(self, text: str) -> None:
        if self.found and self.found[-1][0] == "text":
            text = f"{self.found.pop()[1]}{text}"
        self.found.append(("text", text))


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<A HREF=x Href=y>", [("start", "a", (("href", "x"),))]),  # names in lower case; the first attribute counts
        ("<a href>", [("start", "a", (("href", ""),))]),
        ("<a href='&amp;&lt;&notit;'>", [("start", "a", (("href", "&<&notit;"),))]),
        ("<a b=c/>", [("start", "a", (("b", "c/"),))]),
        ("x&amp;&#65;&#0;&copy", [("text", "x&A\ufffd©")]),
        ("<title>a<b>&amp;</title>c", [("start", "title", ()), ("text", "a<b>&"), ("end", "title"), ("text", "c")]),
        ("<script>a&amp;<b></script>", [("start", "script", ()), ("text", "a&amp;<b>"), ("end", "script")]),
        ("<textarea><a></textarea>", [("start", "textarea", ()), ("text", "<a>"), ("end", "textarea")]),
        ("<plaintext><a>", [("start", "plaintext", ()), ("text", "<a>")]),
        ("a<!-- <b> -->c<!-->d<?x>e</>f", [("text", "acdef")]),
        ("a<b", [("text", "a")]),
        ("1 < 2", [("text", "1 < 2")]),
    ],
)
def test_tokens(html: str, found: list[tuple[object, ...]]) -> None:
    assert Collected(html).found == found


def _by_iteration(html: str) -> list[tuple[object, ...]]:
    kinds = {TokenType.START_TAG: "start", TokenType.END_TAG: "end", TokenType.TEXT: "text"}
    found: list[tuple[object, ...]] = []
    for token in tokens(html):
        kind = kinds.get(token.type)
        if kind == "text" and found and found[-1][0] == "text":
            found.append(("text", f"{found.pop()[1]}{token.data}"))
        elif kind == "text":
            found.append(("text", token.data))
        elif kind == "end":
            found.append(("end", token.tag))
        elif kind == "start":
            found.append(("start", token.tag, tuple(token.attrs or ())))
    return found


def _pages(n_pages: int) -> list[str]:
    rng = random.Random(20261119)
    return [mutated(rng, random_page(rng)) for _ in range(n_pages)]


def test_both_ways_to_read_tokens_agree() -> None:
    for html in _pages(2_000):
        assert _by_iteration(html) == Collected(html).found, html


def test_threads_do_not_share_state() -> None:
    pages = _pages(400)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda html: Collected(html).found, pages)) == [Collected(html).found for html in pages]


@pytest.mark.parametrize(
    ("html", "charset"),
    [
        (b"", "utf-8"),
        ("é".encode(), "utf-8"),
        (b"caf\xe9", "windows-1252"),
        (b"<meta charset=latin1>", "windows-1252"),
        (b"<meta http-equiv=content-type content='text/html; charset=shift_jis'>\x82\xa0", "shift_jis"),
        (b"\xff\xfea\0", "utf-16le"),
        (b"\xef\xbb\xbf<meta charset=latin1>", "utf-8"),
    ],
)
def test_encodings(html: bytes, charset: str) -> None:
    assert charset_of(html) == charset
