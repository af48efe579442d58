"""Hooks in crawls, refreshes and imports: additions are stored, and failures lose no page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import orienteer as ori
from orienteer.errors import InputError
from orienteer.graph.synthetic import synthetic_web
from orienteer.ledger.plan import CrawlPlan
from orienteer.library.crawl_jobs import CrawlJobs
from orienteer.live.session import plan_of_folder, refresh
from orienteer.pages.added import Additions
from orienteer.store.database import Database
from orienteer.store.folder import settings_of_folder
from orienteer.web.served_crawl import ServedCrawl
from tests.cli.run import orienteer, refused
from tests.fake_web.changing import ChangingSite
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.hooks.hook_files import (
    APPLE,
    CELLAR,
    HOME,
    PEAR,
    PRICES,
    RAISES_ON_PEARS,
    SHOP,
    added_in,
    hook_file,
    installed_plug_in,
)
from tests.imports.made_collections import response, write
from tests.live.live_crawls import StoredCrawl, crawled, hub
from tests.live.refreshes import Refreshed
from tests.ready_process import ReadyPopen

GOODS = {
    APPLE: Additions(fields={"price": 12.5, "names": ["Apple", "Fruit No. 1"]}, tags=("goods",)),
    PEAR: Additions(fields={"price": 3.0, "names": ["Pear", "Fruit No. 1"]}, tags=("goods",)),
}


def hooks_of(folder: Path) -> tuple[str, ...]:
    return plan_of_folder(folder).crawl.hooks


def test_additions_are_stored_and_added_links_are_followed(tmp_path: Path) -> None:
    with FakeWeb(MadeSite(SHOP)) as web:
        crawled(web, HOME, tmp_path / "without")
        report = crawled(web, HOME, tmp_path / "crawl", hooks=[hook_file(tmp_path)])
    assert StoredCrawl(tmp_path / "without").fetched_urls() == {HOME, APPLE, PEAR}
    assert StoredCrawl(tmp_path / "crawl").fetched_urls() == {HOME, APPLE, PEAR, CELLAR}
    assert (report.hook_failures, report.as_dict()["hook_failures"]) == ({}, {})
    assert added_in(tmp_path / "crawl") == GOODS
    assert added_in(tmp_path / "without") == {}
    assert hooks_of(tmp_path / "crawl") == ("prices.py",), "without its folder: it says nothing about this machine"


def test_added_links_count_in_the_certificate(tmp_path: Path) -> None:
    """A replay of the stored events gives the same result."""
    from orienteer.inspect.replay import replay

    with FakeWeb(MadeSite(SHOP)) as web:
        report = crawled(web, HOME, tmp_path, hooks=[hook_file(tmp_path.parent)], settings={"crawl": {"workers": 1}})
    again = replay(tmp_path)
    assert again.order.tolist() == StoredCrawl(tmp_path).order
    assert again.certificate.lower == pytest.approx(report.figures.certificate.lower, abs=1e-6)


def test_the_argument_of_a_hook(tmp_path: Path) -> None:
    seen: list[ori.HookPage] = []
    page = FakeResponse(
        "<html lang=de><title>T</title><meta name=description content=D><h1>H</h1><p>Käse <a href=/b#c>b</a>".encode(
            "latin-1"
        ),
        content_type="text/html; charset=latin1",
        headers=(("X-Price", "7"),),
        gzip=True,
    )
    with FakeWeb(MadeSite({"http://a.test/": page})) as web:
        settings = {"crawl": {"near_duplicates": "off"}}
        crawled(web, "http://a.test/", tmp_path, hooks=[seen.append], settings=settings)
    (found,) = seen
    assert (found.url, found.status, found.content_type) == ("http://a.test/", 200, "text/html")
    assert (found.title, found.language, found.description) == ("T", "de", "D")
    assert (found.text, found.headings, found.links) == ("H\nKäse b", ("H",), ("http://a.test/b",))
    assert found.headers.get("x-price") == "7"
    assert "Käse" in found.html


def test_a_hook_that_raises_loses_no_page(tmp_path: Path) -> None:
    hooks = [hook_file(tmp_path, RAISES_ON_PEARS, "raises.py"), hook_file(tmp_path), lambda page: 7]
    with FakeWeb(MadeSite(SHOP)) as web:
        report = crawled(web, HOME, tmp_path / "crawl", hooks=hooks)
    assert StoredCrawl(tmp_path / "crawl").fetched_urls() == {HOME, APPLE, PEAR, CELLAR}
    assert added_in(tmp_path / "crawl") == GOODS
    failures = json.loads((tmp_path / "crawl" / "report.json").read_text())["hook_failures"]
    assert failures == json.loads(json.dumps(report.as_dict()["hook_failures"]))
    assert failures["raises.py"] == {"n": 1, "first": f"{PEAR}: KeyError: 'no pears\\nplease'"}
    assert failures["<lambda>()"]["n"] == 4
    lines = [json.loads(line) for line in (tmp_path / "crawl" / "log.jsonl").read_text().splitlines()]
    reported = [line for line in lines if line["event"] == "hook failed"]
    assert len(reported) == 5
    assert {line["url"] for line in reported if line["hook"] == "raises.py"} == {PEAR}
    with Database.open(tmp_path / "crawl" / "crawl.db", read_only=True) as database:
        events = [event.detail["detail"] for event in database.meta.events() if event.kind == "hook failed"]
    assert sorted(event.split(":")[0] for event in events) == ["<lambda>()", "raises.py"], "once for each hook"


def test_the_command_runs_hooks_and_reports_failures(tmp_path: Path) -> None:
    folder, prices = tmp_path / "crawl", hook_file(tmp_path)
    raises = hook_file(tmp_path, RAISES_ON_PEARS, "raises.py")
    with FakeWeb(MadeSite(SHOP)) as web:
        options = ["--connect-to", web.address, "--delay", 0, "--ignore-robots", "-q"]
        said = orienteer("crawl", HOME, "-o", folder, *options, "--hook", prices, "--hook", raises, columns=200).stdout
    assert f"raises.py on 1 page (it added nothing there); first {PEAR}: KeyError: 'no pears\\nplease'" in said
    assert added_in(folder) == GOODS
    assert hooks_of(folder) == ("prices.py", "raises.py")
    reported = orienteer("explain", folder, APPLE).stdout
    assert "goods" in reported
    assert "price: 12.5; names: Apple, Fruit No. 1" in reported
    facts = json.loads(orienteer("explain", folder, APPLE, "--json").stdout)
    assert (facts["tags"], facts["fields"]) == (["goods"], GOODS[APPLE].fields)


def test_a_folder_cannot_run_hook_files(tmp_path: Path) -> None:
    """Neither a resume nor a refresh, by command, from Python or from the browser; but it can be inspected."""
    folder, marker = tmp_path / "crawl", tmp_path / "marker"
    with FakeWeb(MadeSite(SHOP)) as web:
        crawled(web, HOME, folder, budget=1)
        evil = hook_file(tmp_path, f"open({str(marker)!r}, 'w').close()\ndef on_page(page): pass\n", "evil.py")
        settings = settings_of_folder(folder) or ""
        (folder / "crawl.toml").write_text(settings.replace("hooks = []", f'hooks = ["{evil}"]'))
        line = (
            f"{folder}: the crawl has the hook {evil}, a file, and no folder runs files on its own; "
            f"name it again (--hook {evil}), or go on without hooks (--no-hooks)"
        )
        assert refused("crawl", folder) == f"orienteer: {line}\n"
        assert refused("refresh", folder, "-q") == f"orienteer: {line}\n"
        for attempt in (
            lambda: refresh(folder),
            lambda: CrawlJobs.of_folder(folder).resume(),
            lambda: ServedCrawl(folder).watch.resume(None, 9),
        ):
            with pytest.raises(InputError) as caught:
                attempt()
            assert str(caught.value) == line
        orienteer("status", folder)
        orienteer("index", folder)
        assert not marker.exists()
        assert StoredCrawl(folder).fetched_urls() == {HOME}
        orienteer("crawl", folder, "--no-hooks", "--budget", 2, "-q")
        assert not marker.exists()
        assert hooks_of(folder) == ()
        orienteer("crawl", folder, "--hook", evil, "--budget", 3, "-q")
        assert marker.exists()
        assert hooks_of(folder) == ("evil.py",)


def test_an_installed_hook_runs_by_name(tmp_path: Path) -> None:
    folder, site = tmp_path / "crawl", installed_plug_in(tmp_path, PRICES)
    environment = os.environ | {"PYTHONPATH": f"{site}:{os.environ.get('PYTHONPATH', '')}"}
    with FakeWeb(MadeSite(SHOP)) as web:
        crawled(web, HOME, folder, budget=1)
        settings = settings_of_folder(folder) or ""
        (folder / "crawl.toml").write_text(settings.replace("hooks = []", 'hooks = ["shop"]'))
        assert "no page hook named 'shop' is installed" in refused("crawl", folder, "--budget", 9)
        command = [sys.executable, "-m", "orienteer", "crawl", str(folder), "--budget", "9", "-q"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    assert added_in(folder) == GOODS
    assert hooks_of(folder) == ("shop",)


def test_invalid_hooks_are_one_line_and_create_no_folder(tmp_path: Path) -> None:
    for hook in ("nothing", tmp_path / "none.py", hook_file(tmp_path, "1/0", "zero.py")):
        refused("crawl", HOME, "-o", tmp_path / "crawl", "--hook", hook)
        refused("import", tmp_path / "zero.py", "-o", tmp_path / "crawl", "--hook", hook)
    assert "contradict" in refused("crawl", HOME, "-o", tmp_path / "crawl", "--hook", "x", "--no-hooks")
    assert not (tmp_path / "crawl").exists()


def test_after_a_kill_and_resume_no_addition_is_lost(tmp_path: Path) -> None:
    """The hook kills the process at its 30th page, so the pages before are acknowledged."""
    site = GraphSite(synthetic_web(80))
    tags = "import orienteer as ori\ndef on_page(page):\n    return ori.Added(fields={'size': len(page.content)})\n"
    dies = "import os, signal\nseen = []\n" + tags.replace(
        "    return",
        "    seen.append(page.url)\n    len(seen) < 30 or os.kill(os.getpid(), signal.SIGKILL)\n    return",
    )
    hook = hook_file(tmp_path, dies, "sizes.py")
    folder = tmp_path / "crawl"
    settings = tmp_path / "settings.toml"
    settings.write_text("[crawl]\ncommit_every_s = 0.001\nworkers = 2\n[politeness]\ndelay_s = 0.0\nconnections = 2\n")
    with FakeWeb(site) as web:
        start = [hub(site), "-o", folder, "--connect-to", web.address, "--scope", "web", "--ignore-robots", "-q"]
        command = ["crawl", *start, "--settings", settings, "--hook", hook]
        with ReadyPopen([sys.executable, "-m", "orienteer", *map(str, command)]) as killed:
            pass
        assert killed.returncode == -signal.SIGKILL
        before = added_in(folder)
        assert set(before) == StoredCrawl(folder).fetched_urls(), "pages are stored with their additions, or not at all"
        assert before
        hook.write_text(tags)
        orienteer(*command)
        fresh = crawled(web, hub(site), tmp_path / "fresh", hooks=[hook])
    assert fresh.hook_failures == {}
    assert added_in(folder) == added_in(tmp_path / "fresh")
    assert before.items() <= added_in(folder).items()


def test_an_import_runs_hooks(tmp_path: Path) -> None:
    archive = write(tmp_path / "shop.warc", [response(url, html) for url, html in SHOP.items()])
    prices, raises = hook_file(tmp_path), hook_file(tmp_path, RAISES_ON_PEARS, "raises.py")
    said = orienteer("import", archive, "-o", tmp_path / "crawl", "--seed", HOME, "--hook", prices, "--hook", raises)
    assert "raises.py on 1 page" in said.stdout
    assert added_in(tmp_path / "crawl") == GOODS
    assert hooks_of(tmp_path / "crawl") == ("prices.py", "raises.py")
    report = ori.import_crawl(archive, tmp_path / "again", seeds=HOME, hooks=[prices])
    assert (report.n_unlinked, report.as_dict()["hook_failures"]) == (0, {}), "the hook links to the cellar"
    without = ori.import_crawl(archive, tmp_path / "without", seeds=HOME)
    assert without.n_unlinked == 1


@pytest.fixture
def shop(tmp_path: Path) -> Any:
    """A shop whose pages change; the hook counts how often it runs on each."""
    runs: list[str] = []

    def price(page: ori.HookPage) -> ori.Added | None:
        runs.append(page.url)
        _, found, rest = page.html.partition("data-price=")
        return ori.Added(fields={"price": rest.partition(">")[0]}, tags=["goods"]) if found else None

    site = ChangingSite(MadeSite(SHOP))
    with FakeWeb(site) as web:
        crawl = Refreshed(site, web, tmp_path / "crawl", seeds=HOME, hooks=[price])
        crawl.runs, crawl.price = runs, price  # type: ignore[attr-defined]
        yield crawl


def prices(folder: Path) -> dict[str, str]:
    return {url: added.fields.get("price") for url, added in added_in(folder).items()}


def test_a_refresh_replaces_removes_and_keeps_additions(shop: Any) -> None:
    assert prices(shop.folder) == {APPLE: "12.5", PEAR: "3"}
    with pytest.raises(InputError, match=r"the hook price\(\), a function of a Python program"):
        shop.refresh()
    shop.site.edit(APPLE, "<title>Apple</title><b data-price=99>99</b>")
    shop.runs.clear()
    report = shop.refresh(hooks=[shop.price])
    assert report.figures.visits["changed"] == 1
    assert prices(shop.folder) == {APPLE: "99", PEAR: "3"}
    assert PEAR not in shop.runs, "it was not modified, so the hook has nothing to look at"
    shop.site.delete(APPLE)
    shop.refresh(hooks=[shop.price])
    assert prices(shop.folder) == {APPLE: "99", PEAR: "3"}, "a page is not forgotten for one bad day"
    for _ in range(4):
        shop.refresh(days=10, hooks=[shop.price])
    assert prices(shop.folder) == {PEAR: "3"}


def test_a_refresh_applies_other_hooks_to_refetched_pages(shop: Any) -> None:
    """Refetched pages, even unchanged ones, get the additions of the current hooks, unless these fail."""
    shop.site.validators = "none"
    fails: Any = lambda page: 1 / 0  # noqa: E731
    shop.refresh(hooks=[fails])
    assert prices(shop.folder) == {APPLE: "12.5", PEAR: "3"}, "an unchanged page keeps what it has"
    shop.refresh(hooks=[])
    assert prices(shop.folder) == {APPLE: "12.5", PEAR: "3"}
    shop.refresh(days=1000, hooks=[lambda page: ori.Added(tags=["new"])])
    assert {url: added.tags for url, added in added_in(shop.folder).items()} == dict.fromkeys(
        (HOME, APPLE, PEAR), ("new",)
    )


def test_the_plan_stores_names_of_hooks() -> None:
    plan = CrawlPlan.of_tables({"crawl": {"seeds": ["http://a.test/"], "hooks": ["a", "b.py"]}}, "settings")
    assert CrawlPlan.parse(plan.to_toml(), "crawl.toml").crawl.hooks == ("a", "b.py")
    with pytest.raises(InputError, match="hooks is 'a'; it must be a list of texts"):
        CrawlPlan.of_tables({"crawl": {"seeds": ["http://a.test/"], "hooks": "a"}}, "settings")
