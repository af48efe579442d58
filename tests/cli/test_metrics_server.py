from __future__ import annotations

import dataclasses
import http.client
import re
import socket
from typing import NamedTuple

import pytest

from orienteer.cli.metrics_server import CONTENT_TYPE, Published, metrics_text, serving
from orienteer.errors import InputError
from tests.cli.test_crawl_display import FIGURES, FakeClock


class Answer(NamedTuple):
    status: int
    content_type: str | None
    text: str


def get(port: int | None, path: str = "/metrics", method: str = "GET") -> Answer:
    assert port is not None
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers.get("Content-Type"), answer.read().decode())
    finally:
        connection.close()


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
    refreshing = dataclasses.replace(FIGURES, epoch=3, visits={"not modified": 11})
    samples, types = parsed(metrics_text(refreshing))
    assert samples == {
        ("orienteer_pages_total", "fetched"): 12_345,
        ("orienteer_pages_total", "failed"): 678,
        ("orienteer_pages_total", "blocked"): 90,
        ("orienteer_frontier_pages", ""): 45_678,
        ("orienteer_known_urls", ""): 123_456,
        ("orienteer_fetches_in_flight", ""): 32,
        ("orienteer_hosts", "resting"): 4,
        ("orienteer_hosts", "given_up"): 1,
        ("orienteer_hosts", "other"): 118,
        ("orienteer_received_bytes_total", ""): 1_234_567_890,
        ("orienteer_coverage_lower", ""): 0.91349,
        ("orienteer_coverage_upper", ""): 0.97001,
        ("orienteer_blocked_mass", ""): 0.006,
        ("orienteer_outcomes_total", "ok"): 12_000,
        ("orienteer_outcomes_total", "redirect"): 345,
        ("orienteer_outcomes_total", "http 404"): 512,
        ("orienteer_outcomes_total", "timed out"): 33,
        ("orienteer_outcomes_total", "robots.txt"): 20,
        ("orienteer_epoch", ""): 3,
        ("orienteer_visits_total", "not modified"): 11,
        ("orienteer_elapsed_seconds", ""): 723.4,
    }
    for name, kind in types.items():
        assert kind == ("counter" if name.endswith("_total") else "gauge")


def test_labels_are_escaped() -> None:
    strange = 'a "quote", a \\ and\na line, \\n'
    samples, _ = parsed(metrics_text(dataclasses.replace(FIGURES, outcomes={strange: 3})))
    assert samples["orienteer_outcomes_total", strange] == 3


def test_it_is_served_while_it_lasts(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(0) as publish:
        assert get(publish.port) == (200, CONTENT_TYPE, "")
        assert publish.is_due()
        publish(FIGURES)
        assert not publish.is_due()
        assert get(publish.port) == (200, CONTENT_TYPE, metrics_text(FIGURES))
        assert get(publish.port, "/metrics?x=1").status == 200
        for path in ("/", "/metrics/", "/metric", "*"):
            assert get(publish.port, path).status == 404
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
        hasty.close()
        assert get(publish.port).status == 200
    assert capfd.readouterr() == ("", "")


def test_figures_are_taken_once_a_second() -> None:
    clock = FakeClock()
    with serving(0) as publish:
        assert isinstance(publish, Published)
        slow = Published(publish._server, clock)
        slow(FIGURES)
        clock.now += 0.9
        slow(dataclasses.replace(FIGURES, n_fetched=1))
        assert 'fetched"} 12345' in get(publish.port).text
        clock.now += 0.2
        slow(dataclasses.replace(FIGURES, n_fetched=1))
        assert 'fetched"} 1\n' in get(publish.port).text


def test_without_a_port_nothing_is_served() -> None:
    with serving(None) as publish:
        assert publish.port is None
        assert not publish.is_due()
        publish(FIGURES)


def test_a_port_that_cannot_be_used_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"--metrics: port {port} cannot be used: Address already in use"):
            serving(port).__enter__()
    for port in (-1, 65_536, 10**12):
        with pytest.raises(InputError, match=f"--metrics is {port}; a port is a number from 0"):
            serving(port).__enter__()
