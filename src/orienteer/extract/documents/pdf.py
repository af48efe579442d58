"""Read PDF with PDFium: the text by page, the title, and the links of annotations.

Links are URI actions with an absolute http(s) URL. If the document states a base (/URI /Base), PDFium resolves URIs
without a scheme. Without a base such a URI is no link: it is an e-mail address or a name in angle brackets far more
often than a path.

The resources that PDFium takes for a hostile file are bounded only by the process (`limited`). The time is also bounded
here: the pages that were read until then are returned, and links are reported as missing.
"""

from __future__ import annotations

import ctypes
import re
import time
import unicodedata
from collections.abc import Iterator
from itertools import islice

import pypdfium2
from pypdfium2 import raw

from orienteer.extract.documents.document import (
    MAX_LINE_CHARS,
    MAX_REFERENCES,
    MAX_TEXT_CHARS,
    PAGE_MARK,
    TOO_MANY_LINKS,
    Document,
    UnreadableDocumentError,
)

MAX_PAGES = 20_000
READING_S = 6.0  # CPU time; the process has a little more

_MAX_URI_BYTES = 1 << 15  # longer than any URL that is followed
_END_BYTES = 2048
_ENCRYPTED = (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
_WEB_URL = re.compile("https?://", re.IGNORECASE)
_HYPHEN = re.compile("[\x02\ufffe\u00ad]\\s*")  # a word goes on in the next line
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# Accents that TeX sets as characters of their own: before their letter, the cedilla after it.
_COMBINING = dict(zip("´¨ˆ˜ˇ˚˘¯˝˙", "\u0301\u0308\u0302\u0303\u030c\u030a\u0306\u0304\u030b\u0307", strict=True))
_LOOSE_ACCENT = re.compile(rf"([{''.join(_COMBINING)}])(?:(?<=[A-Za-z].) )?([A-Za-zı])|([A-Za-z]) ?¸")
_LIGATURES = dict(zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True))
_LIGATURE = re.compile(f"[{''.join(_LIGATURES)}]")
_FILE_NAME = re.compile(r"\.(?:dvi|docx?|indd|odt|pdf|pptx?|p65|ps|qxd|rtf|tex|xlsx?)$", re.IGNORECASE)
_HAS_WORD = re.compile(r"[^\W\d_]{3}")
_MAX_FIRST_LINE_CHARS = 150
_SHORT_LINE = 0.75  # of the longest lines of its page: a paragraph ends with it
_NEW_BLOCK = re.compile(r"[•▪◦‣–*-]\s|\(?\d{1,3}[.)]\s|\d+(\.\d+)+\s")  # an item of a list, a heading


def read(content: bytes) -> Document:
    until = time.process_time() + READING_S
    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        is_encrypted = getattr(error, "err_code", None) in _ENCRYPTED
        raise UnreadableDocumentError("encrypted" if is_encrypted else f"damaged: {error}") from None
    pages, references, missing = _pages(pdf, until)
    if not missing and b"%%EOF" not in content[-_END_BYTES:]:
        missing = "cut off"  # PDFium repairs truncated files silently
    while pages and not pages[-1]:
        pages.pop()
    return Document(
        title=_title(pdf, pages)[:MAX_LINE_CHARS],
        text="\n".join(PAGE_MARK + page for page in pages),
        references=tuple(references),
        language=_language(pdf),
        missing=missing,
    )


def _pages(pdf: pypdfium2.PdfDocument, until: float) -> tuple[list[str], list[str], str]:
    """Return the texts of the pages, the links of all pages, and the reason why links may be missing."""
    texts: list[str] = []
    references: dict[str, None] = {}
    n_pages, n_chars, n_damaged = len(pdf), 0, 0
    for number in range(min(n_pages, MAX_PAGES)):
        if time.process_time() > until:
            return texts, list(references), f"reading took too long at page {number + 1}"
        try:
            page = pdf[number]
        except pypdfium2.PdfiumError:
            n_damaged += 1
            texts.append("")
            continue
        references |= dict.fromkeys(islice(_links(pdf, page), MAX_REFERENCES + 1))
        if len(references) > MAX_REFERENCES:
            return texts, list(references)[:MAX_REFERENCES], TOO_MANY_LINKS
        text = _text(page)[: max(0, MAX_TEXT_CHARS - n_chars)] if n_chars < MAX_TEXT_CHARS else ""
        n_chars += len(text) + 2
        texts.append(text)
        page.close()
    if n_pages > MAX_PAGES:
        return texts, list(references), f"more than {MAX_PAGES:,} pages"
    if not n_pages or n_damaged == n_pages:
        raise UnreadableDocumentError("damaged: no page can be read")
    return texts, list(references), f"damaged pages: {n_damaged}" if n_damaged else ""


def _title(pdf: pypdfium2.PdfDocument, pages: list[str]) -> str:
    """Return the stated title, or the first line if the title is missing or the name of a file."""
    stated = " ".join(_CONTROLS.sub(" ", pdf.get_metadata_value("Title")).split())
    if stated and not _FILE_NAME.search(stated):
        return stated
    lines = (line for page in pages for line in page.split("\n"))
    return next((line for line in lines if _HAS_WORD.search(line)), stated)[:_MAX_FIRST_LINE_CHARS]


def _text(page: pypdfium2.PdfPage) -> str:
    try:
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return ""
    try:
        return _paragraphs(text_page.get_text_bounded())
    finally:
        text_page.close()


def _letters(text: str) -> str:
    """Return a text whose accents are on their letters, without ligatures.

    >>> _letters("la th´eorie, fac¸ade, ﬁn, ¨Uber, na¨ ıve; an accent (´ or ˆ) alone")
    'la théorie, façade, fin, Über, naïve; an accent (´ or ˆ) alone'
    """
    if text.isascii():
        return text
    return _LOOSE_ACCENT.sub(_with_accent, _LIGATURE.sub(lambda found: _LIGATURES[found[0]], text))


def _with_accent(found: re.Match[str]) -> str:
    accent, letter, with_cedilla = found.groups()
    mark = "\u0327" if with_cedilla else _COMBINING[accent]
    composed = unicodedata.normalize("NFC", (with_cedilla or letter.replace("ı", "i")) + mark)
    return composed if len(composed) == 1 else found[0]


def _paragraphs(text: str) -> str:
    """Join typeset lines to paragraphs: a line that is much shorter than others ends a paragraph.

    >>> _paragraphs("A title\\r\\nThis is a sentence that is lo\\x02\\r\\nng, and goes on in the next\\r\\nline.")
    'A title\\nThis is a sentence that is long, and goes on in the next line.'
    """
    text = _letters(_HYPHEN.sub("", text.replace("\r\n", "\n")))
    lines = [" ".join(_CONTROLS.sub(" ", line).split()) for line in text.split("\n")]
    longest = sorted(map(len, lines))[-1 - len(lines) // 10] if lines else 0
    paragraphs: list[str] = []
    goes_on = False
    for line in lines:
        if line and goes_on and not _NEW_BLOCK.match(line):
            paragraphs[-1] += " " + line
        elif line:
            paragraphs.append(line)
        goes_on = bool(line) and len(line) >= _SHORT_LINE * longest
    return "\n".join(paragraphs)


def _links(pdf: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[str]:
    """Yield the web URLs of the link annotations of a page."""
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    while raw.FPDFLink_Enumerate(page.raw, position, link):
        action = raw.FPDFLink_GetAction(link)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            uri = _uri(pdf, action)
            if _WEB_URL.match(uri):
                yield uri


def _uri(pdf: pypdfium2.PdfDocument, action: raw.FPDF_ACTION) -> str:
    n_bytes = raw.FPDFAction_GetURIPath(pdf.raw, action, None, 0)
    if n_bytes <= 1:
        return ""
    buffer = ctypes.create_string_buffer(n_bytes)
    raw.FPDFAction_GetURIPath(pdf.raw, action, buffer, n_bytes)
    return buffer.raw[: min(n_bytes - 1, _MAX_URI_BYTES)].decode("utf-8", "replace").strip("\0 \t\r\n")


def _language(pdf: pypdfium2.PdfDocument) -> str:
    n_bytes = raw.FPDFCatalog_GetLanguage(pdf.raw, None, 0)
    if not 2 < n_bytes <= 200:
        return ""
    buffer = (raw.FPDF_WCHAR * (n_bytes // 2))()
    raw.FPDFCatalog_GetLanguage(pdf.raw, buffer, n_bytes)
    return bytes(buffer).decode("utf-16-le", "replace").strip("\0 ")
