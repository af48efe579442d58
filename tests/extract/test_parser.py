"""The encodings of pages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.parser import charset_of, decoded, utf8_and_text
from tests.tables import over_rows


@over_rows(
    ("html", "charset", "found"),
    [
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "latin1", "utf-8"),
        (b"\xfe\xff\x00x", "utf-8", "utf-16be"),
        (b"<meta charset=koi8-r>", "ISO-8859-1", "windows-1252"),
        (b"<meta charset=koi8-r>", "nonsense", "koi8-r"),
        (b"<meta http-equiv=content-type content='text/html; charset=shift_jis'>", None, "shift_jis"),
        (b"<meta charset=utf-16>", None, "utf-8"),
        ("ж".encode(), None, "utf-8"),
        ("привет, как дела сегодня вечером?".encode("cp1251"), None, "windows-1251"),
        (b"", None, "utf-8"),
        (b"", "", "utf-8"),
    ],
)
def test_order_of_sources_of_the_charset(html, charset, found):
    assert charset_of(html, charset) == found


def test_invalid_bytes_are_replaced():
    assert decoded(b"a\xffb", "utf-8") == "a\ufffdb"
    assert utf8_and_text(b"a\xe2\x82", "utf-8") == ("a\ufffd".encode(), "a\ufffd")
    assert utf8_and_text(b"\xef\xbb\xbfa", "utf-8") == (b"a", "a")


labels = [
    "utf-8",
    "utf-16",
    "utf-16be",
    "iso-2022-jp",
    "gb18030",
    "big5",
    "euc-kr",
    "replacement",
    "x-user-defined",
    "koi8-u",
]


@given(st.binary(), st.none() | st.sampled_from(labels) | st.text())
def test_any_bytes_become_utf_8(html, charset):
    utf8, text = utf8_and_text(html, charset_of(html, charset))
    assert utf8.decode() == text == decoded(html, charset)


@over_rows("n_before", range((1 << 20) - 4, (1 << 20) + 1))
def test_a_character_across_two_pieces_is_valid(n_before):
    html = b"x" * n_before + "🧭".encode()
    assert utf8_and_text(html, "utf-8") == (html, html.decode())
    assert utf8_and_text(html[:-1], "utf-8")[0] == html[:-4] + "\ufffd".encode()
