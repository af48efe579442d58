"""Fixtures: exports of a crawl with assets, and servers for pywb and ReplayWeb.page."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from orienteer.exports.export import export
from tests import external_tools as tools
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.apps import needs_browser
from tests.live.live_crawls import crawled
from tests.replay_tools.sites import HOME, made_site, real_site

_REPLAY_PAGE = (
    '<!doctype html><title>x</title><script src="/ui.js"></script><replay-web-page source="/all.wacz" url="{}">'
)


class Exported(NamedTuple):
    """The crawl folder and its exports; `real` are the URLs of pages of real sites."""

    crawl: Path
    warc: Path
    wacz: Path
    cdxj: Path
    real: list[str]


@pytest.fixture(scope="package")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    place = tmp_path_factory.mktemp("exported")
    docs = tools.debian_docs()
    answers, real = ({}, []) if docs is None else real_site(docs)
    seeds = [HOME, "http://made.test/frame/", *real]
    folder = place / "crawl"
    needs_browser()
    settings = {
        "crawl": {"assets": True},
        "render": {"mode": HOME, "screenshots": True},
        "scope": {"max_depth": 0},
    }
    with FakeWeb(MadeSite(answers | made_site())) as web:
        crawled(web, seeds, folder, settings=settings)
    made = Exported(folder, place / "all.warc.gz", place / "all.wacz", place / "all.cdxj", real)
    for path in made[1:4]:
        export(folder, path.name.split(".")[1], path, processes=1)
    return made


@pytest.fixture(scope="package")
def pywb(exported: Exported, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address at which pywb serves all of the exports."""
    program = tools.pywb()
    if program is None:
        pytest.skip(f"pywb {tools.PYWB} cannot be installed here")
    script = Path(__file__).with_name("pywb_server.py")
    command = [sys.executable, "-W", "ignore", script, *exported[1:4], exported.crawl / "archive"]
    place = tmp_path_factory.mktemp("pywb")
    environment = os.environ | {"PYTHONPATH": str(program)}
    with (
        (place / "log").open("wb") as log,
        subprocess.Popen(command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=log) as server,
    ):
        try:
            assert server.stdout is not None
            port = next((line for line in iter(server.stdout.readline, b"") if line.strip().isdigit()), None)
            assert port is not None, (place / "log").read_text()
            yield f"http://127.0.0.1:{int(port)}"
        finally:
            server.terminate()


@pytest.fixture(scope="package")
def replaywebpage(exported: Exported, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of ReplayWeb.page with the WACZ."""
    program = tools.replaywebpage()
    if program is None:
        pytest.skip(f"replaywebpage {tools.REPLAYWEB} cannot be fetched here: that takes npm")
    place = tmp_path_factory.mktemp("replayweb")
    (place / "replay").mkdir()
    for name, folder in (("ui.js", "."), ("ui.js", "replay"), ("sw.js", "replay")):
        (place / folder / name).write_bytes((program / name).read_bytes())
    (place / "all.wacz").write_bytes(exported.wacz.read_bytes())
    (place / "index.html").write_text(_REPLAY_PAGE.format(HOME))
    with _served(partial(_Ranges, directory=str(place))) as address:
        yield address


@pytest.fixture(scope="package")
def outside() -> Iterator[tuple[str, list[str]]]:
    """A proxy for remote hosts that refuses every request: its address, and the requested hosts."""
    asked: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        do_CONNECT = do_POST = do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with _served(Refusing) as address:
        yield address, asked


class _Ranges(SimpleHTTPRequestHandler):
    """Serves files, with range requests."""

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        path = Path(self.translate_path(self.path))
        if wanted is None or not path.is_file():
            return super().do_GET()
        data = path.read_bytes()
        start, _, end = wanted.removeprefix("bytes=").partition("-")
        first = int(start) if start else len(data) - int(end)
        last = min(int(end), len(data) - 1) if start and end else len(data) - 1
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Content-Type", "application/octet-stream")
        self.end_headers()
        self.wfile.write(data[first : last + 1])

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _served(handler: type[BaseHTTPRequestHandler] | partial[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
