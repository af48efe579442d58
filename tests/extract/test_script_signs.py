"""Suspect pages, which scripts may make."""

from __future__ import annotations

import io
import json
import tarfile

from orienteer.extract.links import SCRIPTED
from orienteer.extract.page import Page, extract_page
from orienteer.extract.script_signs import FEW_WORDS, LITTLE_PROSE, is_sparse
from orienteer.files.compressed import zstd
from tests.conftest import shared_file
from tests.tables import over_rows

PAGE = "http://example.org/"
APP = "<div id=root></div><script type=module src=/app.js></script>"
WORDS = "word " * (FEW_WORDS + 1)
LINKS = "".join(f"<a href=/{k}>{k}</a>" for k in range(5))
CODE = f"<script>{'x();' * 100}</script>"


def read(html: str) -> Page:
    pages = [extract_page(html.encode(), PAGE, with_text=with_text) for with_text in (True, False)]
    assert pages[0].is_suspect == pages[1].is_suspect, "whether or not the text is wanted"
    return pages[0]


@over_rows(
    "html",
    [
        APP,
        APP + "<noscript>You need to enable JavaScript to run this app.</noscript>",
        APP + "<noscript><a href=https://enable-javascript.com>how</a></noscript>",
        APP + "<link rel=canonical href=/other><iframe src=/frame></iframe>",
        APP + "<a href=/>home</a><a href=#part>part</a><a href=mailto:a@b>mail</a>",
        APP + "<a href=/one>one</a>",
        APP + WORDS,
        APP + WORDS + "<noscript><a href=/one>one</a></noscript>",
        APP + "&nbsp;" * 100 + "<a href=/one>one</a>",
        APP + f"<!-- {WORDS} --><template>{WORDS}{LINKS}</template><style>{WORDS}</style>",
        CODE,
        CODE + WORDS,
        "<script>x()</script>",
        WORDS + "<script>document.write('<a href=/one>one</a>')</script>",
        "<script src=/a.js></script>" * 5 + LINKS,
        WORDS + "<a href='javascript:go(1)'>go</a>",
        WORDS + "<a href=# onclick=go()>go</a>",
        f"<noscript>{WORDS}</noscript>" + APP,
        WORDS + "<script type=text/javascript>toc()</script>",
    ],
)
def test_suspects(html: str) -> None:
    page = read(html)
    assert page.unknown_links == (SCRIPTED,)
    assert page.why_uncounted == SCRIPTED


@over_rows(
    "html",
    [
        "",
        "short",
        LINKS,
        "short <a href=/one>one</a>",
        LINKS + CODE,
        LINKS + "<script src=/analytics.js></script>",
        "<a href=/one>one</a><script>x()</script>",
        WORDS + "<a href=/one>one</a>" + "<script src=/a.js></script>" * 20 + CODE,
        "<script type=application/ld+json>" + "{}" * 500 + "</script>",
        "<script type='text/x-template'>" + "<p>" * 500 + "</script>",
        "<script type=application/json src=/data.json></script>",
        WORDS + "<a href='javascript:history.back()'>back</a>",
        f"<noscript>{WORDS}{LINKS}</noscript>" + APP,
        WORDS + "<a rel=nofollow href=/one>one</a>" + APP,
        "<p>" + "図書館の利用案内" * 20 + "<a href=/one>一</a>" + APP,
        APP + WORDS + "<noscript><a href=/one>one</a></noscript><a href=/one>one</a>",
        "<frameset><frame src=/a></frameset>",
    ],
)
def test_no_suspects(html: str) -> None:
    assert read(html).unknown_links == ()


# The JavaScript MIME type essence strings of https://mimesniff.spec.whatwg.org/
JAVASCRIPT_TYPES = (
    "application/ecmascript", "application/javascript", "application/x-ecmascript", "application/x-javascript",
    "text/ecmascript", "text/javascript", "text/javascript1.0", "text/javascript1.1", "text/javascript1.2",
    "text/javascript1.3", "text/javascript1.4", "text/javascript1.5", "text/jscript", "text/livescript",
    "text/x-ecmascript", "text/x-javascript",
)  # fmt: skip


@over_rows(
    "attributes",
    [
        "",
        "type",
        "type=''",
        "type=module",
        "type=' Module '",
        "async type = TEXT/JavaScript",
        *(f"type='{name}'" for name in JAVASCRIPT_TYPES),
        "language=JavaScript",
        "language=javascript1.2",
        "language=''",
        "type=text/javascript language=vbscript",
    ],
)
def test_a_script_that_browsers_run_is_code(attributes: str) -> None:
    assert read(f"<a href=/a>a</a><script {attributes}>go()</script>").has_code
    assert read(f"<a href=/a>a</a><script {attributes} src=/a.js></script>").has_code


@over_rows(
    "attributes",
    [
        "type=text/template",
        "type=text/x-template",
        "type=text/html",
        "type=text/x-tex",
        "type='math/tex; mode=display'",
        "type=text/plain",
        "type=application/json",
        "type=application/ld+json",
        "type=importmap",
        "type=speculationrules",
        "type='text/javascript; charset=utf-8'",  # with a parameter: browsers do not run it
        "type=text/javascript2",
        "type=' '",
        "type=javascript",
        "type=text/x-handlebars language=javascript",
        "language=vbscript",
        "language=text/javascript",
    ],
)
def test_a_script_that_browsers_do_not_run_is_data(attributes: str) -> None:
    assert not read(f"<script {attributes}>go()</script>").has_code
    assert not read(f"<script {attributes} src=/a.js></script>").has_code


def test_noscript_is_read_if_there_is_little_other_text() -> None:
    forum = f"<title>T</title><div>Forum</div><noscript><h2>Topic</h2><p>{WORDS}<a href=/t>t</a></noscript>" + APP
    page = read(forum)
    assert page.text.startswith("Forum\nTopic\nword word")
    assert page.headings == ["Topic"]
    assert page.anchors == [("http://example.org/t", "t")]
    assert read(WORDS + f"<noscript>{WORDS}</noscript>").text == WORDS.strip()
    assert read("<p>a</p><noscript>Please enable scripts.</noscript>").text == "a"


def test_applications_are_found() -> None:
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(shared_file("spas.tar.zst").read_bytes()))) as files:
        pages = {file.name: files.extractfile(file).read() for file in files if file.name.endswith("index.html")}  # type: ignore[union-attr]
    assert len(pages) == 4
    assert all(extract_page(html, PAGE).is_suspect for html in pages.values())


def test_suspect_real_pages_are_empty_without_scripts() -> None:
    text = zstd.decompress(shared_file("wcxb-dev.jsonl.zst").read_bytes()).decode()
    rows = [json.loads(line) for line in text.split("\n")[::4] if line]
    suspects = [
        row for row in rows if extract_page(row["html"].encode(), row["url"] or PAGE, with_text=False).is_suspect
    ]
    assert len(suspects) <= 1
    assert all(not row["main"].strip() for row in suspects)


def test_sparse_pages_have_little_prose_or_much_data() -> None:
    sentence = "these are twelve words in a line which may well be prose\n"
    prose = sentence * (LITTLE_PROSE // 12 + 1)
    assert is_sparse("", b"")
    assert is_sparse("a short line\n" * 500, b"")
    assert is_sparse(sentence, b"")
    assert not is_sparse(prose, b"<p>")
    assert not is_sparse("\u6587" * 2 * LITTLE_PROSE, b"<p>")  # Chinese has no spaces
    for tag in (b"<script type=application/json>", b"<SCRIPT id=a type='application/ld+json'>"):
        assert is_sparse(prose, tag + b"x" * 31 * len(prose) + b"</script>")
        assert is_sparse(prose, (tag + b"x" * len(prose) + b"</script>") * 31)
        assert not is_sparse(prose, tag + b"x" * 20 * len(prose) + b"</script>" + b"y" * 20 * len(prose))
        assert is_sparse(prose, tag * 2 * len(prose))  # none of them ends
    assert not is_sparse(prose, b"<script>" + b"x" * 31 * len(prose) + b"</script>json")
