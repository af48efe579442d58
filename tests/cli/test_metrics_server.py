from __future__ import annotations

import dataclasses
import http.client
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from orienteer.cli.metrics_server import Published, check_metrics, serving
from orienteer.errors import InputError
from orienteer.inspect.figures import CrawlFigures, WorkerNow
from tests.cli.test_crawl_display import FIGURES
from tests.ready_process import TEST_TIMEOUT_S


class Answer(NamedTuple):
    status: int
    content_type: str | None
    text: str


def get(port: int | None, path: str = "/metrics", method: str = "GET") -> Answer:
    assert port is not None
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TEST_TIMEOUT_S)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers.get("Content-Type"), answer.read().decode())
    finally:
        connection.close()


def metrics_text(figures: CrawlFigures) -> str:
    registry, published = CollectorRegistry(), Published()
    registry.register(published)
    published(figures)
    return generate_latest(registry).decode()


_SAMPLE = re.compile(r'([a-z_]+)(?:\{([a-z]+)="((?:[^"\\\n]|\\["\\n])*)"\})? (\S+)')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def parsed(text: str) -> tuple[dict[tuple[str, str], float], dict[str, str]]:
    """The samples by (name, value of the label or ""), and the types; refuses what is not in the format."""
    samples: dict[tuple[str, str], float] = {}
    types: dict[str, str] = {}
    helped = set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helped.add(line.split(" ", 3)[2])
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types
            types[name] = kind
        else:
            found = _SAMPLE.fullmatch(line)
            assert found is not None, line
            name, _, label, value = found.groups()
            assert name in types
            label = re.sub(r"\\.", lambda match: _ESCAPES[match[0]], label or "")
            assert (name, label) not in samples
            samples[name, label] = float(value)
    assert helped == set(types)
    return samples, types


def test_the_figures_can_be_read_back() -> None:
    workers = (WorkerNow("here", 7, 3, 120, 1.5, 0.25), WorkerNow("there", 8, 0, 4, 0.0, None))
    visits = {"not modified": 11}
    refreshing = dataclasses.replace(FIGURES, epoch=3, visits=visits, workers=workers, n_workers_crashed=2)
    samples, types = parsed(metrics_text(refreshing))
    assert samples == {
        ("orienteer_pages_total", "fetched"): 12_345,
        ("orienteer_pages_total", "redirect"): 0,
        ("orienteer_pages_total", "skipped"): 0,
        ("orienteer_pages_total", "failed"): 678,
        ("orienteer_pages_total", "blocked"): 90,
        ("orienteer_frontier_pages", ""): 45_678,
        ("orienteer_known_urls", ""): 123_456,
        ("orienteer_fetches_in_flight", ""): 32,
        ("orienteer_hosts", "backing_off"): 4,
        ("orienteer_hosts", "abandoned"): 1,
        ("orienteer_hosts", "other"): 118,
        ("orienteer_received_bytes_total", ""): 1_234_567_890,
        ("orienteer_coverage_lower", ""): 0.91349,
        ("orienteer_coverage_upper", ""): 0.97001,
        ("orienteer_blocked_mass", ""): 0.006,
        ("orienteer_unknown_mass", ""): 0.0,
        ("orienteer_coverage_of_reachable", ""): pytest.approx(0.91349 / 0.994),
        ("orienteer_goal_is_impossible", ""): 0.0,
        ("orienteer_outcomes_total", "ok"): 12_000,
        ("orienteer_outcomes_total", "redirect"): 345,
        ("orienteer_outcomes_total", "http 404"): 512,
        ("orienteer_outcomes_total", "timed out"): 33,
        ("orienteer_outcomes_total", "robots.txt"): 20,
        ("orienteer_epoch", ""): 3,
        ("orienteer_visits_total", "not modified"): 11,
        ("orienteer_elapsed_seconds", ""): 723.4,
        ("orienteer_workers", ""): 2,
        ("orienteer_workers_crashed_total", ""): 2,
        ("orienteer_worker_responses_total", "here/7"): 120,
        ("orienteer_worker_responses_total", "there/8"): 4,
        ("orienteer_worker_requests", "here/7"): 3,
        ("orienteer_worker_requests", "there/8"): 0,
        ("orienteer_worker_busy", "here/7"): 0.25,
    }
    for name, kind in types.items():
        assert kind == ("counter" if name.endswith("_total") else "gauge")


def test_labels_are_escaped() -> None:
    strange = 'a "quote", a \\ and\na line, \\n'
    samples, _ = parsed(metrics_text(dataclasses.replace(FIGURES, outcomes={strange: 3})))
    assert samples["orienteer_outcomes_total", strange] == 3


def test_it_is_served_while_it_lasts(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(0) as publish:
        status, content_type, text = get(publish.port)
        assert (status, text) == (200, "")
        assert content_type is not None
        assert content_type.startswith("text/plain; version=")
        publish(FIGURES)
        assert get(publish.port).text == metrics_text(FIGURES)
        assert get(publish.port, "/metrics?x=1").text == metrics_text(FIGURES)
        publish(dataclasses.replace(FIGURES, n_fetched=1))
        assert parsed(get(publish.port).text)[0]["orienteer_pages_total", "fetched"] == 1
        assert get(publish.port, method="POST").status == 501
    with pytest.raises(OSError, match="refused"):
        get(publish.port)
    assert capfd.readouterr() == ("", "")


def test_only_this_machine_is_answered() -> None:
    with serving(0) as publish:
        assert publish.port is not None
        with socket.create_server(("127.0.0.2", publish.port)):
            pass  # free: the server does not listen on all addresses


def test_a_client_that_says_nothing_holds_nobody_up(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(0) as publish:
        publish(FIGURES)
        with socket.create_connection(("127.0.0.1", publish.port or 0)):
            assert get(publish.port).status == 200
        hasty = socket.create_connection(("127.0.0.1", publish.port or 0))
        hasty.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset instead of a goodbye
        hasty.close()
        assert get(publish.port).status == 200
    assert capfd.readouterr() == ("", "")


def test_without_a_port_nothing_is_served() -> None:
    check_metrics(None)
    with serving(None) as publish:
        assert publish.port is None
        publish(FIGURES)


def test_a_port_that_cannot_be_used_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"--metrics: port {port} cannot be used: Address already in use"):
            serving(port).__enter__()
    for port in (-1, 65_536, 10**12):
        with pytest.raises(InputError, match=f"--metrics is {port}; a port is a number from 0"):
            check_metrics(port)


def test_without_prometheus_client_the_extra_is_named_before_anything_is_made(tmp_path: Path) -> None:
    without = "import sys; sys.modules['prometheus_client'] = None; from orienteer.cli.main import run; run()"
    command = [sys.executable, "-c", without, "crawl", "http://a.test/", "-o", "new", "--metrics", "0"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "orienteer: --metrics needs prometheus-client: pip install 'orienteer[metrics]'\n"
    assert not any(tmp_path.iterdir())
