"""`orienteer stop`, and what `serve` says of a crawl that it leaves running."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import httpx

from orienteer.inspect.crawl_status import crawl_status
from orienteer.store.lock import holder_of
from tests.cli.live_process import wait_until
from tests.cli.run import orienteer, refused
from tests.cli.test_serve_command import serving
from tests.web.slow_crawl import SlowCrawl, slow_web, stop_holder


def test_a_crawl_is_stopped_from_another_terminal(tmp_path: Path) -> None:
    with slow_web() as web:
        crawl = SlowCrawl(web, tmp_path / "crawl")
        with crawl.running() as process:
            done = orienteer("stop", crawl.folder, "--json")
            assert json.loads(done.stdout) == {"version": 2, "folder": str(crawl.folder), "process": process.pid}
            assert process.ended()[0] == 130
    report = crawl_status(crawl.folder).report
    assert report is not None
    assert report.stopped_because == "interrupted"
    assert "no crawl is running there" in refused("stop", crawl.folder)
    assert "nowhere" in refused("stop", tmp_path / "nowhere")


def test_a_server_that_ends_says_which_crawl_runs_on(tmp_path: Path) -> None:
    with slow_web() as web:
        crawl = SlowCrawl(web, tmp_path / "crawl", "--budget", 3)
        crawl.begun(code=0)
        try:
            with serving(crawl.folder, "--port", 0) as (address, server):
                answer = httpx.post(f"{address}api/crawl/resume", json={"until": 1}, trust_env=False, timeout=60)
                assert answer.status_code == 200, answer.text
                process = answer.json()["process"]
                wait_until(lambda: holder_of(crawl.folder) == process)
                server.send_signal(signal.SIGINT)
                _, printed = server.communicate(timeout=60)
            assert f"still running (process {process}). To stop it: orienteer stop {crawl.folder}" in printed
            assert f"process {process} was asked to stop" in orienteer("stop", crawl.folder).stdout
            wait_until(lambda: holder_of(crawl.folder) is None)
        finally:
            stop_holder(crawl.folder, os.kill, signal.SIGKILL)
