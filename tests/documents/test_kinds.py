"""Documents are recognised by their media types, and by their content if the type is generic."""

from __future__ import annotations

from orienteer.extract.documents.kinds import READ_TYPES, READERS, document_type, may_be_document
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.reading import may_hold_links
from orienteer.responses.response import PageRequest, Response
from tests.documents.makers import ATOM, DOCX, EPUB, ODT, PDF, PPTX, RSS, XLSX, docx, epub, odt, pdf, pptx, xlsx, zipped
from tests.tables import over_rows

MADE = {
    PDF: pdf([["x"]]), DOCX: docx(""), ODT: odt(""), EPUB: epub(["x"]), PPTX: pptx([""]), XLSX: xlsx({"a": ""}),
}  # fmt: skip


@over_rows("media_type", MADE)
@over_rows("stated", ["application/octet-stream", "application/zip", "binary/octet-stream"])
def test_a_document_that_is_called_binary_data(media_type: str, stated: str) -> None:
    assert document_type(stated, MADE[media_type]) == media_type
    assert may_be_document(MADE[media_type][:64])


@over_rows("content", [b"", b"MZ\x90", zipped({"a.txt": b"x"}), b"%!PS-Adobe", zipped({})])
def test_other_files_keep_their_stated_type(content: bytes) -> None:
    assert document_type("application/octet-stream", content) == "application/octet-stream"
    assert not may_be_document(content[:64])


@over_rows(
    ("content", "expected"),
    [
        (b"<?xml version='1.0'?>\n<!-- x --><rss version='2.0'>", RSS),
        (b"\xef\xbb\xbf<feed xmlns='http://www.w3.org/2005/Atom'>", ATOM),
        (b"<?xml version='1.0'?><a:feed xmlns:a='x'>", ATOM),
        (b"<rdf:RDF xmlns='http://purl.org/rss/1.0/'>", RSS),
        (b"<rdf:RDF xmlns='http://xmlns.com/foaf/0.1/'>", "text/xml"),
        (b"<urlset><url/></urlset>", "text/xml"),
        (b"<rssx>", "text/xml"),
    ],
)
def test_feeds_among_xml(content: bytes, expected: str) -> None:
    assert document_type("text/xml", content) == expected
    headers = Headers([("Content-Type", "text/xml; charset=utf-8")])
    assert (
        Response(PageRequest("http://a.test/", 0), Outcome.OK, 200, headers=headers, content=content).content_type
        == expected
    )


def test_a_stated_type_is_used() -> None:
    assert document_type("text/html", MADE[PDF]) == "text/html"
    assert document_type(PDF, b"<html>") == PDF


def test_all_readable_types_are_in_the_accept_header() -> None:
    assert set(READERS) < set(READ_TYPES)
    assert all(may_hold_links(kind) for kind in READERS)
    assert not any(may_hold_links(kind) for kind in ("text/html", "application/xhtml+xml", "text/plain", "image/png"))
