"""Headers, well-formed and hostile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orienteer.responses.headers import Headers


def test_names_are_found_in_any_case_and_values_keep_their_order():
    headers = Headers.from_lines([b"Set-Cookie: a=1\r\n", b"Content-Type: text/html\r\n", b"set-cookie:b=2\r\n"])
    assert headers.get("SET-COOKIE") == "a=1"
    assert headers.get_all("Set-Cookie") == ["a=1", "b=2"]
    assert headers.items() == (("Set-Cookie", "a=1"), ("Content-Type", "text/html"), ("set-cookie", "b=2"))
    assert "content-type" in headers
    assert len(headers) == 3


def test_a_missing_header_is_none_or_the_default():
    headers = Headers([("A", "")])
    assert headers.get("a", "other") == ""
    assert headers.get("b") is None
    assert headers.get("b", "other") == "other"
    assert headers.get_all("b") == []
    assert "b" not in headers


def test_folded_lines_belong_to_the_line_before_them():
    headers = Headers.from_lines(
        [b" before all\r\n", b"A: one\r\n", b"\ttwo\r\n", b"   \r\n", b"B:\r\n", b" three\r\n"]
    )
    assert headers.items() == (("A", "one two"), ("B", "three"))


def test_lines_without_a_colon_are_ignored():
    assert Headers.from_lines([b"nonsense\r\n", b"A: b: c\r\n", b"\r\n"]).items() == (("A", "b: c"),)


def test_equal_headers_are_equal():
    assert Headers([("A", "b")]) == Headers.from_lines([b"A: b\r\n"])
    assert Headers([("A", "b")]) != Headers([("A", "c")])
    assert Headers() != ()
    assert {Headers([("A", "b")]): 1}[Headers([("A", "b")])] == 1
    assert repr(Headers([("A", "b")])) == "Headers([('A', 'b')])"


@given(st.lists(st.binary(max_size=30)))
def test_arbitrary_header_lines_are_accepted(lines):
    for name, value in Headers.from_lines(lines).items():
        assert f"{name}:{value}".encode("latin-1")


@given(st.binary().map(lambda data: data.translate(None, b"\r\n")))
def test_values_are_decoded_losslessly(value):
    found = Headers.from_lines([b"ETag: x" + value + b"x\r\n"]).get("etag")
    assert found.encode("latin-1") == b"x" + value + b"x"
