"""The relay process between a crawl and its Ray actors: it joins the cluster, starts actors, and forwards orders and
results.

It is a separate process so that Ray takes no time from the coordinator, prints nothing into its output, does not
replace its signal handlers, and does not kill it when the cluster is gone. The relay ends with the crawl, however that
ends, and Ray kills the actors of a driver that is gone.

Messages from the crawl are BEGIN, ORDERS, and END, with the number of a worker. The relay sends `Joined` or `Rejected`
once, then a `RelayMessage` for each event of a worker. One thread reads messages, Ray's threads deliver the results of
calls, and the main thread takes both from one queue.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import orienteer
from orienteer.errors import OrienteerError
from orienteer.workers.ray_cluster import join_cluster
from orienteer.workers.ray_worker import LEASE_S, Reply
from orienteer.workers.serving import WorkerResults, packed

BEGIN, ORDERS, END = "begin", "orders", "end"
RESEND_S = 20.0  # for which refused orders are sent again
SILENT_S = 30.0  # after which an actor without a reply is unreachable
PENDING_S = 240.0  # for which an actor may wait for free CPUs

_POLL_S = 1.0  # for which a call waits for results
_MAX_CALLS = 2  # concurrent calls of an actor: one waits for results, one delivers orders
_CHECK_INTERVAL_S = 1.0
_ACTOR_CPUS = 0.25  # workers mostly wait for the network, and the other nodes need room for actors of a lost one


class Joined(NamedTuple):
    n_cpus: int


class Rejected(NamedTuple):
    """The cluster cannot be used; `why` is an error message."""

    why: str


class RelayMessage(NamedTuple):
    """`results` is None if the worker is lost; then it may go on with its requests for `busy_s` more seconds."""

    number: int
    results: bytes | None = None
    why: str = ""
    busy_s: float = 0.0
    location: tuple[str, int] | None = None


def relay(channel: Connection, on: str) -> None:
    """Join the cluster, then forward messages until the channel is closed."""
    queue: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(channel, queue), daemon=True).start()
    try:
        n_cpus = join_cluster(on)
    except OrienteerError as error:
        channel.send(Rejected(str(error)))
        return
    channel.send(Joined(n_cpus))
    _Relay(channel, queue).run()
    import ray

    ray.shutdown()


def _read(channel: Connection, queue: SimpleQueue[Any]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            queue.put(channel.recv())
    queue.put(None)


@dataclass(eq=False)
class _Actor:
    number: int
    timeout_s: float  # of its fetches
    handle: Any
    started_at: float
    node: str = ""
    location: tuple[str, int] = ("", 0)
    token: float | None = None  # None: the actor has not started yet
    unsent: list[tuple[float, bytes]] = field(default_factory=list)  # orders, with the time of their arrival
    in_flight: dict[int, _Call] = field(default_factory=dict)
    n_calls: int = 0
    last_sent: float = 0.0  # time of the last orders


class _Call(NamedTuple):
    began: float
    orders: list[tuple[float, bytes]]


class _Hello(NamedTuple):
    """The first reply of an actor. `differs` is the message if it runs another version."""

    location: tuple[str, int]
    node: str
    token: float
    failed: str
    differs: str


class _Ended(NamedTuple):
    actor: _Actor
    call: int  # -1 for `hello`
    future: Future[Any]


class _Relay:
    def __init__(self, channel: Connection, queue: SimpleQueue[Any]) -> None:
        self._channel = channel
        self._queue = queue
        self._actors: dict[int, _Actor] = {}
        self._class = _actor_class()

    def run(self) -> None:
        while True:
            with contextlib.suppress(Empty):
                item = self._queue.get(timeout=_CHECK_INTERVAL_S)
                while item is not None:
                    self._handle(item)
                    item = self._queue.get_nowait()
                return
            for actor in list(self._actors.values()):
                self._check_actor(actor)
                self._call(actor)

    def _handle(self, item: Any) -> None:
        if isinstance(item, _Ended):
            if item.actor.number in self._actors:
                self._receive(item.actor, item.call, item.future)
            return
        what, number, data = item
        if what == BEGIN:
            self._start(number, data)
        elif number in self._actors and what == ORDERS:
            self._actors[number].unsent.append((time.monotonic(), data))
        elif number in self._actors and what == END:
            self._end(self._actors[number])

    def _start(self, number: int, arguments: bytes) -> None:
        settings, _ = pickle.loads(arguments)
        handle = self._class.remote(orienteer.__version__, arguments)
        actor = self._actors[number] = _Actor(number, settings.timeout_s, handle, time.monotonic())
        self._watch(actor, -1, handle.hello.remote())

    def _watch(self, actor: _Actor, call: int, response: Any) -> None:
        response.future().add_done_callback(lambda future: self._queue.put(_Ended(actor, call, future)))

    def _call(self, actor: _Actor) -> None:
        """Start a call unless one is pending: a pending call keeps the token fresh."""
        if actor.token is None or len(actor.in_flight) >= _MAX_CALLS or (actor.in_flight and not actor.unsent):
            return
        number, now = actor.n_calls, time.monotonic()
        actor.n_calls += 1
        actor.in_flight[number] = _Call(now, actor.unsent)
        if actor.unsent:
            actor.last_sent = now
        orders = [data for _, data in actor.unsent]
        actor.unsent = []
        self._watch(actor, number, actor.handle.exchange.remote(number, actor.token, orders, _POLL_S))

    # -- replies ------------------------------------------------------------------------------------------------

    def _receive(self, actor: _Actor, number: int, future: Future[Any]) -> None:
        from ray.exceptions import RayError

        try:
            response = future.result()
        except RayError as error:
            return self._lose(actor, *_describe_loss(actor, error))
        if number == -1:
            return self._on_hello(actor, _Hello(*response))
        call, reply = actor.in_flight.pop(number), Reply(*response)
        actor.token = max(actor.token or 0.0, reply.token)
        for results in reply.results:
            self._send(RelayMessage(actor.number, results))
        if reply.failed:
            return self._lose(actor, reply.failed)
        # Refused orders are at most as old as the oldest of this call.
        arrived = min((arrived for arrived, _ in call.orders), default=actor.last_sent)
        actor.unsent = [(arrived, data) for data in reply.refused] + actor.unsent
        if actor.unsent and time.monotonic() - actor.unsent[0][0] > RESEND_S:
            self._lose(actor, "orders do not reach it", is_certain=False)

    def _on_hello(self, actor: _Actor, hello: _Hello) -> None:
        if hello.differs:
            return self._send(Rejected(hello.differs))
        if hello.failed:
            return self._lose(actor, f"{hello.location[0]}: {hello.failed}")
        actor.location, actor.node, actor.token = hello.location, hello.node, hello.token
        self._send(RelayMessage(actor.number, packed(WorkerResults([])), location=actor.location))

    def _check_actor(self, actor: _Actor) -> None:
        now = time.monotonic()
        if actor.token is None:
            if now - actor.started_at > PENDING_S:
                self._on_no_room(actor)
        elif actor.in_flight and now - min(call.began for call in actor.in_flight.values()) > SILENT_S:
            self._lose(actor, f"{actor.location[0]} has not replied for {SILENT_S:.0f} s", is_certain=False)

    def _on_no_room(self, actor: _Actor) -> None:
        """Drop an actor that got no CPUs in time; without any running actor the crawl must stop."""
        why = f"the cluster had no room for a worker for {PENDING_S:.0f} s"
        if any(one.token is not None for one in self._actors.values()):
            return self._lose(actor, why)
        self._send(Rejected(why))

    def _lose(self, actor: _Actor, why: str, is_certain: bool = True) -> None:
        """Report a lost actor. Unless its process has certainly ended, its fetches may run until they time out."""
        busy_until = actor.last_sent + LEASE_S + actor.timeout_s
        self._end(actor)
        self._send(
            RelayMessage(actor.number, None, why, 0.0 if is_certain else max(0.0, busy_until - time.monotonic()))
        )

    def _end(self, actor: _Actor) -> None:
        import ray

        del self._actors[actor.number]
        with contextlib.suppress(ray.exceptions.RayError, ValueError):
            ray.kill(actor.handle)

    def _send(self, message: RelayMessage | Rejected) -> None:
        with contextlib.suppress(OSError):  # the crawl is gone: `_read` notices that
            self._channel.send(message)


def _describe_loss(actor: _Actor, error: Exception) -> tuple[str, bool]:
    """Return why an actor was lost, and whether its process has certainly ended: only if its node is still alive."""
    import ray
    from ray.exceptions import ActorDiedError

    where = actor.location[0] or "the cluster"
    if not isinstance(error, ActorDiedError):
        return f"{where} is unreachable", False
    if actor.token is None:
        return str(error).strip().splitlines()[-1], True
    alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
    return (f"its process on {where} has crashed", True) if actor.node in alive else (f"{where} is gone", False)


def _actor_class() -> Any:
    """The actor class. Ray ships its code, so that a node without Orienteer can report that."""
    import ray

    class OrienteerWorker:
        def __init__(self, version: str, arguments: bytes) -> None:
            import pickle
            import socket

            self.host, self.failed, self.differs, self.worker = socket.gethostname(), "", "", None
            try:
                import orienteer

                if orienteer.__version__ != version:
                    versions = f"{self.host} has Orienteer {orienteer.__version__}, and this crawl is run by {version}"
                    self.differs = f"{versions}: all machines need the same"
                    return
                from orienteer.workers.ray_worker import RayWorker

                self.worker = RayWorker(*pickle.loads(arguments))
            except Exception as error:
                self.failed = f"{type(error).__name__}: {error}"

        def hello(self) -> tuple[Any, ...]:
            import os

            import ray

            token = 0.0 if self.worker is None else self.worker.token
            node = ray.get_runtime_context().get_node_id()
            return (self.host, os.getpid()), node, token, self.failed, self.differs

        def exchange(self, number: int, token: float, orders: list[bytes], wait_s: float) -> tuple[Any, ...]:
            return tuple(self.worker.exchange(number, token, orders, wait_s))  # type: ignore[union-attr]

    options = {"num_cpus": _ACTOR_CPUS, "max_restarts": 0, "max_concurrency": _MAX_CALLS + 1}
    return ray.remote(**options, scheduling_strategy="SPREAD")(OrienteerWorker)
