"""Metrics of a crawl for Prometheus: GET /metrics on a local port, with prometheus_client (extra `metrics`).

The crawl only publishes its latest figures; a thread of the server formats them on request.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from socketserver import ThreadingTCPServer
from typing import TYPE_CHECKING, Any

from orienteer.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

    from orienteer.inspect.figures import CrawlFigures

    Kind = type[CounterMetricFamily] | type[GaugeMetricFamily]

_ADDRESS = "127.0.0.1"
_MAX_PORT = 65_535
_CLIENT_TIMEOUT_S = 5.0


class Published:
    """The latest figures, as a collector of prometheus_client. `port` is None if nothing is served."""

    def __init__(self) -> None:
        self.port: int | None = None
        self._figures: CrawlFigures | None = None

    def __call__(self, figures: CrawlFigures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """Return the metrics, for a registry of prometheus_client."""
        return iter(()) if self._figures is None else metrics(self._figures)


def check_metrics(port: int | None) -> None:
    """Refuse an invalid port (None is valid: no server), and a missing extra."""
    if port is None:
        return
    if not 0 <= port <= _MAX_PORT:
        raise InputError(f"--metrics is {port}; a port is a number from 0 (any free one) to {_MAX_PORT:,}")
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        raise MissingExtraError("--metrics", "prometheus-client", "metrics") from None


@contextmanager
def serving(port: int | None) -> Iterator[Published]:
    """Serve the published figures during the `with` block, on a checked port.

    0 is any free port, None serves nothing.
    """
    published = Published()
    if port is None:
        yield published
        return
    with _listening(port, published) as server:
        published.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="metrics", daemon=True)
        thread.start()
        try:
            yield published
        finally:
            server.shutdown()
            thread.join()


def metrics(figures: CrawlFigures) -> Iterator[Metric]:
    """Yield the figures as metrics of prometheus_client."""
    from prometheus_client.core import CounterMetricFamily as Counter
    from prometheus_client.core import GaugeMetricFamily as Gauge

    proved = figures.certificate
    n_other_hosts = figures.n_hosts - figures.n_hosts_backing_off - figures.n_hosts_abandoned
    by_state = {
        "fetched": figures.n_fetched,
        "redirect": figures.n_redirects,
        "skipped": figures.n_skipped,
        "failed": figures.n_failed,
        "blocked": figures.n_blocked,
    }
    hosts = {"backing_off": figures.n_hosts_backing_off, "abandoned": figures.n_hosts_abandoned, "other": n_other_hosts}
    yield _family(Counter, "pages_total", "Pages done, by state.", "state", by_state)
    yield _single(Gauge, "frontier_pages", "Known pages waiting to be fetched.", figures.n_frontier)
    yield _single(Gauge, "known_urls", "URLs known inside the scope.", figures.n_known)
    yield _single(Gauge, "fetches_in_flight", "Requests in flight.", figures.n_in_flight)
    yield _family(Gauge, "hosts", "Hosts of known URLs, by state.", "state", hosts)
    yield _single(Counter, "received_bytes_total", "Bytes received in this run.", figures.n_bytes)
    yield _single(Gauge, "coverage_lower", "Proved share of all rank on fetched pages.", proved.lower)
    yield _single(Gauge, "coverage_upper", "Upper bound of the share of all rank on fetched pages.", proved.upper)
    yield _single(Gauge, "blocked_mass", "Mass on pages that cannot be fetched.", proved.blocked)
    yield _single(Gauge, "unknown_mass", "Mass behind unknown links.", proved.unknown)
    about = "Proved share of the reachable rank on fetched pages."
    yield _single(Gauge, "coverage_of_reachable", about, proved.of_reachable)
    yield from _survey(figures)
    about = "1 if the requested coverage can never be proved, else 0."
    yield _single(Gauge, "goal_is_impossible", about, float(figures.goal_is_impossible))
    yield _family(Counter, "outcomes_total", "Responses in this run, by outcome.", "outcome", figures.outcomes)
    yield _single(Gauge, "epoch", "Number of the epoch; 0 is the first crawl.", figures.epoch)
    yield _family(Counter, "visits_total", "Pages in a refresh, by result.", "kind", figures.visits)
    yield from _workers(figures)
    yield _single(Gauge, "elapsed_seconds", "Time since this run began.", figures.elapsed_s)


def _workers(figures: CrawlFigures) -> Iterator[Metric]:
    """Yield the metrics of the workers, labelled with machine and process."""
    from prometheus_client.core import CounterMetricFamily as Counter
    from prometheus_client.core import GaugeMetricFamily as Gauge

    by_name = {f"{worker.where}/{worker.process}": worker for worker in figures.workers}
    responses = {name: worker.n_responses for name, worker in by_name.items()}
    in_flight = {name: worker.n_in_flight for name, worker in by_name.items()}
    busy = {name: worker.busy for name, worker in by_name.items() if worker.busy is not None}
    yield _single(Gauge, "workers", "Processes that fetch and read pages.", len(by_name))
    yield _single(Counter, "workers_crashed_total", "Workers that crashed.", figures.n_workers_crashed)
    yield _family(Counter, "worker_responses_total", "Responses of each worker.", "worker", responses)
    yield _family(Gauge, "worker_requests", "Requests in flight of each worker.", "worker", in_flight)
    yield _family(Gauge, "worker_busy", "Share of a CPU core that each worker uses.", "worker", busy)


def _survey(figures: CrawlFigures) -> Iterator[Metric]:
    """Yield the results of the random walks; their bounds hold with the confidence once the evidence is 1."""
    from prometheus_client.core import CounterMetricFamily as Counter
    from prometheus_client.core import GaugeMetricFamily as Gauge

    measured = figures.measured
    if figures.evidence is None:
        return
    about = "Progress of the random walks towards the goal; at 1 it is reached."
    yield _single(Gauge, "measured_evidence", about, figures.evidence)
    if measured is None:
        return
    yield _single(Gauge, "measured_coverage", "Coverage estimated by random walks.", measured.estimate)
    about = "The goal once the walks have reached it; the proved bound until then."
    yield _single(Gauge, "measured_coverage_lower", about, measured.lower)
    about = "Upper bound of the coverage."
    yield _single(Gauge, "measured_coverage_upper", about, measured.upper)
    about = "Confidence with which the goal is reached once the evidence is 1."
    yield _single(Gauge, "measured_confidence", about, measured.confidence)
    yield _single(Counter, "walks_total", "Finished random walks.", measured.n_walks)
    yield _single(Counter, "probes_total", "Pages fetched for random walks.", measured.n_probes)


def _single(kind: Kind, name: str, about: str, value: float) -> Metric:
    return kind(f"orienteer_{name}", about, value)


def _family(kind: Kind, name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    family = kind(f"orienteer_{name}", about, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


class _Server(ThreadingTCPServer):
    """A server without the reverse DNS lookup of http.server, which may take long without a network."""

    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect early; the terminal belongs to the display."""


def _listening(port: int, published: Published) -> _Server:
    from prometheus_client import CollectorRegistry, MetricsHandler

    registry = CollectorRegistry()
    registry.register(published)
    handler = type("Handler", (MetricsHandler,), {"registry": registry, "timeout": _CLIENT_TIMEOUT_S})
    try:
        return _Server((_ADDRESS, port), handler)
    except OSError as error:
        raise InputError(f"--metrics: port {port} cannot be used: {error.strerror or error}") from None
