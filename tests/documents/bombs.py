"""Documents that take much memory and time, and damaged ones."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator
from functools import partial

from tests.documents.makers import DOCX, EPUB, ODT, PDF, RSS, docx, epub, odt, pdf, pdf_file, zipped

_MIB = 1 << 20


def bombs() -> Iterator[tuple[str, str, bytes]]:
    """Name, media type and content."""
    yield "a zip bomb", DOCX, _docx_of(b"<w:document>" + b" " * (300 * _MIB))
    yield "one below the limit on the ratio", ODT, _many_files()
    yield "a part that lies about its size", DOCX, _lying()
    yield "100,000 files", DOCX, zipped({f"word/{number}.xml": b"" for number in range(100_000)})
    yield "entities that blow up", ODT, _odt_of(_billion_laughs())
    yield (
        "an entity that reads a file",
        ODT,
        _odt_of(b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><office:text><p>&e;</p></office:text>'),
    )
    yield "a feed with entities", RSS, b"<?xml version='1.0'?>" + _billion_laughs().replace(b"lolz", b"rss")
    yield "a million elements deep", ODT, _odt_of(b"<a>" * 1_000_000)
    yield "a tag without an end", ODT, _odt_of(b"<a " + b"b" * (20 * _MIB))
    yield "chapters that are one", EPUB, epub(["<p>x</p>" * 100_000] * 30)
    yield "a stream of zeros in a PDF", PDF, inflating_pdf(512)
    yield "packed twice", PDF, inflating_pdf(2048, 2)
    yield "a PDF of a million pages", PDF, _many_pages(1_000_000)
    yield "a tree of pages that never ends", PDF, _endless_tree()
    yield "arrays in arrays", PDF, _nested(b"[", 2_000_000)
    yield "dictionaries in dictionaries", PDF, _nested(b"<</A", 1_000_000)
    yield "a page drawn by itself", PDF, _drawn_by_itself()
    yield "a page of text without an end", PDF, pdf([["all work and no play "] * 400_000])
    yield "a million links", PDF, _many_links(300_000)
    yield "an endless reference", PDF, pdf_file([b"<</Type/Catalog/Pages 2 0 R>>", b"3 0 R", b"2 0 R"])


def damaged(whole: bytes, rng: random.Random) -> bytes:
    """Return the file with flipped bits, truncated, or with a piece missing, doubled or overwritten."""
    kind = rng.randrange(5)
    if kind == 0:
        spoiled = bytearray(whole)
        for _ in range(rng.choice((1, 4, 32, 256))):
            spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
        return bytes(spoiled)
    if kind == 1:
        return whole[: rng.randrange(1, len(whole))]
    start = rng.randrange(len(whole))
    end = min(len(whole), start + rng.randrange(1, 1 + len(whole) // 4))
    if kind == 2:
        return whole[:start] + whole[end:]
    if kind == 3:
        return whole[:end] + whole[start:]
    return whole[:start] + rng.randbytes(end - start) + whole[end:]


def _docx_of(document: bytes) -> bytes:
    return docx("", more={"word/document.xml": document})


def _odt_of(content: bytes) -> bytes:
    return zipped({"mimetype": ODT, "content.xml": content}, stored=("mimetype",))


def _billion_laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(12))
    return f"<!DOCTYPE lolz [{entities}]><lolz>&l11;</lolz>".encode()


def _many_files() -> bytes:
    """Text with a lower compression ratio, in many files: the sum is too large."""
    rng = random.Random(7)
    paragraph = b"".join([b"<text:p>%d</text:p>" % rng.randrange(100) for _ in range(20_000)])
    return _odt_of(b"<office:text xmlns:text='t' xmlns:office='o'>" + paragraph * 500 + b"</office:text>")


def _lying() -> bytes:
    """A zip file that states 100 bytes for 100 MiB of content."""
    whole = bytearray(_docx_of(b"<w:document>" + b"x" * (100 * _MIB)))
    size = struct.pack("<I", 100 * _MIB + len(b"<w:document>"))
    lie = struct.pack("<I", 100)
    return bytes(whole.replace(size, lie))


def _page(contents: bytes, more: bytes = b"") -> list[bytes]:
    return [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R%b>>" % more,
        contents,
    ]


def inflating_pdf(n_mib: int, times: int = 1) -> bytes:
    """A page with this number of zeros as content, compressed several times."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    block = packer.compress(bytes(_MIB)) + packer.flush(zlib.Z_FULL_FLUSH)  # it can be repeated
    packed = b"\x78\xda" + block * n_mib + packer.flush() + bytes(4)
    for _ in range(times - 1):
        packed = zlib.compress(packed, 9)
    filters = b"/FlateDecode " * times
    return pdf_file(_page(b"<</Length %d/Filter[%b]>>stream\n%b\nendstream" % (len(packed), filters, packed)))


def _many_pages(n: int) -> bytes:
    kids = b"3 0 R " * n
    return pdf_file([
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, n),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>",
    ])  # fmt: skip


def _endless_tree() -> bytes:
    return pdf_file([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R 2 0 R 2 0 R]/Count 1000000>>"])


def _nested(opening: bytes, n: int) -> bytes:
    return pdf_file(_page(b"<</Length 0>>stream\n\nendstream", b"/X" + opening * n))


def _drawn_by_itself() -> bytes:
    form = b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</F 5 0 R/G 5 0 R>>>>/Length 12>>stream\n"
    drawn = form + b"/F Do\n/G Do \nendstream"
    page = _page(b"<</Length 6>>stream\n/F Do \nendstream", b"/Resources<</XObject<</F 5 0 R>>>>")
    return pdf_file([*page, drawn])


def _many_links(n: int) -> bytes:
    link = b"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI(http://a.test/%d)>>>>"
    annotations = b"/Annots[" + b"".join([link % number for number in range(n)]) + b"]"
    return pdf_file(_page(b"<</Length 0>>stream\n\nendstream", annotations))


# One of each format that is read, to be damaged.
WHOLE = {
    PDF: partial(pdf, [["First page"], ["Second page"]], {0: ["http://a.test/x"]}, "A title"),
    DOCX: partial(docx, "<w:p><w:r><w:t>Some words</w:t></w:r></w:p>" * 20),
    ODT: partial(odt, "<text:p>Some words</text:p>" * 20),
    EPUB: partial(epub, ["<p>Some words</p>" * 20, "<p>More</p>"]),
}
