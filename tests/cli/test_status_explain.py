"""`status` and `explain` on crawls of a small fake web."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orienteer.cli import display
from orienteer.cli.status import explain, status
from orienteer.errors import CrawlFolderError, InputError
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.explain import page_facts
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import CrawlSettings
from orienteer.live.session import live_crawl
from orienteer.pages.states import PageState
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView, size_on_disk
from orienteer.wording import size
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite

HOSTILE_TITLE = "[red]One[/red] \x1b[2J \u202e"
ONE = f"<title>{HOSTILE_TITLE}</title><a href=/two>two</a> <a href=/near>near</a> <a href='/q?a[0]=1'>q</a>"
HOME = """
<title>Home</title>
<a href=/one>one</a> <a href=/two>two</a> <a href=/gone>gone</a> <a href=/secret>secret</a> <a href=/closed>closed</a>
<a href=/paper.ps>paper</a> <a href=/old>old</a> <a href=/copy>copy</a> <a href=/away>away</a>
<a href=http://b.test/>elsewhere</a>
"""
SITE = MadeSite(
    {
        "http://a.test/": HOME,
        "http://a.test/one": ONE,
        "http://a.test/copy": ONE,
        "http://a.test/two": "<a href=/>home</a>",
        "http://a.test/near": "<a href=/far>far</a>",
        "http://a.test/far": "never seen",
        "http://a.test/q?a[0]=1": "an array",
        "http://a.test/closed": FakeResponse("no", status=403),
        "http://a.test/paper.ps": FakeResponse(b"%!PS", content_type="application/postscript"),
        "http://a.test/old": FakeResponse(status=301, headers=(("Location", "/one"),)),
        "http://a.test/away": FakeResponse(status=302, headers=(("Location", "http://b.test/there"),)),
        "http://a.test/sitemap.xml": FakeResponse(
            "<urlset><url><loc>http://a.test/lonely</loc></url></urlset>", content_type="text/xml"
        ),
        "http://a.test/lonely": "alone",
        "http://former.test/": FakeResponse(status=301, headers=(("Location", "http://a.test/two"),)),
    },
    robots={"a.test": "User-agent: *\nDisallow: /secret\nSitemap: http://a.test/sitemap.xml\n"},
)


def crawled(
    web: FakeWeb, path: Path, seed: str = "http://a.test/", retry: dict[str, float] | None = None, **changed: Any
) -> Path:
    settings: dict[str, dict[str, Any]] = {
        "scope": {"max_depth": 2},
        "politeness": {"delay_s": 0.0},
        "fetch": {"connect_to": web.address, "allow_private": True},
        "crawl": {"near_duplicates": "off", "commit_every_s": 0.001},
        "retry": retry or {},
    }
    live_crawl(seed, path, settings=settings, **changed)
    return path


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(SITE) as web:
        yield web


@pytest.fixture(scope="module")
def whole(web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that went on until nothing was left."""
    return crawled(web, tmp_path_factory.mktemp("crawls") / "whole")


@pytest.fixture(scope="module")
def begun(web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was stopped after two pages."""
    return crawled(web, tmp_path_factory.mktemp("crawls") / "begun", budget=2, policy="breadth-first")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lines, so that statements are not broken."""
    monkeypatch.setattr(display, "console", lambda: Console(width=250, highlight=False))


def printed(capsys: pytest.CaptureFixture[str], command: Callable[..., None], *arguments: Any) -> str:
    """What a command prints, without the alignment."""
    command(*arguments, json=False)
    captured = capsys.readouterr()
    assert captured.err == ""
    for sign in "\x1b\u202e":
        assert sign not in captured.out
    return "\n".join(" ".join(line.split()) for line in captured.out.splitlines())


# -- explain ----------------------------------------------------------------------------------------------------


def test_a_fetched_page(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = page_facts(whole, "http://a.test/one")
    assert facts.row is not None
    text = printed(capsys, explain, whole, "http://a.test/one")
    assert text.startswith("http://a.test/one\n")
    assert f"state fetched as number {facts.number} of {facts.n_fetched}\n" in text
    assert "depth 1 link from a seed" in text
    assert f"response HTTP status 200, text/html, {len(ONE.encode())} bytes" in text
    assert "title [red]One[/red] \ufffd[2J \ufffd" in text
    assert "links 3 inside the scope" in text
    assert f"orienteer-00000.warc.gz, {facts.row.archive_bytes:,} bytes at {facts.row.archive_offset:,}" in text
    assert "2 fetched pages link here:\nhttp://a.test/\nhttp://a.test/old (another name of this page)" in text


def test_pages_that_count_as_fetched_are_numbered_in_their_order(whole: Path) -> None:
    names = ("", "one", "copy", "two", "near", "q?a[0]=1", "gone", "paper.ps", "old", "lonely")
    facts = [page_facts(whole, f"http://a.test/{name}") for name in names]
    assert sorted(fact.number or 0 for fact in facts) == list(range(1, 11))
    assert {fact.n_fetched for fact in facts} == {10}


EXPLAINED = [
    ("/", "depth a seed"),
    ("/old", "a redirect"),
    ("/old", "redirects to http://a.test/one"),
    ("/gone", "state failed: the server answered 404; it counts as fetched, as number "),
    ("/paper.ps", "it is application/postscript, which this crawl does not fetch"),
    ("/away", "redirect leaves the scope"),
    ("/away", "redirects to http://b.test/there"),
    ("/secret", "state blocked, not fetched: robots.txt of its host forbids it"),
    ("/closed", "state blocked, not fetched: the server answered 403"),
    ("/far", "state blocked, not fetched: it is 3 links from a seed, and max_depth is 2"),
    ("/copy", "same content as http://a.test/one"),
    ("/q?a[0]=1", "http://a.test/q?a[0]=1\nstate fetched"),
    ("/lonely", "depth 1 link from a seed, as only a sitemap lists it"),
    ("/lonely", "No page fetched so far links here."),
]


@pytest.mark.parametrize(("path", "expected"), EXPLAINED)
def test_what_became_of_a_page(whole: Path, capsys: pytest.CaptureFixture[str], path: str, expected: str) -> None:
    assert expected in printed(capsys, explain, whole, f"http://a.test{path}")


def test_a_page_of_an_abandoned_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urls = [f"http://down.test/{k}" for k in range(20)]
    pages = {"http://a.test/": " ".join(f"<a href={url}>down</a>" for url in urls)}
    with FakeWeb(MadeSite(pages | dict.fromkeys(urls, FakeResponse(status=500)))) as web:
        path = crawled(web, tmp_path / "crawl", scope="web", retry={"give_up_after": 3, "back_off_s": 0.001})
    facts = [printed(capsys, explain, path, url) for url in urls]
    assert all("state blocked, not fetched: " in text for text in facts)
    assert any("the host was abandoned after 12 failures in a row on 12 pages" in text for text in facts)


def test_a_page_outside_the_scope(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, explain, whole, "http://b.test/")
    assert "state not fetched, it is outside the scope: host b.test is not among the seeds' hosts" in text
    assert "1 fetched page links here:\nhttp://a.test/" in text


def test_a_page_that_is_not_known(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, explain, whole, "http://a.test/nowhere")
    assert "not known to this crawl; it would be inside its scope" in text
    assert "links here" not in text
    text = printed(capsys, explain, whole, "http://c.test/")
    assert "it would be outside its scope: host c.test is not among the seeds' hosts" in text
    text = printed(capsys, explain, whole, "https://a.test/one")
    assert "it would be inside its scope; known is http://a.test/one" in text


def test_the_scope_goes_where_a_seed_redirects_to(web: FakeWeb, tmp_path: Path) -> None:
    path = crawled(web, tmp_path / "crawl", "http://former.test/", budget=1)
    assert page_facts(path, "http://a.test/two").waiting is not None
    assert page_facts(path, "http://a.test/nowhere").why_outside is None
    assert page_facts(path, "http://c.test/").why_outside is not None


@pytest.mark.parametrize("text", ["a.test/one", "HTTP://A.test:80/x/../one#top", "http://a.test/one?utm_source=x"])
def test_urls_need_not_be_canonical(whole: Path, text: str) -> None:
    assert page_facts(whole, text).url == "http://a.test/one"


def test_what_is_no_url_is_one_line(whole: Path) -> None:
    with pytest.raises(InputError, match="is not a valid URL"):
        page_facts(whole, "http://")


def test_pages_that_wait_have_a_place(begun: Path) -> None:
    every = [page_facts(begun, url) for url in urls_of(begun)]
    waiting = [facts.waiting for facts in every if facts.waiting is not None]
    assert sorted(place.n_before for place in waiting) == list(range(len(waiting)))
    assert {place.n_frontier for place in waiting} == {len(waiting)}
    in_order = sorted(waiting, key=lambda place: place.n_before)
    assert [place.priority for place in in_order] == sorted((place.priority for place in waiting), reverse=True)
    assert all(facts.state is PageState.KNOWN for facts in every if facts.waiting is not None)


def urls_of(path: Path) -> list[str]:
    with FolderView.open(path) as folder:
        database = folder.database
        return database.urls.of_all(range(database.urls.count()))


def test_descriptions_of_waiting_pages(begun: Path, capsys: pytest.CaptureFixture[str]) -> None:
    every = {url: page_facts(begun, url).waiting for url in urls_of(begun)}
    last, place = max(((url, place) for url, place in every.items() if place), key=lambda entry: entry[1].n_before)
    text = printed(capsys, explain, begun, last)
    assert f"{place.n_before} pages come before it of {place.n_frontier} in the frontier" in text
    text = printed(capsys, explain, begun, "http://a.test/lonely")
    assert "waiting behind all pages that are linked to, as only a sitemap lists it" in text


def test_the_page_that_comes_first_is_fetched_next(web: FakeWeb, tmp_path: Path) -> None:
    path = crawled(web, tmp_path / "crawl", budget=2, policy="breadth-first")
    places = {url: page_facts(path, url).waiting for url in urls_of(path)}
    (best,) = (url for url, place in places.items() if place is not None and place.n_before == 0)
    crawled(web, path, budget=3, policy="breadth-first")
    assert page_facts(path, best).state in (PageState.FETCHED, PageState.FAILED)


@pytest.mark.parametrize("url", ["/one", "/old", "/secret", "/lonely", "/near", "/nowhere", "http://b.test/"])
def test_explanations_are_json(whole: Path, begun: Path, capsys: pytest.CaptureFixture[str], url: str) -> None:
    for path in (whole, begun):
        explain(path, url if url.startswith("http") else f"http://a.test{url}", json=True)
        facts = json.loads(capsys.readouterr().out)
        assert facts["state"] in ("unknown", "known", "fetched", "failed", "blocked")
        assert (facts["page"] is None) == (facts["state"] == "unknown")
        assert facts["n_sources"] >= len(facts["sources"])


# -- status -----------------------------------------------------------------------------------------------------


def test_the_status_of_a_crawl_that_is_over(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, status, whole)
    assert text.startswith(f"{whole}: not running\n")
    for statement in (
        "seeds http://a.test/",
        "goal every reachable page",
        "policy certified, damping 0.85",
        "scope host; at most 2 links from a seed",
        "result everything reachable is fetched; at least ",
        "coverage at least ",
        "fetched 7 pages\nredirects 1\nskipped 1 file of another type\n",
        "failed 1 page: ",
        "blocked 4 pages: ",
        "robots.txt (1)",
        "known 0 wait in the frontier; 14 URLs in scope; 2 URLs outside",
        "duplicates 1 page repeats another exactly",
        f"on disk {size(size_on_disk(whole))} (archive ",
        "host fetched skipped failed blocked URLs known",
        "a.test 7 1 1 4 14",
    ):
        assert statement in text


def test_the_status_of_a_crawl_that_stopped_early(begun: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, status, begun)
    assert "goal every reachable page, at most 2 pages" in text
    assert "result stopped at your limit of 2 pages; at least " in text


def test_the_status_as_json_is_what_the_report_said(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status(whole, json=True)
    facts = json.loads(capsys.readouterr().out)
    report = json.loads((whole / "report.json").read_text())
    assert facts["pages"] == {kind: report["figures"][f"n_{kind}"] for kind in facts["pages"]}
    assert (facts["pages"]["fetched"], facts["pages"]["redirects"]) == (7, 1)
    assert facts["report"] == report
    assert facts["report_is_current"]
    assert facts["figures"]["certificate"]["lower"] == pytest.approx(
        report["figures"]["certificate"]["lower"], abs=1e-3
    )


def test_a_crawl_that_was_killed_left_no_report(
    web: FakeWeb, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = crawled(web, tmp_path / "crawl", budget=2)
    (path / "report.json").unlink()
    assert "the last run ended without a report" in printed(capsys, status, path)


def test_a_running_crawl_can_be_asked(
    web: FakeWeb, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orienteer.live.figures._EVERY_S", 0.0)  # so small a crawl is over in less
    monkeypatch.setattr("orienteer.live.figures._SHARE", float("inf"))  # however long a look takes
    path = tmp_path / "crawl"
    n_pages, states = [], set()

    def ask(_: Any) -> None:
        found = crawl_status(path)
        assert found.holder == os.getpid()
        n_pages.append(found.n_pages(*PageState))
        states.add(page_facts(path, "http://a.test/near").state)
        assert f": running now, process {os.getpid()}\n" in printed(capsys, status, path)

    crawled(web, path, watch=ask)
    assert n_pages == sorted(n_pages)
    assert len(set(n_pages)) > 2
    assert PageState.KNOWN in states or None in states


def test_a_crawl_that_has_not_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = CrawlPlan(CrawlSettings(seeds=("http://a.test/",), until=0.98, budget=1000))
    with CrawlFolder.create(tmp_path / "new", plan.to_toml()):
        text = printed(capsys, status, tmp_path / "new")
        assert "goal a coverage of 98 %, at most 1,000 pages" in text
        assert "began no response yet" in text
        assert "stopped" not in text
        assert "not known to this crawl" in printed(capsys, explain, tmp_path / "new", "a.test")


def test_a_folder_without_a_crawl_is_one_line(tmp_path: Path) -> None:
    for command, arguments in ((status, (tmp_path,)), (explain, (tmp_path, "http://a.test/"))):
        with pytest.raises(CrawlFolderError, match="not a crawl folder"):
            command(*arguments, json=False)
