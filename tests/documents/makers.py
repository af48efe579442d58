"""Small documents of every format, in the form that common programs write."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
OOXML = "application/vnd.openxmlformats-officedocument."
DOCX, PPTX, XLSX = (
    OOXML + kind
    for kind in ("wordprocessingml.document", "presentationml.presentation", "spreadsheetml.sheet")
)  # fmt: skip
ODT, EPUB = "application/vnd.oasis.opendocument.text", "application/epub+zip"
PDF, RSS, ATOM = "application/pdf", "application/rss+xml", "application/atom+xml"


def pdf(
    pages: Sequence[Sequence[str]], links: Mapping[int, Sequence[str]] | None = None, title: str = "",
    language: str = "", base: str = "",
) -> bytes:  # fmt: skip
    """Make a PDF from pages of lines; `links` are link annotations by page number from 0, `base` is their base URL."""
    objects: list[bytes] = [b"", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for number, lines in enumerate(pages):
        drawn = b"BT /F1 10 Tf 12 TL 40 800 Td " + b"".join([b"(%b) Tj T* " % _text(line) for line in lines]) + b"ET"
        packed = zlib.compress(drawn)
        objects.append(b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(packed), packed))
        contents = len(objects)
        annotations = b""
        for uri in (links or {}).get(number, ()):
            action = b"<</S/URI/URI(%b)>>" % _text(uri)
            objects.append(b"<</Type/Annot/Subtype/Link/Rect[40 700 200 720]/A%b>>" % action)
            annotations += b"%d 0 R " % len(objects)
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R/Annots[%b]"
            b"/Resources<</Font<</F1 3 0 R>>>>>>" % (contents, annotations)
        )
        kids.append(b"%d 0 R" % len(objects))
    stated = b"/Lang(%b)" % _text(language) if language else b""
    stated += b"/URI<</Base(%b)>>" % _text(base) if base else b""
    objects[0] = b"<</Type/Catalog/Pages 2 0 R%b>>" % stated
    objects[1] = b"<</Type/Pages/Kids[%b]/Count %d>>" % (b" ".join(kids), len(kids))
    objects.append(b"<</Title(%b)>>" % _text(title))
    return pdf_file(objects, b"/Info %d 0 R" % len(objects))


def pdf_file(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Return a PDF file of the objects, numbered from 1; the first is its catalog."""
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%b\nendobj\n" % (number, content)
    table = b"".join([b"%010d 00000 n \n" % place for place in places])
    size = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, table)
    end = b"trailer<</Size %d/Root 1 0 R%b>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, len(out))
    return bytes(out) + head + end


def _text(text: str) -> bytes:
    return text.encode("latin-1").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def zipped(files: Mapping[str, str | bytes], stored: Sequence[str] = ()) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content, zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED)
    return file.getvalue()


def relations(**targets: tuple[str, str]) -> str:
    """Return relationships; by id: the last word of the type, and the target, external if it has a colon."""
    rows = "".join(
        f'<Relationship Id="{key}" Type="{R}/{kind}" Target="{escape(target)}"'
        f"{' TargetMode=' + chr(34) + 'External' + chr(34) if kind == 'hyperlink' else ''}/>"
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{rows}</Relationships>'


def _office(main: str, files: Mapping[str, str | bytes], title: str, language: str) -> bytes:
    core = f"<cp:coreProperties xmlns:cp='c' xmlns:dc='d'><dc:title>{escape(title)}</dc:title>"
    core += f"<dc:language>{language}</dc:language></cp:coreProperties>"
    always = {"[Content_Types].xml": _TYPES, "_rels/.rels": relations(rId1=("officeDocument", main))}
    return zipped({**always, "docProps/core.xml": core, **files})


def docx(
    body: str, links: Mapping[str, str] | None = None, title: str = "", more: Mapping[str, str] | None = None
) -> bytes:
    """Make a DOCX; `body` is the content of `w:body`, `links` are targets by id."""
    document = f'<w:document xmlns:w="{W}" xmlns:r="{R}" xmlns:mc="mc"><w:body>{body}</w:body></w:document>'
    hyperlinks = relations(**{key: ("hyperlink", target) for key, target in (links or {}).items()})
    files = {"word/document.xml": document, "word/_rels/document.xml.rels": hyperlinks, **(more or {})}
    return _office("word/document.xml", files, title, "en-GB")


def pptx(slides: Sequence[str], links: Mapping[str, str] | None = None) -> bytes:
    """Make a PPTX; each slide is the content of `p:spTree`; the file names are not in the order of slides."""
    names = {f"s{number}": f"slides/slide{len(slides) - number}.xml" for number in range(len(slides))}
    order = "".join(f'<p:sldId id="{256 + number}" r:id="s{number}"/>' for number in range(len(slides)))
    presentation = f'<p:presentation xmlns:p="p" xmlns:r="{R}"><p:sldIdLst>{order}</p:sldIdLst></p:presentation>'
    files = {
        "ppt/presentation.xml": presentation,
        "ppt/_rels/presentation.xml.rels": relations(**{key: ("slide", name) for key, name in names.items()}),
    }
    hyperlinks = relations(**{key: ("hyperlink", target) for key, target in (links or {}).items()})
    for number, slide in enumerate(slides):
        name = names[f"s{number}"]
        files[f"ppt/{name}"] = f'<p:sld xmlns:p="p" xmlns:a="{A}" xmlns:r="{R}"><p:spTree>{slide}</p:spTree></p:sld>'
        files[f"ppt/slides/_rels/{name.rpartition('/')[2]}.rels"] = hyperlinks
    return _office("ppt/presentation.xml", files, "", "")


def xlsx(sheets: Mapping[str, str], strings: Sequence[str] = (), links: Mapping[str, str] | None = None) -> bytes:
    """Make an XLSX; sheets by name are the contents of worksheets."""
    names = list(sheets)
    listed = "".join(f'<sheet name="{escape(name)}" sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(names))
    targets = {f"r{at}": ("worksheet", f"worksheets/sheet{at}.xml") for at in range(len(names))}
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
    files = {
        "xl/workbook.xml": f'<workbook xmlns:r="{R}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(**targets, shared=("sharedStrings", "sharedStrings.xml")),
        "xl/sharedStrings.xml": f"<sst>{shared}</sst>",
    }
    hyperlinks = relations(**{key: ("hyperlink", target) for key, target in (links or {}).items()})
    for at, name in enumerate(names):
        files[f"xl/worksheets/sheet{at}.xml"] = f'<worksheet xmlns:r="{R}">{sheets[name]}</worksheet>'
        files[f"xl/worksheets/_rels/sheet{at}.xml.rels"] = hyperlinks
    return _office("xl/workbook.xml", files, "Figures", "")


def odt(body: str, title: str = "", language: str = "") -> bytes:
    """Make an ODT; `body` is the content of `office:text`."""
    spaces = "xmlns:office='o' xmlns:text='t' xmlns:xlink='x' xmlns:table='b' xmlns:dc='d'"
    meta = f"<office:document-meta {spaces}><office:meta><dc:title>{escape(title)}</dc:title>"
    meta += f"<dc:language>{language}</dc:language></office:meta></office:document-meta>"
    content = f"<office:document-content {spaces}><office:body><office:text>{body}</office:text></office:body>"
    files = {"mimetype": ODT, "content.xml": content + "</office:document-content>", "meta.xml": meta}
    return zipped(files, stored=("mimetype",))


def epub(chapters: Sequence[str], title: str = "", language: str = "en") -> bytes:
    """Make an EPUB; each chapter is the content of `body`."""
    items = "".join(
        f'<item id="c{at}" href="text/ch%20{at}.xhtml" media-type="application/xhtml+xml"/>'
        for at in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(len(chapters)))
    book = f"<package xmlns:dc='d'><metadata><dc:title>{escape(title)}</dc:title><dc:language>{language}</dc:language>"
    container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    files = {
        "mimetype": EPUB,
        "META-INF/container.xml": container,
        "OEBPS/book.opf": f"{book}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    doctype = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
    for at, chapter in enumerate(chapters):
        files[f"OEBPS/text/ch {at}.xhtml"] = (
            f"{doctype}<html><head><title>x</title></head><body>{chapter}</body></html>"
        )
    return zipped(files, stored=("mimetype",))
