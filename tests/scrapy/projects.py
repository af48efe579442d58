"""Scrapy projects in processes of their own, on a fake web."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.disk_limits import NO_BYTECODE, limit_files_of
from tests.fake_web.server import FakeWeb
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen

ONE_LINE = {"ADDONS": {"orienteer.scrapy.Addon": 500}}
ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
CLASSIC = "twisted.internet.epollreactor.EPollReactor"


class SpiderProcess(ReadyPopen):
    modules = ("tests.scrapy.all_of_scrapy",)


class Project:
    """A spider with its settings; each `run` is a process. Items, stats and the log are in the folder."""

    def __init__(self, web: FakeWeb, folder: Path, spider: str, start: list[str], **settings: Any) -> None:
        self.web = web
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.settings: dict[str, Any] = {
            "ITEM_PIPELINES": {"tests.scrapy.spiders.ToFile": 300},
            "ITEMS": str(folder / "items.jsonl"),
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "INFO",
            "REMOTE_CONTROL_ENABLED": False,
        }
        self.settings |= ONE_LINE | settings
        self.task = {"spider": spider, "arguments": {"start": start}, "settings": self.settings}

    def begin(self, max_file_bytes: int | None = None) -> subprocess.Popen[str]:
        """With `max_file_bytes` no file can grow beyond, as if the disk were full."""
        (self.folder / "task.json").write_text(json.dumps(self.task))
        (self.folder / "stats.json").unlink(missing_ok=True)
        # Whatever the spider asks for, it is the fake web that answers.
        proxy = f"http://{self.web.address}"
        environment = os.environ | {"http_proxy": proxy, "https_proxy": proxy, "no_proxy": ""}
        if max_file_bytes is not None:
            environment |= NO_BYTECODE
        with (self.folder / "log").open("ab") as log:
            process = SpiderProcess(
                [sys.executable, "-m", "tests.scrapy.run_spider", str(self.folder / "task.json")],
                env=environment, cwd=Path(__file__).parents[2], stdout=log, stderr=log,
            )  # fmt: skip
        if max_file_bytes is not None:
            limit_files_of(process.pid, max_file_bytes)
        return process

    def run(self, max_file_bytes: int | None = None) -> Mapping[str, Any]:
        """Its stats, with the reason for which it was closed."""
        process = self.begin(max_file_bytes)
        try:
            process.wait(TEST_TIMEOUT_S)
        finally:
            process.kill()
            process.wait()
        return self.stats()

    def run_and_kill(self, n_requests: int) -> bool:
        """Kill it with SIGKILL once it has made so many requests; whether it had not ended before."""
        goal = len(self.web.requests) + n_requests
        process = self.begin()
        deadline = time.monotonic() + TEST_TIMEOUT_S
        while process.poll() is None and len(self.web.requests) < goal and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL

    def stats(self) -> dict[str, Any]:
        path = self.folder / "stats.json"
        assert path.exists(), self.log()
        stats: dict[str, Any] = json.loads(path.read_text())
        return stats

    def items(self) -> list[dict[str, Any]]:
        path = self.folder / "items.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def item_urls(self) -> set[str]:
        return {item["url"] for item in self.items()}

    def log(self) -> str:
        return (self.folder / "log").read_text()
