"""Reports as files: complete, and safe to open with untrusted texts."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from orienteer.errors import ExportError, InputError
from orienteer.report.finding import FAULTS, KINDS, SiteReport, checked_faults
from orienteer.report.site_report import site_report
from orienteer.report.writing import (
    COLUMNS,
    FORMATS,
    MAX_LISTED,
    findings_html,
    format_of,
    headline,
    save_report,
    write_report,
)
from tests.report.handmade import ASSETS, DEAD_1, EVIL, GONE, HOME, HOSTILE_TEXT, LOST, SLOW, handmade_crawl


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handmade_crawl(tmp_path_factory.mktemp("handmade") / "crawl")


@pytest.fixture(scope="module")
def report(folder: Path) -> SiteReport:
    return site_report(folder)


def text(report: SiteReport, format: str) -> str:
    out = io.StringIO()
    write_report(report, format, out)
    return out.getvalue()


def test_what_was_found(report: SiteReport) -> None:
    assert {kind: [one.url for one in report.findings[kind]] for kind in KINDS if report.findings[kind]} == {
        "broken": [GONE],
        "hosts": [DEAD_1[:-1]],
        "mixed": [HOME],
        "slow": [SLOW],
        "untitled": [LOST],
        "undescribed": [HOME, EVIL, SLOW],
    }
    (mixed,), (slow,), (host,) = (report.findings[kind] for kind in ("mixed", "slow", "hosts"))
    assert mixed.why == ", ".join(ASSETS)  # a URL with // has the scheme of the page
    assert (slow.value, slow.why) == (7.5, "7.5 s")
    assert (host.why, host.value, host.n_places) == ("no answer, 5 times", 2.0, 2)
    assert {place.url: place.words for place in report.findings["broken"][0].places} == {
        HOME: HOSTILE_TEXT,
        LOST: None,
    }


def test_what_is_not_known(report: SiteReport) -> None:
    unread, unvalued, untimed = sorted(report.not_known)
    assert unread.startswith("1 pages are not in the archive")
    assert untimed.startswith("response times of 1 pages")
    assert "no estimate was made" in unvalued


def test_headline(report: SiteReport) -> None:
    assert report.clicks.broken > 0
    assert report.clicks.host_gone > 0
    assert headline(report).startswith(f"{100 * (report.clicks.broken + report.clicks.host_gone):.1f} % of a surfer's")


def test_csv_is_complete_and_no_cell_is_a_formula(report: SiteReport) -> None:
    first, *rows = csv.reader(io.StringIO(text(report, "csv"), newline=""))
    assert tuple(first) == COLUMNS
    assert {row[0] for row in rows} == {kind for kind in KINDS if report.findings[kind]}
    assert len(rows) == sum(max(1, len(one.places)) for one in report.all_findings())
    assert not any(cell[:1] in "=+-@\t\r" for row in rows for cell in row if cell)
    words = [row[COLUMNS.index("words")] for row in rows if row[0] == "broken"]
    assert sorted(words) == ["", "'" + HOSTILE_TEXT]
    assert all(len(row) == len(COLUMNS) for row in rows)


def test_json_is_as_documented_and_deterministic(folder: Path, report: SiteReport) -> None:
    document = json.loads(text(report, "json"))
    assert document == json.loads(json.dumps(report.as_dict()))
    assert list(document["findings"]) == list(KINDS)
    assert document["format"] == "orienteer-site-report/1"
    assert text(site_report(folder), "json") == text(report, "json")


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.references: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.references |= {value or "" for name, value in attrs if name in ("href", "src")}
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Elements:
    elements = Elements()
    elements.feed(html)
    return elements


def test_html_is_self_contained_and_runs_no_scripts(report: SiteReport) -> None:
    page = text(report, "html")
    found = read(page)
    assert "alert(2)" in found.text
    assert not found.tags & {"script", "img", "link", "iframe", "object", "form"}
    assert all(one.startswith(("#", "https://a.test/", "https://dead.test/")) for one in found.references)
    assert "default-src 'none'" in page
    assert GONE in found.references


def test_findings_as_a_fragment(report: SiteReport) -> None:
    found = read(findings_html(report, "/here/page"))
    assert not found.tags & {"script", "style"}
    assert all(one.startswith(("#", "/here/page?url=https%3A%2F%2F")) for one in found.references)


def test_html_lists_the_costliest_of_many(report: SiteReport) -> None:
    one = report.findings["undescribed"][0]
    many = {**report.findings, "undescribed": [one._replace(url=f"https://a.test/{k}") for k in range(MAX_LISTED + 5)]}
    large = SiteReport(**{**vars(report), "findings": many})
    page = text(large, "html")
    assert f'https://a.test/{MAX_LISTED - 1}"' in page
    assert f'https://a.test/{MAX_LISTED}"' not in page
    assert "and 5 more" in page


def test_nothing_found(folder: Path, report: SiteReport) -> None:
    empty = SiteReport(**{**vars(report), "findings": {kind: [] for kind in KINDS}})
    assert "Nothing was found" in text(empty, "html")
    assert json.loads(text(empty, "json"))["counts"] == dict.fromkeys(KINDS, 0)


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_is_written_atomically_and_never_replaced(
    report: SiteReport, format: str, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"report.{format}"
    save_report(report, format, out, folder, force=False)
    assert out.read_bytes() == text(report, format).encode()
    with pytest.raises(ExportError, match="--force"):
        save_report(report, format, out, folder, force=False)
    with pytest.raises(ExportError, match="inside the crawl folder"):
        save_report(report, format, folder / out.name, folder, force=True)
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_format_by_name_or_suffix() -> None:
    assert format_of(None, None) is None
    assert format_of(Path("a.CSV"), None) == "csv"
    assert format_of(Path("a.txt"), "html") == "html"
    with pytest.raises(InputError, match="name it"):
        format_of(Path("a.txt"), None)
    with pytest.raises(InputError, match="did you mean 'html'"):
        format_of(None, "htm")


def test_kinds_by_name() -> None:
    assert checked_faults(["broken", "chains", "broken"]) == ("broken", "chains")
    assert checked_faults(["any"]) == FAULTS
    with pytest.raises(InputError, match="no kind of fault named 'valued'"):
        checked_faults(["valued"])
