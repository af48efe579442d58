"""Media types as browsers sniff them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orienteer.responses.sniffing import SNIFFED_BYTES, is_xml, sniffed_type
from tests.tables import over_rows

UNKNOWN = ["", "unknown/unknown", "application/unknown", "*/*", "nonsense", " ; charset=utf-8"]


@over_rows(
    ("head", "kind"),
    [
        (b"<!DOCTYPE html><title>x", "text/html"),
        (b"\n\t \x0c\r<!doctype HTML>", "text/html"),
        (b"<!doctype htmlx>", "text/plain"),
        (b"<html>", "text/html"),
        (b"<HEAD >", "text/html"),
        (b"<a href=x>", "text/html"),
        (b"<ab>", "text/plain"),
        (b"<p>", "text/html"),
        (b"<p", "text/plain"),
        (b"<p\n>", "text/plain"),
        (b"<!-- a comment", "text/html"),
        (b"<script>", "text/html"),
        (b"<span>", "text/plain"),
        (b"words <html>", "text/plain"),
        (b"  <?xml version='1.0'?>", "text/xml"),
        (b"%PDF-1.7 \x00", "application/pdf"),
        (b" %PDF-1.7", "text/plain"),
        (b"%!PS-Adobe-3.0", "application/postscript"),
        (b"\xfe\xff\x00a", "text/plain"),
        (b"\xff\xfea\x00", "text/plain"),
        (b"\xef\xbb\xbf\x00", "text/plain"),
        (b"\x89PNG\r\n\x1a\n\x00", "image/png"),
        (b"GIF89a", "image/gif"),
        (b"GIF88a", "text/plain"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\x01\x02\x03\x04WEBPVP8 ", "image/webp"),
        (b"RIFF\n\n\n\nWAVE", "audio/wave"),
        (b"\x00\x00\x01\x00", "image/x-icon"),
        (b"BM", "image/bmp"),
        (b"ID3\x04", "audio/mpeg"),
        (b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
        (b"\x1aE\xdf\xa3", "video/webm"),
        (b"\x1f\x8b\x08\x00", "application/x-gzip"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x7fELF\x02", "application/octet-stream"),
        (b"\x00", "application/octet-stream"),
        (b"a\x1b[0m", "text/plain"),
        (b"caf\xe9", "text/plain"),
        (b"plain words", "text/plain"),
        (b"", "text/plain"),
        (b" " * SNIFFED_BYTES + b"<html>", "text/plain"),
        (b" " * (SNIFFED_BYTES - 6) + b"<html>", "text/html"),
        (b"a" * SNIFFED_BYTES + b"\x00", "text/plain"),
    ],
)
def test_a_missing_type_is_sniffed(head, kind):
    assert {stated: sniffed_type(stated, False, head) for stated in UNKNOWN} == dict.fromkeys(UNKNOWN, kind)


@over_rows(
    ("head", "kind"),
    [
        (b"<!DOCTYPE html>", "text/plain"),
        (b"<?xml ", "text/plain"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\x00", "application/octet-stream"),
        (b"words", "text/plain"),
    ],
)
def test_nosniff_disables_markup_detection(head, kind):
    assert sniffed_type("", True, head) == kind


@over_rows(
    ("stated", "nosniff", "head", "kind"),
    [
        ("text/html", False, b"\x00\x01", "text/html"),
        ("text/html", False, b"%PDF-1.7", "text/html"),
        ("Text/HTML; charset=utf-8", False, b"words", "text/html"),
        ("application/xhtml+xml", False, b"<html>", "application/xhtml+xml"),
        ("text/xml", False, b"<html>", "text/xml"),
        ("image/svg+xml", False, b"<html>", "image/svg+xml"),
        ("application/octet-stream", False, b"<html>", "application/octet-stream"),
        ("application/json", False, b"<html>", "application/json"),
        ("text/plain", False, b"<html>", "text/plain"),
        ("text/plain", False, b"\x7fELF\x00", "application/octet-stream"),
        ("text/plain", True, b"\x7fELF\x00", "text/plain"),
        ("text/plain; charset=ISO-8859-1", False, b"\x00", "application/octet-stream"),
        ("text/plain; charset=iso-8859-1", False, b"\x00", "application/octet-stream"),
        ("text/plain; charset=UTF-8", False, b"\x00", "application/octet-stream"),
        ("text/plain; charset=utf-8", False, b"\x00", "text/plain"),
        ("text/plain;charset=UTF-8", False, b"\x00", "text/plain"),
        ("text/plain", False, b"\xff\xfe<\x00", "text/plain"),
        ("text/plain", False, b"", "text/plain"),
    ],
)
def test_a_stated_type_is_trusted_except_defaults_of_old_apache(stated, nosniff, head, kind):
    assert sniffed_type(stated, nosniff, head) == kind


def test_types_of_xml():
    assert all(map(is_xml, ("text/xml", "application/xml", "application/xhtml+xml", "image/svg+xml")))
    assert not any(map(is_xml, ("", "text/html", "xml", "application/xmlx")))


@given(st.text(max_size=40), st.booleans(), st.binary(max_size=40))
def test_arbitrary_headers_have_a_type(stated, nosniff, head):
    kind = sniffed_type(stated, nosniff, head)
    assert "/" in kind
    assert kind == kind.lower().strip("\t\n\r ")
