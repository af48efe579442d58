"""Late requests are refused; and a cluster that cannot be joined is a one-line error, without importing Ray."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.errors import InputError, MissingExtraError
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import PageRequest
from orienteer.store.archive_members import ACKNOWLEDGED
from orienteer.store.record import page_of
from orienteer.workers.fetch_result import FetchResult, ReadSettings
from orienteer.workers.ray_cluster import address_of, expect_usable
from orienteer.workers.ray_relay import RESEND_S
from orienteer.workers.ray_worker import LEASE_S, RayWorker, Reply
from orienteer.workers.remote_workers import GRACE_S
from orienteer.workers.serving import WorkerOrders, packed, unpack_results
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, Site
from tests.ready_process import TEST_TIMEOUT_S


class OnePage(Site):
    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        return FakeResponse("<title>a page</title>")


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(OnePage()) as web:
        yield web


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def worker(web: FakeWeb, clock: Clock) -> RayWorker:
    return RayWorker(FetchSettings(connect_to=web.address, timeout_s=60.0), ReadSettings(), clock)


def orders(number: int, headers: dict[str, str] | None = None) -> bytes:
    return packed(WorkerOrders([(number, PageRequest(f"http://a.example/{number}", number))], headers))


def received(reply: Reply) -> dict[int, FetchResult]:
    return {number: response for data in reply.results for number, response in unpack_results(data).responses}


def test_a_request_with_a_fresh_token_is_done(worker: RayWorker, clock: Clock) -> None:
    token = worker.token
    clock.now += LEASE_S
    reply = worker.exchange(0, token, [orders(7)], TEST_TIMEOUT_S)
    assert received(reply)[7].outcome is Outcome.OK
    assert reply.token == clock.now
    assert not reply.refused


def test_a_delayed_request_is_refused_and_never_sent(worker: RayWorker, clock: Clock, web: FakeWeb) -> None:
    """Its record headers still apply, because later orders do not repeat them."""
    token = worker.token
    clock.now += LEASE_S + 0.1
    late = orders(8, {ACKNOWLEDGED: "0 8"})
    reply = worker.exchange(0, token, [late], TEST_TIMEOUT_S)
    assert reply.refused == [late]
    assert not reply.results
    assert web.count("http://a.example/8") == 0
    again = worker.exchange(1, reply.token, [orders(9)], TEST_TIMEOUT_S)
    record = received(again)[9].record
    assert record is not None
    assert page_of(record).url == "http://a.example/9"
    assert web.count("http://a.example/9") == 1


def test_a_call_that_waits_ends_when_the_next_one_comes(worker: RayWorker) -> None:
    replies = []
    waits = threading.Thread(target=lambda: replies.append(worker.exchange(0, worker.token, [], TEST_TIMEOUT_S)))
    waits.start()
    worker.exchange(1, worker.token, [], 0.0)
    waits.join(TEST_TIMEOUT_S)
    assert [reply.results for reply in replies] == [[]]


def test_orders_that_overtake_others_wait_for_them(worker: RayWorker) -> None:
    early = worker.exchange(1, worker.token, [orders(1)], 0.0)
    assert not early.results
    found = received(worker.exchange(0, worker.token, [orders(0)], TEST_TIMEOUT_S))
    number = 2
    while len(found) < 2:
        found |= received(worker.exchange(number, worker.token, [], TEST_TIMEOUT_S))
        number += 1
    assert found.keys() == {0, 1}


def test_a_request_ends_before_the_coordinator_abandons_it() -> None:
    """A request starts within RESEND_S + LEASE_S after it was sent; the coordinator waits GRACE_S plus the timeout."""
    assert RESEND_S + LEASE_S < GRACE_S


def test_addresses() -> None:
    assert address_of("local-ray") is None
    assert address_of("127.0.0.1:6379") == ("127.0.0.1", 6379, False)
    assert address_of("ray://head.example") == ("head.example", 10001, True)
    for wrong in ("ray", "head", "head:", ":6379", "head:http", "head:99999"):
        with pytest.raises(InputError, match=r"choices: local-ray, HOST:PORT"):
            address_of(wrong)


def test_another_machine_must_be_authenticated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for environment in (
        {}, {"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": "ab"}, {"RAY_AUTH_MODE": "token"}, {"RAY_AUTH_TOKEN": "ab"},
    ):  # fmt: skip
        with pytest.raises(InputError, match="RAY_AUTH_MODE=token") as raised:
            expect_usable("192.0.2.77:6379", environment)
        assert "\n" not in str(raised.value)
    expect_usable("192.0.2.77:6379", {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "ab"})
    expect_usable("127.0.0.1:6379", {})
    expect_usable("local-ray", {})
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("ab")
    expect_usable("192.0.2.77:6379", {"RAY_AUTH_MODE": "token"})


def test_without_the_extra_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'orienteer\[ray\]'"):
        expect_usable("local-ray", {})


@pytest.mark.parametrize(
    "what",
    [
        "import orienteer.workers.ray_backend",
        "from orienteer.cli.main import command_line; command_line()",
        "from orienteer.live import session",
    ],
)
def test_ray_is_imported_only_by_its_own_modules(what: str) -> None:
    code = f"import sys; {what}; assert not [name for name in sys.modules if name.split('.')[0] in ('ray', 'grpc')]"
    subprocess.run([sys.executable, "-c", code], check=True)
