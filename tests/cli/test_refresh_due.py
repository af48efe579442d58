"""`orienteer refresh` and `orienteer schedule`: due crawls, webhooks, parallel runs, kill -9."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from orienteer.cli.refresh import BUSY, NOT_DUE, REFRESHED, Options, RefreshTarget, refresh_one
from orienteer.errors import CrawlFolderError
from orienteer.fetch.webhook import Webhook
from orienteer.ledger.revisiting import DAY_S
from orienteer.library.schedule import Schedule
from orienteer.live.webhook_deliveries import Receiver, WebhookDeliveries
from orienteer.store.folder import CrawlFolder
from orienteer.store.lock import LOCK, REFRESH_LOCK, FolderLock
from tests import receiver as loopback
from tests.cli.run import orienteer, refused
from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled
from tests.ready_process import ReadyPopen

HOME = "http://a.test/"
OPTIONS = Options(only_if_due=True, quiet=True, pause=lambda _: None)


@pytest.fixture
def site() -> ChangingSite:
    return ChangingSite(MadeSite({HOME: "<title>Home</title><a href=/x>x</a>", "http://a.test/x": "<title>X</title>"}))


@pytest.fixture
def crawl(site: ChangingSite, tmp_path: Path) -> Iterator[Path]:
    """The folder of a crawl of the site, which is there as long as the test."""
    with FakeWeb(site) as web:
        crawled(web, HOME, tmp_path / "library" / "town")
        yield tmp_path / "library" / "town"


def target(crawl: Path, schedule: Schedule, url: str = "") -> RefreshTarget:
    receiver = Receiver(Webhook(url, b"key", allow_private=True), "town") if url else None
    return RefreshTarget("town", crawl, schedule, receiver)


def test_once_a_day_and_missed_days_are_caught_up_once(site: ChangingSite, crawl: Path) -> None:
    now, daily = time.time(), target(crawl, Schedule("day"))
    early = refresh_one(daily, OPTIONS, now)
    assert (early.state, early.visits) == (NOT_DUE, None)
    assert early.line.startswith("town: not due; next: ")
    site.edit(HOME, "<title>Home</title>changed")
    noon = datetime.fromtimestamp(now + 5 * DAY_S).replace(hour=12).timestamp()
    later = refresh_one(daily, OPTIONS, noon)
    assert (later.state, later.epoch) == (REFRESHED, 1)
    assert later.line == "town: refreshed: 2 checked: 0 new, 1 changed, 1 unchanged (1 of them not sent again)"
    for hours in (0, 1, 10):
        assert refresh_one(daily, OPTIONS, noon + 3600 * hours).state == NOT_DUE
    assert refresh_one(daily, OPTIONS, noon + DAY_S).state == REFRESHED


def test_a_clock_that_was_years_ahead_costs_one_refresh(
    site: ChangingSite, crawl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything in the folder is from 2030 or so: the crawl is due, with a line that says why, and all its pages."""
    noon = datetime.now().replace(hour=12).timestamp()
    years_s = 4 * 365 * DAY_S
    for days in (1, 2):
        assert refresh_one(RefreshTarget("town", crawl), Options(quiet=True), noon + days * DAY_S).state == REFRESHED
    with CrawlFolder.open(crawl) as folder:
        folder.database.connection.write("UPDATE page SET time = time + ?", years_s)
        for table, columns in (("revisit", ("first_time", "checked")), ("epoch", ("began", "ended"))):
            for column in columns:
                folder.database.connection.write(f"UPDATE {table} SET {column} = {column} + ?", years_s)
        folder.acknowledge()
    site.edit(HOME, "<title>Home</title><a href=/x>x</a> changed")
    daily, now = target(crawl, Schedule("day")), noon + 3 * DAY_S
    capsys.readouterr()
    result = refresh_one(daily, OPTIONS, now)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("town: it was last refreshed on 20")
    assert line.endswith("which is in the future: was a clock wrong?")
    assert result.line.startswith("town: refreshed: 2 checked: 0 new, 1 changed, 1 unchanged")
    assert refresh_one(daily, OPTIONS, now + 60.0).state == NOT_DUE
    assert refresh_one(daily, OPTIONS, now + DAY_S).state == REFRESHED


def test_when_it_pays(site: ChangingSite, crawl: Path) -> None:
    """A page of two changes every day: it pays after a day. When nothing changes any more the pauses grow."""
    now, pays = time.time(), target(crawl, Schedule("pays", threshold=0.3, most_days=60))
    refreshed = []
    for day in range(1, 40):
        if day < 4:
            site.edit(HOME, f"<title>Home</title><a href=/x>x</a> day {day}")
        if refresh_one(pays, OPTIONS, now + day * DAY_S).state == REFRESHED:
            refreshed.append(day)
    assert refreshed[:4] == [1, 2, 3, 4]
    pauses = [after - before for before, after in itertools.pairwise(refreshed[3:])]
    assert min(pauses[-2:]) > max(pauses[:2])


def test_a_crawl_that_is_being_worked_on_is_skipped(crawl: Path) -> None:
    daily = target(crawl, Schedule("day"))
    for name in (LOCK, REFRESH_LOCK):
        lock = FolderLock(crawl, name)
        try:
            found = refresh_one(daily, OPTIONS, time.time() + 9 * DAY_S)
            assert found.state == BUSY
            assert "in use by process" in found.line
            with pytest.raises(CrawlFolderError, match="in use by process"):
                refresh_one(daily, Options(quiet=True), time.time())
        finally:
            lock.release()
    assert refresh_one(daily, OPTIONS, time.time() + 9 * DAY_S).state == REFRESHED


def test_changes_are_sent_and_a_failing_receiver_does_not_fail_the_refresh(site: ChangingSite, crawl: Path) -> None:
    now = time.time()
    with loopback.receiving(500, 500, 500, 204) as receiver:
        refreshable = target(crawl, Schedule("day"), receiver.url)
        site.edit(HOME, "<title>Home</title>changed")
        failed = refresh_one(refreshable, OPTIONS, now + 2 * DAY_S)
        assert failed.state == REFRESHED
        (line,) = failed.notes
        assert line.startswith("webhook: epoch 1 was not delivered: http 500")
        again = refresh_one(refreshable, OPTIONS, now + 2 * DAY_S + 60)  # not due, but the message is sent
        assert again.notes == (f"webhook: epoch 1 delivered to {receiver.url.rstrip('/')}",)
    assert [message.json["changed_urls"] for message in receiver.messages] == [[HOME]] * 4


def test_the_command_for_folders(site: ChangingSite, crawl: Path, tmp_path: Path) -> None:
    assert "not due; next: " in orienteer("refresh", crawl, "--every", "week").stdout
    secret = tmp_path / "secret"
    secret.write_text("our secret\n")
    secret.chmod(0o600)
    site.edit(HOME, "<title>Home</title>changed")
    with loopback.receiving() as receiver:
        hook = (
            "--webhook",
            receiver.url,
            "--webhook-allow-private",
            "--webhook-secret",
            secret,
            "--feed-url",
            "http://b.test/",
        )
        done = orienteer("refresh", crawl, "--quiet", *hook).stdout
    assert f"{crawl}: refreshed: 2 checked: 0 new, 1 changed" in done
    assert "  webhook: epoch 1 delivered to http://127.0.0.1" in done
    (message,) = receiver.messages
    assert (message.json["crawl"], message.json["feed"]) == ("town", "http://b.test/")
    assert message.headers["X-Orienteer-Signature"].startswith("sha256=")
    (refreshable,) = json.loads(orienteer("refresh", crawl, "--json").stdout)["crawls"]
    assert (refreshable["state"], refreshable["epoch"]) == ("refreshed", 2)
    changes = json.loads(orienteer("changes", crawl, "--epoch", 1, "--json").stdout)
    assert [one["url"] for one in changes["changes"]] == [HOME]
    assert "epoch 1, " in orienteer("changes", crawl).stdout


def test_the_command_for_a_library(crawl: Path, tmp_path: Path) -> None:
    library = ("--library", crawl.parent)
    assert orienteer("schedule", *library).stdout == "No crawl has a schedule.\n"
    assert orienteer("refresh", *library, "--due").stdout == ""
    printed = orienteer("schedule", "town", *library, "--every", "day", "--webhook", "https://hook.test/x").stdout
    assert printed.startswith("town: every day at 03:00; next: ")
    assert "\n  secret  " in printed
    (row,) = json.loads(orienteer("schedule", *library, "--json", "town", "--at", "04:15").stdout)["schedules"]
    assert (row["schedule"]["at"], row["schedule"]["webhook"]) == ("04:15", "https://hook.test/x")
    assert orienteer("refresh", *library, "--due").stdout.startswith("town: not due; next: ")
    assert orienteer("refresh", *library, "--due", "--quiet").stdout == ""
    assert "no schedule" in orienteer("schedule", "town", *library, "--every", "never").stdout
    assert "town: it has no schedule" in orienteer("refresh", crawl, *library, "--due").stdout


def test_one_that_fails_does_not_keep_the_others(crawl: Path, tmp_path: Path) -> None:
    shutil.copytree(crawl, crawl.parent / "other")
    for name in ("town", "other"):
        orienteer("schedule", name, "--library", crawl.parent, "--every", "day")
    (crawl.parent / ".schedules" / "other.toml").write_text("every = 1")
    done = orienteer("refresh", "--library", crawl.parent, "--due", code=2)
    assert done.stdout.startswith("town: not due")
    assert done.stderr.count("\n") == 1
    assert "every is 1; it must be a text" in done.stderr


def test_bad_input_is_one_line(crawl: Path, tmp_path: Path) -> None:
    assert "no crawl given" in refused("refresh")
    assert "--due needs a schedule" in refused("refresh", crawl, "--due")
    assert "no such crawl folder" in refused("refresh", tmp_path / "nothing")
    assert "no schedule named 'hourly'" in refused("refresh", crawl, "--every", "hourly")
    assert "which is loopback" in refused("refresh", crawl, "--webhook", "http://127.0.0.1/")
    assert "no crawl named none" in refused("schedule", "none", "--library", crawl.parent, "--every", "day")
    assert "their own schedules" in refused("refresh", "--library", crawl.parent, "--every", "day")
    assert "no kind of change named 'nwe'" in refused("changes", crawl, "--kind", "nwe")


def test_killed_between_refresh_and_delivery(site: ChangingSite, crawl: Path) -> None:
    """The process is killed before the receiver responds: the next run sends the message again."""
    asked, killed = threading.Event(), threading.Event()

    class Waiting(loopback.Receiver):
        def take(self, message: loopback.Message) -> tuple[int, str]:
            answer = super().take(message)
            asked.set()
            killed.wait(300)
            return answer

    site.edit(HOME, "<title>Home</title>changed")
    with loopback.receiving(kind=Waiting) as receiver:
        hook = ["--webhook", receiver.url, "--webhook-allow-private", "--quiet"]
        command = [sys.executable, "-m", "orienteer", "refresh", str(crawl), *hook]
        with ReadyPopen(command) as process:
            assert asked.wait(300)
            process.kill()
        killed.set()
        refreshable = target(crawl, Schedule("day"), receiver.url)
        assert refreshable.receiver is not None
        assert WebhookDeliveries(crawl, refreshable.receiver).waiting() == [1]
        result = refresh_one(refreshable, OPTIONS, time.time())
    assert result.state == NOT_DUE
    assert result.notes == (f"webhook: epoch 1 delivered to {receiver.url.rstrip('/')}",)
    first, second = receiver.messages
    assert first.json["changed_urls"] == second.json["changed_urls"] == [HOME]
    assert first.headers["X-Orienteer-Delivery"] == second.headers["X-Orienteer-Delivery"]
