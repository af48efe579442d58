"""Nothing that a page does reaches the network: each request goes to its owner, or fails.

A server on loopback receives every connection, and a socket every datagram. The page tries each known way to connect.
Its responses come from memory, so everything that the server receives has leaked.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob
from tests.browser.rendering import HTML, PAGES, job_of, open_renderer, refused, render, respond

_END = b"the test itself"
_WORKER = """fetch('/from-NAME'); try { importScripts('/imported-by-NAME.js') } catch {}
try { new WebSocket('ws://HOST/NAME') } catch {}"""
_SCRIPTS = ("worker", "worker-module", "shared", "paint", "audio", "storage", "imported", "script", "module", "preload")
# The page learns no more by these than it sees, and has them before it is done.
_REPORTS = (
    ("Content-Security-Policy-Report-Only", "default-src 'none'; report-uri /csp-report; report-to group"),
    ("Reporting-Endpoints", 'group="/reports"'),
    ("Report-To", '{"group": "nel", "max_age": 1000, "endpoints": [{"url": "HERE/nel-reports"}]}'),
    ("NEL", '{"report_to": "nel", "max_age": 1000, "success_fraction": 1.0}'),
    ("Link", "</linked.js>; rel=preload; as=script, <HERE>; rel=preconnect"),
    ("Speculation-Rules", '"/rules.json"'),
)


class Listening:
    """Receives what is sent to loopback, by TCP and by UDP on the same port."""

    def __init__(self) -> None:
        self.stream = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.stream.getsockname()[1]
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind(("127.0.0.1", self.port))
        self.received: list[bytes] = []
        self._threads = [threading.Thread(target=listen) for listen in (self._receive_streams, self._receive_datagrams)]
        for thread in self._threads:
            thread.start()

    def _receive_streams(self) -> None:
        while True:
            connection, _ = self.stream.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(30)
                first = connection.recv(1000)
                self.received.append(b"TCP " + first)
                if first == _END:
                    return

    def _receive_datagrams(self) -> None:
        while True:
            first = self.datagrams.recv(1000)
            self.received.append(b"UDP " + first)
            if first == _END:
                return

    def close(self) -> None:
        """When our own words have come through, everything before them has."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(_END)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
            sending.sendto(_END, ("127.0.0.1", self.port))
        for thread in self._threads:
            thread.join()
        self.stream.close()
        self.datagrams.close()


@pytest.fixture
def listening() -> Iterator[Listening]:
    listening = Listening()
    yield listening
    if any(thread.is_alive() for thread in listening._threads):
        listening.close()


class Owner:
    def __init__(self, here: str) -> None:
        self.here = here
        self.asked: dict[str, str] = {}

    def __call__(self, wanted: BrowserRequest) -> BrowserResponse:
        url = urlsplit(wanted.url)
        self.asked[wanted.url.removeprefix(self.here)] = wanted.kind
        name = url.path.strip("/").partition(".")[0]
        if wanted.url.removeprefix(self.here) == wanted.url or name == "forbidden":
            return refused(wanted)
        if name == "wait":
            time.sleep(1.0)  # no time of the page: what is on its way to the network arrives
        if name == "redirect":
            return respond(wanted, "", status=302, location=f"{self.here}/redirected")
        if url.path.endswith(".js") and name in _SCRIPTS:
            script = (
                _WORKER.replace("NAME", name).replace("HOST", url.netloc) if "work" in name or name == "shared" else ""
            )
            return respond(wanted, script, "text/javascript")
        if name == "frame":
            return respond(
                wanted, "<script>fetch('/from-frame')</script><iframe src='/frame-in-frame'></iframe>", "text/html"
            )
        return respond(wanted, "ok", "text/html")


def _job(listening: Listening, here: str) -> RenderJob:
    host = f"127.0.0.1:{listening.port}"
    text = (PAGES / "leaks.html").read_text().replace("HERE", here).replace("HOST", host).replace("DATAGRAMS", host)
    text = text.replace("HERPORT", str(listening.port))
    headers = (*HTML, *((name, value.replace("HERE", here)) for name, value in _REPORTS))
    return job_of(f"{here}/", text.encode(), 1, headers=headers, pictures=True, cpu_s=300.0)


@pytest.mark.parametrize("isolates_network", [False, True], ids=["by its flags alone", "without a network"])
def test_nothing_reaches_the_network(listening: Listening, isolates_network: bool) -> None:
    here = f"http://127.0.0.1:{listening.port}"
    owner, job = Owner(here), _job(listening, here)
    with open_renderer(isolates_network=isolates_network, tabs=1) as renderer:
        rendered = render(renderer, [job], owner)[1]
        if isolates_network and os.geteuid() == 0:  # others may not be allowed it
            assert renderer._browser is not None
            its_network = f"/proc/{renderer._browser.process.pid}/ns/net"
            assert os.readlink(its_network) != os.readlink("/proc/self/ns/net")
    listening.close()
    assert sorted(listening.received) == [b"TCP " + _END, b"UDP " + _END]

    said = re.findall(r"<li>(.*?)</li>", rendered.document.decode())
    attempts = re.findall(r"^  (\w+): ", job.response.content.decode().partition("const attempts")[2], re.MULTILINE)
    assert len(attempts) > 35
    assert set(attempts) <= set(said)  # it came so far
    assert {"waited: yes", "forbidden: refused", "permissions: denied,denied,denied"} <= set(said)
    assert rendered.trouble == ""
    assert rendered.redirect == ""

    wanted = {
        "/image", "/script.js", "/style.css", "/import.css", "/frame", "/frame-in-frame", "/from-frame", "/fetch",
        "/redirect", "/redirected", "/xhr", "/synchronous", "/worker.js", "/from-worker", "/shared.js", "/from-shared",
        "/worker-module.js", "/from-worker-module", "/from-blob", "/imported.js", "/object", "/embed", "/wait",
        "/linked.js", "/preload.js", "/paint.js", "/form-get?a=", "/forbidden", "http://10.1.2.3/private",
    }  # fmt: skip
    assert wanted <= owner.asked.keys()
    never = {
        "/prefetch", "/speculated", "/speculated-late", "/prerendered", "/post", "/beacon", "/events", "/service.js",
        "/ping", "/download", "/form-post", "/window", "/csp-report", "/reports", "/nel-reports", "/beacon-at-the-end",
        "/rules.json", "/attribution",
    }  # fmt: skip
    assert not never & owner.asked.keys()
    assert not [url for url in owner.asked if url.startswith("ws")]
    assert f"{here}/window" in rendered.links


def test_without_the_flags_it_would_leak(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the test above can fail."""
    monkeypatch.setattr("orienteer.browser.process._NO_NETWORK", ())
    here = f"http://127.0.0.1:{listening.port}"
    with open_renderer(isolates_network=False, tabs=1) as renderer:
        render(renderer, [_job(listening, here)], Owner(here))
    listening.close()
    assert len(listening.received) > 2
