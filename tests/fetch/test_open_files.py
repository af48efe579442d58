"""Connections leave enough file descriptors for everything else, at any limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError
from orienteer.fetch.libcurl import MAX_IDLE_CONNECTIONS, MIN_FILES, limits_within
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, Site
from tests.live.live_crawls import StoredCrawl

N_HOSTS = 150


@given(st.integers(MIN_FILES, 100_000))
def test_some_descriptors_are_reserved_for_other_files(n_files: int) -> None:
    limits = limits_within(n_files)
    assert limits.n_fetches >= 1
    assert 1 <= limits.n_idle <= MAX_IDLE_CONNECTIONS
    assert 3 * limits.n_fetches + limits.n_idle <= n_files - 40


def test_too_few_files_are_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"^this process may open 16 files \(ulimit -n\); a crawl needs at least 64$"):
        limits_within(16)
    with pytest.raises(InputError, match="may open 63 files"):
        limits_within(MIN_FILES - 1)


class ManyHosts(Site):
    """The home page links to a page on each of many hosts."""

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if host != "h0.test":
            return FakeResponse("<p>here")
        return FakeResponse("".join(f"<a href=http://h{k}.test/>there</a>" for k in range(N_HOSTS)))


def crawl_within(n_files: int, web: FakeWeb, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a process with this limit, soft and hard."""
    options = ["--scope", "web", "--delay", "0", "--ignore-robots", "--quiet", "--connect-to", web.address]
    command = [sys.executable, "-m", "orienteer", "crawl", "http://h0.test/", "-o", str(folder), *options]
    limited = ["bash", "-c", 'ulimit -n "$0" && exec "$@"', str(n_files), *command]
    return subprocess.run(limited, capture_output=True, text=True, timeout=300, check=False)


def test_a_crawl_of_more_hosts_than_files_runs_through(tmp_path: Path) -> None:
    with FakeWeb(ManyHosts()) as web:
        ended = crawl_within(MIN_FILES, web, tmp_path / "crawl")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert StoredCrawl(tmp_path / "crawl").fetched_urls() == {f"http://h{k}.test/" for k in range(N_HOSTS)}


def test_a_limit_that_is_too_small_is_one_line(tmp_path: Path) -> None:
    n_files = 8
    with FakeWeb(ManyHosts()) as web:
        ended = crawl_within(n_files, web, tmp_path / "crawl")
    assert ended.returncode == 2
    message = ended.stderr.strip()
    assert message == f"orienteer: this process may open {n_files} files (ulimit -n); a crawl needs at least 64"
    assert not (tmp_path / "crawl").exists()
