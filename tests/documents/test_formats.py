"""Text, title, links, headings and language of every format."""

from __future__ import annotations

import pkgutil
from xml.sax.saxutils import escape

import pytest

from orienteer.extract.documents import pdf as pdf_reader
from orienteer.extract.documents.document import MAX_REFERENCES, MAX_TEXT_CHARS, Document, UnreadableDocumentError
from orienteer.extract.documents.kinds import READERS
from tests.documents import makers
from tests.documents.makers import docx, epub, odt, pdf, pptx, xlsx


def read(content: bytes, media_type: str) -> Document:
    document = pkgutil.resolve_name(f"orienteer.extract.documents.{READERS[media_type]}")(content)
    assert isinstance(document, Document)
    return document


def test_pdf() -> None:
    long = "a line of the text that goes on and on to the very edge of the paper"
    document = read(
        pdf(
            [["The Title", f"This is {long}", f"and {long}", "until here."], [], ["Third (page)"]],
            {0: ["http://a.test/x", "#inside", "mailto:me@a.test"], 2: ["other.pdf", "http://a.test/x"]},
            "A title",
            "de-AT",
        ),
        makers.PDF,
    )
    assert document.title == "A title"
    assert document.language == "de-AT"
    assert document.text.split("\f") == [
        "", f"The Title\nThis is {long} and {long} until here.\n", "\n", "Third (page)",
    ]  # fmt: skip
    assert document.references == ("http://a.test/x",)
    assert document.missing == ""


NO_URLS = ("someone@host", "someone@a.test?subject=hello", "<uchar.h>", "<https://a.test/>")


def test_only_web_urls_are_links_of_a_pdf() -> None:
    targets = (*NO_URLS, "other.pdf", "www.a.test", "http:x", "ftp://a.test/", "HTTPS://a.test/", " http://a.test/x ")
    assert read(pdf([["Text"]], {0: targets}), makers.PDF).references == ("HTTPS://a.test/", "http://a.test/x")


def test_relative_links_of_a_pdf_need_a_base() -> None:
    document = read(pdf([["Text"]], {0: ["other.pdf", "http://b.test/"]}, base="http://a.test/docs/"), makers.PDF)
    assert document.references == ("http://a.test/docs/other.pdf", "http://b.test/")


def test_addresses_and_names_in_brackets_are_no_links() -> None:
    targets = (*NO_URLS, "../list@2/x", "a.html")
    links = {f"r{number}": target for number, target in enumerate(targets)}
    body = "".join(f'<w:hyperlink r:id="{key}"><w:r><w:t>x</w:t></w:r></w:hyperlink>' for key in links)
    assert read(docx(f"<w:p>{body}</w:p>", links), makers.DOCX).references == ("../list@2/x", "a.html")
    marks = "".join(f"<text:a xlink:href='{escape(target)}'>x</text:a>" for target in targets)
    assert read(odt(f"<text:p>{marks}</text:p>"), makers.ODT).references == ("../list@2/x", "a.html")
    marks = "".join(f"<a href='{escape(target)}'>x</a>" for target in (*targets, "http://a.test/"))
    assert read(epub([f"<p>{marks}</p>"], "Book"), makers.EPUB).references == ("http://a.test/",)


@pytest.mark.parametrize(("stated", "title"), [("", "The First Line"), ("x.dvi", "The First Line"), ("Mr. X", "Mr. X")])
def test_the_title_of_a_pdf(stated: str, title: str) -> None:
    assert read(pdf([["1."], ["The First Line", "x" * 60]], title=stated), makers.PDF).title == title


def test_a_pdf_that_is_cut_off_may_have_more_links() -> None:
    whole = pdf([["One"], ["Two"]])
    document = read(whole[: whole.rindex(b"startxref")], makers.PDF)
    assert "One" in document.text
    assert document.missing == "cut off"


def test_pdf_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    links = {number: [f"http://a.test/{number}"] for number in range(5)}
    many = pdf([[f"page {number}"] for number in range(5)], links)
    monkeypatch.setattr(pdf_reader, "MAX_PAGES", 3)
    assert read(many, makers.PDF).missing == "more than 3 pages"
    monkeypatch.setattr(pdf_reader, "READING_S", -1.0)
    assert read(many, makers.PDF).missing == "reading took too long at page 1"
    monkeypatch.undo()
    monkeypatch.setattr(pdf_reader, "MAX_REFERENCES", 2)
    document = read(many, makers.PDF)
    assert (document.missing, document.references) == ("too many links", ("http://a.test/0", "http://a.test/1"))
    monkeypatch.setattr(pdf_reader, "MAX_TEXT_CHARS", 10)
    assert read(pdf([["x" * 50], ["y"]]), makers.PDF).text == f"\f{'x' * 10}"


def test_docx() -> None:
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Rules</w:t></w:r></w:p>'
        '<w:p><w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink r:id="r1"><w:r><w:t>the </w:t></w:r>'
        "<w:r><w:t>list</w:t></w:r></w:hyperlink><w:r><w:t>.</w:t><w:br/><w:delText>gone</w:delText></w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell 1</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>cell 2</w:t></w:r>"
        "</w:p></w:tc></w:tr></w:tbl>"
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "http://a.t</w:instrText></w:r>'
        '<w:r><w:instrText>est/field" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        "<w:r><w:t>field</w:t></w:r></w:p>"
        "<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice>"
        "<mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
    )
    note = f'<w:footnotes xmlns:w="{makers.W}"><w:p><w:r><w:t>a note</w:t></w:r></w:p></w:footnotes>'
    links = {"r1": "../list?x=1&y=2", "r9": "http://unused.test/"}
    document = read(docx(body, links, "Titel & more", {"word/footnotes.xml": note}), makers.DOCX)
    assert document == Document(
        title="Titel & more",
        text="Rules\nSee the list.\ncell 1\ncell 2\nfield\nbox\na note",
        references=("../list?x=1&y=2", "http://a.test/field"),
        anchors=(("../list?x=1&y=2", "the list"),),
        headings=("Rules",),
        language="en-GB",
    )


def test_slides_are_in_presentation_order() -> None:
    title = '<p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sp>'
    text = '<p:sp><a:p><a:r><a:rPr><a:hlinkClick r:id="l1"/></a:rPr><a:t>go</a:t></a:r></a:p></p:sp>'
    document = read(pptx([title.format("First"), title.format("Second") + text], {"l1": "http://a.test/"}), makers.PPTX)
    assert document.text == "First\nSecond\ngo"
    assert document.headings == ("First", "Second")
    assert document.title == "First"
    assert document.references == ("http://a.test/",)


def test_sheets() -> None:
    sheet = (
        '<sheetData><row><c t="s"><v>1</v></c><c><v>3.5</v></c><c t="s"><v>99</v></c></row>'
        '<row><c t="inlineStr"><is><t>in line</t></is></c>'
        '<c t="str"><f>HYPERLINK("http://a.test/f","f")</f><v>f</v></c></row></sheetData>'
        '<hyperlinks><hyperlink ref="A1" r:id="l1"/></hyperlinks>'
    )
    document = read(xlsx({"Sheet one": sheet, "Two": ""}, ["zero", "one"], {"l1": "mail.html"}), makers.XLSX)
    assert document.text == "Sheet one\none 3.5\nin line f\nTwo"
    assert document.references == ("http://a.test/f", "mail.html")
    assert document.title == "Figures"


def test_odt() -> None:
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        "<text:h>Head</text:h><text:p>One<text:s/>two <text:a xlink:href='http://a.test/'>three</text:a></text:p>"
        "<table:table-cell><text:p>cell</text:p></table:table-cell>"
    )
    document = read(odt(body, "Title", "fr"), makers.ODT)
    assert document == Document("Title", "Head\nOne two three\ncell", ("http://a.test/",),
                                (("http://a.test/", "three"),), ("Head",), "fr")  # fmt: skip


def test_chapters_of_a_book() -> None:
    chapters = [
        "<h1>One</h1><p>It was a dark&nbsp;night<br/>and <a href='http://a.test/'>stormy</a>.</p><script>x</script>",
        "<p>See <a href='ch%200.xhtml'>before</a></p>",
    ]
    document = read(epub(chapters, "Book"), makers.EPUB)
    assert document.text == "One\nIt was a dark night\nand stormy.\nSee before"
    assert (document.title, document.language, document.missing) == ("Book", "en", "")
    assert document.references == ("http://a.test/",)


def test_a_book_with_a_damaged_chapter_may_have_more_links() -> None:
    document = read(epub(["<p>One</p>", "<p>Two"]), makers.EPUB)
    assert document.text == "One"
    assert document.missing.startswith("damaged: mismatched tag")
    with pytest.raises(UnreadableDocumentError, match="mismatched tag"):
        read(epub(["<p>Two"]), makers.EPUB)


def test_rss() -> None:
    feed = b"""<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
    <title>News</title><link>http://a.test/</link><description>All &amp; sundry</description><language>en-us</language>
    <atom:link rel="self" href="http://a.test/feed"/><atom:link rel="hub" href="http://hub.test/"/>
    <image><title>Logo</title><link>http://a.test/logo-link</link></image>
    <item><title>First &lt;b&gt;one&lt;/b&gt;</title><link>http://a.test/1</link>
      <description>&lt;p&gt;Some &amp;amp; more&lt;/p&gt;&lt;p&gt;&lt;a href="/x"&gt;words&lt;/a&gt;&lt;/p&gt;
      </description></item>
    <item><guid>http://a.test/2</guid><title>Second</title></item>
    <item><guid isPermaLink="false">http://a.test/3</guid></item></channel></rss>"""
    document = read(feed, makers.RSS)
    assert document.title == "News"
    assert document.language == "en-us"
    assert document.text == "News\nAll & sundry\nFirst one\nSome & more\nwords\nSecond"
    assert document.references == (
        "http://a.test/", "http://a.test/feed", "http://a.test/logo-link", "http://a.test/1", "http://a.test/2",
    )  # fmt: skip
    assert document.anchors == (("http://a.test/1", "First one"), ("http://a.test/2", "Second"))


def test_atom() -> None:
    feed = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://a.test/b/" xml:lang="de">
    <title type="html">Blog</title><link rel="next" href="?page=2"/><subtitle>daily</subtitle>
    <entry><title>One</title><link href="one"/><link rel="enclosure" href="sound.mp3"/>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Para</p> graph</div></content></entry></feed>"""
    document = read(feed, makers.ATOM)
    assert document.text == "Blog\ndaily\nOne\nPara graph"
    assert document.references == ("http://a.test/b/?page=2", "http://a.test/b/one")
    assert document.language == "de"
    with pytest.raises(UnreadableDocumentError, match="neither RSS nor Atom"):
        read(b"<html/>", makers.ATOM)


def test_limits_of_a_draft() -> None:
    links = "".join(f"<text:a xlink:href='l{number}'>x</text:a>" for number in range(MAX_REFERENCES + 1))
    document = read(odt(f"<text:p>{'word ' * (MAX_TEXT_CHARS // 4)}</text:p><text:p>{links}</text:p>"), makers.ODT)
    assert len(document.text) <= MAX_TEXT_CHARS
    assert len(document.references) == MAX_REFERENCES
    assert document.missing == "too many links"
