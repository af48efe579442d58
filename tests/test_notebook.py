"""What results look like in a notebook, and as data frames."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.simulate import Trace
from orienteer.errors import MissingExtraError
from orienteer.graph import shapes
from orienteer.graph.coverage import certificate
from orienteer.graph.estimation.estimation import estimate_global_rank
from orienteer.notebook import data_frame
from orienteer.policies.policy import TrustedPages
from orienteer.policies.policy_spec import PolicySpec
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.seeds.select import seed_selection
from tests.imports.made_collections import response, write

EVIL = "<script>alert('x')</script>\u202e"
WEB = ori.LinkGraph.from_links(
    4, [0, 0, 1, 2, 3], [1, 2, 2, 0, 0], hosts=[0, 0, 1, 1], urls=[f"http://a.test/{EVIL}", "b", "c", "d"]
)


def crawl_of_web() -> Crawl:
    crawl = Crawl(PolicySpec.parse("certified").make(0.85), TrustedPages(np.array([0], np.uint32), np.ones(1)))
    page = crawl.next()
    assert page == 0
    crawl.fetched(page, [1, 2])
    crawl.blocked(2)
    return crawl


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("notebook")
    pages = [response("http://a.test/", f"<title>Home &lt;script&gt;{EVIL}</title>opening hours <a href=/1>")]
    imported = ori.import_crawl(write(folder / "x.warc", pages), folder / "crawl")
    update_index(folder / "crawl")
    with SearchIndex.open(folder / "crawl") as index:
        results = index.search("opening hours")
    trace = ori.simulate(WEB, "certified", trust=[0], until=0.9)
    return {
        "LinkGraph": WEB,
        "Trace": trace,
        "Certificate": trace.certificate,
        "Results": results,
        "Crawl": crawl_of_web(),
        "SeedSelection": seed_selection(WEB, k=1, hops=2),
        "Estimate": estimate_global_rank(WEB, local=[0, 1], budget=2),
        "ImportReport": imported,
    }


NAMES = ("LinkGraph", "Trace", "Certificate", "Results", "Crawl", "SeedSelection", "Estimate", "ImportReport")


class Tags(HTMLParser):
    """The tags of a fragment, which must all be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", NAMES)
def test_a_repr_is_a_short_line_with_figures(name: str, things: dict[str, object]) -> None:
    text = repr(things[name])
    assert text.startswith(f"<{name}")
    assert "\n" not in text
    assert len(text) < 200
    assert any(letter.isdigit() for letter in text)


@pytest.mark.parametrize("name", NAMES)
def test_the_html_is_a_small_table_in_which_nothing_is_alive(name: str, things: dict[str, object]) -> None:
    html = things[name]._repr_html_()  # type: ignore[attr-defined]
    tags = Tags(html)
    assert tags.names <= {"table", "caption", "tr", "th", "td"}
    assert tags.open == []
    assert len(html) < 5_000
    assert "\u202e" not in html


def test_the_lines_read_well(things: dict[str, object]) -> None:
    assert repr(WEB) == "<LinkGraph: 4 pages, 5 links, with hosts and urls>"
    assert repr(things["Trace"]).startswith("<Trace of certified: 3 pages fetched, 0.9")
    assert repr(certificate(shapes.chain(3), [0, 1], [0])) == "<Certificate: at least 27.75 %, at most 89.17 %>"
    assert repr(things["Crawl"]) == "<Crawl by certified: 1 page done, 1 blocked, 1 to fetch>"
    assert repr(things["Results"]) == "<Results of 'opening hours': 1 page found; first: http://a.test/>"
    assert repr(things["ImportReport"]) == "<ImportReport: 1 page fetched, 1 in the frontier>"


def test_results_become_data_frames(things: dict[str, object]) -> None:
    trace = things["Trace"]
    assert isinstance(trace, Trace)
    frame = trace.to_pandas()
    assert list(frame.columns) == ["page", "url", "guarantee"]
    assert frame["page"].tolist() == trace.order.tolist()
    assert frame["url"][1] == "b"
    pages = WEB.to_pandas()
    assert pages["out_links"].tolist() == [2, 1, 1, 1]
    assert pages["in_links"].tolist() == [2, 1, 2, 0]
    assert pages["host"].tolist() == [0, 0, 1, 1]
    assert things["Results"].to_pandas()["url"].tolist() == ["http://a.test/"]  # type: ignore[attr-defined]
    assert len(things["SeedSelection"].to_pandas()) == 1  # type: ignore[attr-defined]
    estimate = things["Estimate"].to_pandas()  # type: ignore[attr-defined]
    assert estimate["rank"].sum() == pytest.approx(1)
    assert list(shapes.cycle(3).to_pandas().columns) == ["out_links", "in_links"]


def test_pandas_is_asked_for_by_name_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"a data frame needs pandas: pip install 'orienteer\[pandas\]'"):
        data_frame({"a": [1]})


def test_pandas_is_imported_when_it_is_needed() -> None:
    script = "import sys, orienteer as ori; ori.LinkGraph.from_links(1, [], []); assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
