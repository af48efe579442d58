"""A crawl's figures for Prometheus: GET /metrics on a port of this machine, with prometheus_client (extra `metrics`).

The crawl only hands over its latest figures; they become text when somebody asks, in a thread of the server.
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

    from orienteer.live.figures import Figures

    Kind = type[CounterMetricFamily] | type[GaugeMetricFamily]

_ADDRESS = "127.0.0.1"
_MAX_PORT = 65_535
_CLIENT_TIMEOUT_S = 5.0


class Published:
    """What Prometheus is told: the figures that were published last. `port` is None where nothing is served."""

    def __init__(self) -> None:
        self.port: int | None = None
        self._figures: Figures | None = None

    def __call__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """What a registry of prometheus_client asks for."""
        return iter(()) if self._figures is None else metrics(self._figures)


def check_metrics(port: int | None) -> None:
    """Refuse what is no port (None is: nothing will be served), and a missing extra."""
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
    """Serve what is published for as long as the `with` statement lasts, on a port that was checked.

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


def metrics(figures: Figures) -> Iterator[Metric]:
    """The figures as prometheus_client writes them."""
    from prometheus_client.core import CounterMetricFamily as Counter
    from prometheus_client.core import GaugeMetricFamily as Gauge

    proved = figures.certificate
    n_other_hosts = figures.n_hosts - figures.n_hosts_resting - figures.n_hosts_given_up
    by_state = {
        "fetched": figures.n_fetched,
        "redirect": figures.n_redirects,
        "skipped": figures.n_skipped,
        "failed": figures.n_failed,
        "blocked": figures.n_blocked,
    }
    hosts = {"resting": figures.n_hosts_resting, "given_up": figures.n_hosts_given_up, "other": n_other_hosts}
    yield _family(Counter, "pages_total", "Pages that are done, by what happened to them.", "state", by_state)
    yield _single(Gauge, "frontier_pages", "Known pages that wait to be fetched.", figures.n_frontier)
    yield _single(Gauge, "known_urls", "URLs seen, inside and outside the scope.", figures.n_known)
    yield _single(Gauge, "fetches_in_flight", "Requests in flight.", figures.n_under_way)
    yield _family(Gauge, "hosts", "Hosts of the URLs seen, by how they are.", "state", hosts)
    yield _single(Counter, "received_bytes_total", "Bytes received in this run.", figures.n_bytes)
    yield _single(Gauge, "coverage_lower", "Share of all rank proved to be on fetched pages.", proved.lower)
    yield _single(Gauge, "coverage_upper", "Share of all rank that fetched pages can have at most.", proved.upper)
    yield _single(Gauge, "blocked_mass", "Mass that waits on pages that cannot be fetched.", proved.blocked)
    yield _single(Gauge, "unknown_mass", "Mass behind links that are not known.", proved.unknown)
    about = "Share of the reachable rank proved to be on fetched pages."
    yield _single(Gauge, "coverage_of_reachable", about, proved.of_reachable)
    yield from _survey(figures)
    about = "1 where the coverage that is asked for can never be proved, 0 elsewhere."
    yield _single(Gauge, "goal_is_impossible", about, float(figures.goal_is_impossible))
    yield _family(Counter, "outcomes_total", "Answers in this run, by outcome.", "outcome", figures.outcomes)
    yield _single(Gauge, "epoch", "Number of the epoch; 0 is the first crawl.", figures.epoch)
    yield _family(Counter, "visits_total", "Pages in a refresh, by what was found.", "kind", figures.visits)
    yield from _workers(figures)
    yield _single(Gauge, "elapsed_seconds", "Time since this run began.", figures.elapsed_s)


def _workers(figures: Figures) -> Iterator[Metric]:
    """Those who fetch and read, each by its machine and process."""
    from prometheus_client.core import CounterMetricFamily as Counter
    from prometheus_client.core import GaugeMetricFamily as Gauge

    by_name = {f"{worker.where}/{worker.process}": worker for worker in figures.workers}
    answers = {name: worker.n_answers for name, worker in by_name.items()}
    in_hand = {name: worker.n_in_hand for name, worker in by_name.items()}
    busy = {name: worker.busy for name, worker in by_name.items() if worker.busy is not None}
    yield _single(Gauge, "workers", "Processes that fetch and read pages.", len(by_name))
    yield _single(Counter, "workers_died_total", "Workers that ended before their time.", figures.n_workers_died)
    yield _family(Counter, "worker_answers_total", "Answers of each worker.", "worker", answers)
    yield _family(Gauge, "worker_requests", "Requests that each worker has in hand.", "worker", in_hand)
    yield _family(Gauge, "worker_busy", "Share of a core that each worker uses.", "worker", busy)


def _survey(figures: Figures) -> Iterator[Metric]:
    """What random walks say. The lower and the upper bound are claimed with the confidence once the evidence is 1."""
    from prometheus_client.core import CounterMetricFamily as Counter
    from prometheus_client.core import GaugeMetricFamily as Gauge

    measured = figures.measured
    if figures.evidence is None:
        return
    about = "How far the random walks are towards the goal; at 1 it is reached."
    yield _single(Gauge, "measured_evidence", about, figures.evidence)
    if measured is None:
        return
    yield _single(Gauge, "measured_coverage", "Coverage as random walks estimate it.", measured.estimate)
    about = "The goal once the walks have reached it, what is proved until then."
    yield _single(Gauge, "measured_coverage_lower", about, measured.lower)
    about = "Coverage that fetched pages can have at most."
    yield _single(Gauge, "measured_coverage_upper", about, measured.upper)
    about = "Confidence with which the goal is reached once the evidence is 1."
    yield _single(Gauge, "measured_confidence", about, measured.confidence)
    yield _single(Counter, "walks_total", "Random walks that have ended.", measured.n_walks)
    yield _single(Counter, "probes_total", "Pages that random walks have needed.", measured.n_probes)


def _single(kind: Kind, name: str, about: str, value: float) -> Metric:
    return kind(f"orienteer_{name}", about, value)


def _family(kind: Kind, name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    family = kind(f"orienteer_{name}", about, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


class _Server(ThreadingTCPServer):
    """Not http.server's own: that looks up the name of the machine, which may take long without a network."""

    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up early is no news, and the display owns the terminal."""


def _listening(port: int, published: Published) -> _Server:
    from prometheus_client import CollectorRegistry, MetricsHandler

    registry = CollectorRegistry()
    registry.register(published)
    handler = type("Handler", (MetricsHandler,), {"registry": registry, "timeout": _CLIENT_TIMEOUT_S})
    try:
        return _Server((_ADDRESS, port), handler)
    except OSError as error:
        raise InputError(f"--metrics: port {port} cannot be used: {error.strerror or error}") from None
