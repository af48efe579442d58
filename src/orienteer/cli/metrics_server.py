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
    """Yield the figures as metrics of prometheus_client. Bounds of walks hold with the confidence once the evidence is
    1."""
    from prometheus_client.core import CounterMetricFamily as Counter
    from prometheus_client.core import GaugeMetricFamily as Gauge

    proved, measured = figures.certificate, figures.measured
    hosts: dict[str, int] = {"backing_off": figures.n_hosts_backing_off, "abandoned": figures.n_hosts_abandoned}
    by_state = {
        "fetched": figures.n_fetched,
        "redirect": figures.n_redirects,
        "skipped": figures.n_skipped,
        "failed": figures.n_failed,
        "blocked": figures.n_blocked,
    }
    yield _family(Counter, "pages_total", "Pages done, by state.", "state", by_state)
    hosts["other"] = figures.n_hosts - sum(hosts.values())
    yield _family(Gauge, "hosts", "Hosts of known URLs, by state.", "state", hosts)
    yield _family(Counter, "outcomes_total", "Responses in this run, by outcome.", "outcome", figures.outcomes)
    yield _family(Counter, "visits_total", "Pages in a refresh, by result.", "kind", figures.visits)
    counters: dict[str, tuple[str, float]] = {
        "received_bytes_total": ("Bytes received in this run.", figures.n_bytes),
        "workers_crashed_total": ("Workers that crashed.", figures.n_workers_crashed),
    }
    gauges: dict[str, tuple[str, float]] = {
        "frontier_pages": ("Known pages waiting to be fetched.", figures.n_frontier),
        "known_urls": ("URLs known inside the scope.", figures.n_known),
        "fetches_in_flight": ("Requests in flight.", figures.n_in_flight),
        "coverage_lower": ("Proved share of all rank on fetched pages.", proved.lower),
        "coverage_upper": ("Upper bound of the share of all rank on fetched pages.", proved.upper),
        "blocked_mass": ("Mass on pages that cannot be fetched.", proved.blocked),
        "unknown_mass": ("Mass behind unknown links.", proved.unknown),
        "coverage_of_reachable": ("Proved share of the reachable rank on fetched pages.", proved.of_reachable),
        "goal_is_impossible": (
            "1 if the requested coverage can never be proved, else 0.", float(figures.goal_is_impossible),
        ),
        "epoch": ("Number of the epoch; 0 is the first crawl.", figures.epoch),
        "elapsed_seconds": ("Time since this run began.", figures.elapsed_s),
        "workers": ("Processes that fetch and read pages.", len(figures.workers)),
    }  # fmt: skip
    if figures.evidence is not None:
        about = "Progress of the random walks towards the goal; at 1 it is reached."
        gauges["measured_evidence"] = (about, figures.evidence)
    if figures.evidence is not None and measured is not None:
        about = "The goal once the walks have reached it; the proved bound until then."
        gauges["measured_coverage"] = ("Coverage estimated by random walks.", measured.estimate)
        gauges["measured_coverage_lower"] = (about, measured.lower)
        gauges["measured_coverage_upper"] = ("Upper bound of the coverage.", measured.upper)
        about = "Confidence with which the goal is reached once the evidence is 1."
        gauges["measured_confidence"] = (about, measured.confidence)
        counters["walks_total"] = ("Finished random walks.", measured.n_walks)
        counters["probes_total"] = ("Pages fetched for random walks.", measured.n_probes)
    for name, (about, value) in counters.items():
        yield Counter(f"orienteer_{name}", about, value)
    for name, (about, value) in gauges.items():
        yield Gauge(f"orienteer_{name}", about, value)
    yield from _workers(figures)


def _workers(figures: CrawlFigures) -> Iterator[Metric]:
    """Yield the metrics of the workers, labelled with machine and process."""
    from prometheus_client.core import CounterMetricFamily as Counter
    from prometheus_client.core import GaugeMetricFamily as Gauge

    by_name = {f"{worker.where}/{worker.process}": worker for worker in figures.workers}
    responses = {name: worker.n_responses for name, worker in by_name.items()}
    in_flight = {name: worker.n_in_flight for name, worker in by_name.items()}
    busy = {name: worker.busy for name, worker in by_name.items() if worker.busy is not None}
    yield _family(Counter, "worker_responses_total", "Responses of each worker.", "worker", responses)
    yield _family(Gauge, "worker_requests", "Requests in flight of each worker.", "worker", in_flight)
    yield _family(Gauge, "worker_busy", "Share of a CPU core that each worker uses.", "worker", busy)


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
