"""Settings of a folder that widen access apply only where this user has allowed them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orienteer.errors import InputError
from orienteer.fetch.settings import FetchSettings
from orienteer.ledger.plan import CrawlPlan, expect_allowed, opening_settings, remember_allowed
from orienteer.ledger.settings import EstimateSettings
from orienteer.library.crawl_jobs import CrawlJobs
from orienteer.live.session import refresh
from orienteer.side_crawls.estimate import live_estimate
from tests.cli.run import orienteer, refused
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, crawled

A = "http://a.test"
PLAN = CrawlPlan.of_tables({"crawl": {"seeds": [A]}}, "test")


def opening(**fetch: Any) -> CrawlPlan:
    return replace(PLAN, fetch=FetchSettings(**fetch))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crawl").mkdir()
    return tmp_path / "crawl"


@pytest.mark.parametrize(
    ("fetch", "said"),
    [
        ({"allow_private": True}, "allow_private = true, not known to be yours; use --allow-private to allow it"),
        ({"proxy": "http://10.0.0.1:80"}, "use --proxy=http://10.0.0.1:80 to allow it"),
        ({"connect_to": "10.0.0.1:80", "allow_private": True}, "use --allow-private --connect-to=10.0.0.1:80 to"),
        ({"fetcher": "archive:path=/home"}, "use --fetcher=archive:path=/home to allow it"),
        ({"verify_tls": False}, "use --set=fetch.verify_tls=false to allow it"),
        ({"ca_file": "/tmp/x"}, "use --set=fetch.ca_file=/tmp/x"),
    ],
)
def test_settings_of_an_untrusted_folder_are_refused(folder: Path, fetch: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        expect_allowed(folder, opening(**fetch))
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    expect_allowed(folder, opening(**fetch), {"fetch": fetch})  # allowed by this command
    remember_allowed(folder, opening(**fetch))
    expect_allowed(folder, opening(**fetch))


def test_control_characters_of_a_proxy_are_escaped(folder: Path) -> None:
    with pytest.raises(InputError) as error:
        expect_allowed(folder, opening(proxy="http://\x1b[2Jx:80"))
    assert "\x1b" not in str(error.value)


def test_what_opens_nothing_needs_no_permission(folder: Path) -> None:
    plan = replace(PLAN, fetch=FetchSettings(timeout_s=1.0, cookies=True, http2=False))
    assert opening_settings(plan) == {}
    expect_allowed(folder, plan)
    remember_allowed(folder, plan)
    assert list(folder.iterdir()) == []


def test_a_permission_is_for_these_settings_and_this_crawl(folder: Path, tmp_path: Path) -> None:
    remember_allowed(folder, opening(allow_private=True))
    shutil.copytree(folder, tmp_path / "copy")
    expect_allowed(tmp_path / "copy", opening(allow_private=True))
    others = [
        opening(allow_private=True, proxy="http://10.0.0.1:80"),
        opening(proxy="http://10.0.0.1:80"),
        CrawlPlan.of_tables({"crawl": {"seeds": ["http://10.0.0.1/"]}, "fetch": {"allow_private": True}}, "test"),
        CrawlPlan.of_tables(
            {"crawl": {"seeds": [A]}, "scope": {"kind": "web"}, "fetch": {"allow_private": True}}, "test"
        ),
    ]
    for other in others:
        with pytest.raises(InputError, match="not known to be yours"):
            expect_allowed(folder, other)
    remember_allowed(folder, PLAN)
    with pytest.raises(InputError, match="not known to be yours"):
        expect_allowed(folder, opening(allow_private=True))


@pytest.mark.parametrize("content", [b"", b"00" * 32, b"nonsense", b"\xff" * 500])
def test_a_signature_that_is_none(folder: Path, content: bytes) -> None:
    (folder / "crawl.allowed").write_bytes(content)
    with pytest.raises(InputError, match="not known to be yours"):
        expect_allowed(folder, opening(allow_private=True))


def test_without_a_place_for_the_key_it_must_be_said_each_time(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    remember_allowed(folder, opening(allow_private=True))
    with pytest.raises(InputError, match="no signature can be stored in .*; use --allow-private to allow it"):
        expect_allowed(folder, opening(allow_private=True))


def test_every_way_to_go_on_asks_and_ones_own_crawl_does_not(tmp_path: Path) -> None:
    pages = {f"{A}/": "<a href=/1><a href=/2>", f"{A}/1": "<a href=/3>", f"{A}/2": "two", f"{A}/3": "three"}
    folder = tmp_path / "c"
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, f"{A}/", folder, budget=1, scope="host")
        n_asked = len(web.requests)
        (folder / "crawl.allowed").unlink()  # as in an untrusted copy
        line = refused("crawl", folder)
        assert f'connect_to = "{web.address}", not known to be yours' in line
        assert f"--connect-to={web.address}" in line
        assert "not known to be yours" in refused("refresh", folder)
        assert "not known to be yours" in refused("estimate", folder)
        with pytest.raises(InputError, match="not known to be yours"):
            CrawlJobs.of_folder(folder).resume()
        with pytest.raises(InputError, match="not known to be yours"):
            refresh(folder)
        with pytest.raises(InputError, match="not known to be yours"):
            live_estimate(folder, EstimateSettings(budget=1))
        assert len(web.requests) == n_asked
        orienteer("crawl", folder, "--budget", 2, "--connect-to", web.address)
        orienteer("crawl", folder, "--budget", 3)
        assert sum(row is not None for row in StoredCrawl(folder).rows.values()) == 3
        orienteer("estimate", folder, "--budget", 1, "--connect-to", web.address)
