"""A crawl's figures for Prometheus: GET /metrics on a port of this machine, in the text format 0.0.4.

The crawl hands over its figures about once a second; a request is answered with the latest, so that being asked costs
the crawl nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import TYPE_CHECKING, Any, Protocol

from orienteer.errors import InputError

if TYPE_CHECKING:
    from orienteer.live.figures import Figures

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ADDRESS = "127.0.0.1"
_MAX_PORT = 65_535
_EVERY_S = 1.0

Clock = Callable[[], float]


class Publish(Protocol):
    """Takes figures when it is due, and ignores them in between. `port` is None where nothing is served."""

    @property
    def port(self) -> int | None: ...

    def is_due(self) -> bool: ...

    def __call__(self, figures: Figures) -> None: ...


@contextmanager
def serving(port: int | None) -> Iterator[Publish]:
    """Serve what is published for as long as the `with` statement lasts; 0 is any free port, None serves nothing."""
    if port is None:
        yield Unpublished()
        return
    with _listening(port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="metrics", daemon=True)
        thread.start()
        try:
            yield Published(server)
        finally:
            server.shutdown()
            thread.join()


class Unpublished:
    port = None

    def is_due(self) -> bool:
        return False

    def __call__(self, figures: Figures) -> None:
        pass


class Published:
    def __init__(self, server: _Server, clock: Clock = time.monotonic) -> None:
        self._server = server
        self._clock = clock
        self._next = clock()
        self.port: int = server.server_address[1]

    def is_due(self) -> bool:
        return self._clock() >= self._next

    def __call__(self, figures: Figures) -> None:
        if self.is_due():
            self._server.text = metrics_text(figures).encode()
            self._next = self._clock() + _EVERY_S


def metrics_text(figures: Figures) -> str:
    """The figures in the text format."""
    proved = figures.certificate
    n_other_hosts = figures.n_hosts - figures.n_hosts_resting - figures.n_hosts_given_up
    by_state = {"fetched": figures.n_fetched, "failed": figures.n_failed, "blocked": figures.n_blocked}
    hosts = {"resting": figures.n_hosts_resting, "given_up": figures.n_hosts_given_up, "other": n_other_hosts}
    return "".join((
        _family("pages_total", "counter", "Pages that are done, by what became of them.", "state", by_state),
        _single("frontier_pages", "gauge", "Known pages that wait to be fetched.", figures.n_frontier),
        _single("known_urls", "gauge", "URLs seen, inside and outside the scope.", figures.n_known),
        _single("fetches_in_flight", "gauge", "Fetches under way.", figures.n_under_way),
        _family("hosts", "gauge", "Hosts of the URLs seen, by how they are.", "state", hosts),
        _single("received_bytes_total", "counter", "Bytes received in this run.", figures.n_bytes),
        _single("coverage_lower", "gauge", "Share of all rank proved to be on fetched pages.", proved.lower),
        _single("coverage_upper", "gauge", "Share of all rank that fetched pages can have at most.", proved.upper),
        _single("blocked_mass", "gauge", "Mass that waits on pages that cannot be fetched.", proved.blocked),
        _family("outcomes_total", "counter", "Answers in this run, by outcome.", "outcome", figures.outcomes),
        _single("epoch", "gauge", "Number of the epoch; 0 is the first crawl.", figures.epoch),
        _family("visits_total", "counter", "Pages in a refresh, by what was found.", "kind", figures.visits),
        _single("elapsed_seconds", "gauge", "Time since this run began.", figures.elapsed_s),
    ))  # fmt: skip


def _single(name: str, kind: str, about: str, value: float) -> str:
    return f"{_head(name, kind, about)}orienteer_{name} {value!r}\n"


def _family(name: str, kind: str, about: str, label: str, values: Mapping[str, float]) -> str:
    lines = (f'orienteer_{name}{{{label}="{_escaped(key)}"}} {value!r}\n' for key, value in values.items())
    return _head(name, kind, about) + "".join(lines)


def _head(name: str, kind: str, about: str) -> str:
    return f"# HELP orienteer_{name} {about}\n# TYPE orienteer_{name} {kind}\n"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class _Server(ThreadingTCPServer):
    """Not http.server's own: that looks up the name of the machine, which may take long without a network."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int) -> None:
        self.text = b""
        super().__init__((_ADDRESS, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up early is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 5.0  # for a client that connects and says nothing

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(HTTPStatus.NOT_FOUND, explain="The figures are at /metrics.")
            return
        text = self.server.text
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """The display owns the terminal."""


def _listening(port: int) -> _Server:
    if not 0 <= port <= _MAX_PORT:
        raise InputError(f"--metrics is {port}; a port is a number from 0 (any free one) to {_MAX_PORT:,}")
    try:
        return _Server(port)
    except OSError as error:
        raise InputError(f"--metrics: port {port} cannot be used: {error.strerror or error}") from None
