"""The report is one self-contained file, and escapes all texts."""

from __future__ import annotations

import base64
from html.parser import HTMLParser

import pytest

from experiments.report import html_report, markdown
from experiments.reproduction import as_document, reproduced
from experiments.webs import Webs
from tests.experiments.made_up import MadeUp

PNG = b"\x89PNG\r\n\x1a\n"


class Elements(HTMLParser):
    """All elements with their attributes, and all text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def html(made_up: MadeUp) -> str:
    done = [reproduced(made_up.experiment(), Webs(None, quick=True))]
    return html_report(done, as_document(done, "python -m experiments <all>"))


def test_the_report_refers_to_nothing_outside(html: str) -> None:
    page = Elements(html)
    for tag, attributes in page.found:
        assert tag not in ("script", "link", "iframe", "object", "form")
        for name in ("src", "href", "srcset", "action", "style"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:image/png;base64,", "#")), (tag, name)
    assert "url(" not in html
    assert "@import" not in html
    images = [attributes for tag, attributes in page.found if tag == "img"]
    assert len(images) == 1
    assert base64.b64decode(str(images[0]["src"]).partition(",")[2]).startswith(PNG)


def test_whatever_the_report_shows_is_escaped(html: str) -> None:
    page = Elements(html)
    assert {tag for tag, _ in page.found}.isdisjoint({"b", "i", "script", "up", "all", "this"})
    for text in ("Made <up>", "One is <b>one</b>", "1.05 <i>", "<script>alert(1)</script>", "Mind <this>."):
        assert text in page.text
    (image,) = [attributes for tag, attributes in page.found if tag == "img"]
    assert image["alt"] == 'Shows "it" <all>'


def test_the_report_is_for_phones_and_for_the_dark(html: str) -> None:
    assert '<meta name="viewport" content="width=device-width' in html
    assert "prefers-color-scheme: dark" in html


def test_tables_of_the_readme_have_as_many_cells_in_every_row(made_up: MadeUp) -> None:
    text = markdown(reproduced(made_up.experiment(), Webs(None, quick=True)), "python -m experiments made-up")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 5
    assert {line.replace("\\|", "").count("|") for line in rows[:3]} == {7}
