"""The process between a crawl and its workers on Ray: it joins the cluster, begins actors there, and passes on orders
and results.

It is a process of its own so that Ray costs the crawl no time, prints nothing into its output, takes over none of its
signals, and does not end it when the cluster is gone. When the crawl ends, however it does, this process does too, and
Ray ends the actors of a process that is gone.

Messages from the crawl are BEGIN, ORDERS, and END, with the number of a worker. Back come `Joined` or `Refused`, once;
then `Said` for each worker that has something to say. One thread reads messages, Ray's threads bring the results of
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
from orienteer.workers.messages import Results, packed
from orienteer.workers.ray_cluster import joined
from orienteer.workers.ray_worker import LEASE_S, Reply

BEGIN, ORDERS, END = "begin", "orders", "end"
RESEND_S = 20.0  # how long orders that were refused are sent again
SILENT_S = 30.0  # an actor that says nothing for so long is out of reach
PENDING_S = 240.0  # how long an actor may wait for room in the cluster

_POLL_S = 1.0  # how long a call may wait for results
_CALLS = 2  # at once to an actor: one that waits for results, and one that brings orders
_LOOK_S = 1.0
_ACTOR_CPUS = 0.25  # most of a worker's time goes by waiting, and a node that is lost is to find room elsewhere


class Joined(NamedTuple):
    n_cpus: int


class Refused(NamedTuple):
    """Nothing can be done there: why, for a person."""

    why: str


class Said(NamedTuple):
    """`results` is None where the worker is gone; `busy_s` is how long it may go on with requests nevertheless."""

    number: int
    results: bytes | None = None
    why: str = ""
    busy_s: float = 0.0
    place: tuple[str, int] | None = None


def relay(channel: Connection, on: str) -> None:
    """Join the cluster, then pass messages on until the channel is closed."""
    todo: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(channel, todo), daemon=True).start()
    try:
        n_cpus = joined(on)
    except OrienteerError as error:
        channel.send(Refused(str(error)))
        return
    channel.send(Joined(n_cpus))
    _Relay(channel, todo).run()
    import ray

    ray.shutdown()


def _read(channel: Connection, todo: SimpleQueue[Any]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            todo.put(channel.recv())
    todo.put(None)


@dataclass(eq=False)
class _Actor:
    number: int
    timeout_s: float  # of its fetches
    handle: Any
    begun: float
    node: str = ""
    place: tuple[str, int] = ("", 0)
    token: float | None = None  # None: it is not there yet
    unsent: list[tuple[float, bytes]] = field(default_factory=list)  # orders, and when they came here
    under_way: dict[int, _Call] = field(default_factory=dict)
    n_calls: int = 0
    last_sent: float = 0.0  # orders


class _Call(NamedTuple):
    began: float
    orders: list[tuple[float, bytes]]


class _Hello(NamedTuple):
    """The first that an actor says. `differs`: it has another version."""

    place: tuple[str, int]
    node: str
    token: float
    failed: str
    differs: str


class _Ended(NamedTuple):
    actor: _Actor
    call: int  # -1: the first one
    future: Future[Any]


class _Relay:
    def __init__(self, channel: Connection, todo: SimpleQueue[Any]) -> None:
        self._channel = channel
        self._todo = todo
        self._actors: dict[int, _Actor] = {}
        self._class = _actor_class()

    def run(self) -> None:
        while True:
            with contextlib.suppress(Empty):
                item = self._todo.get(timeout=_LOOK_S)
                while item is not None:
                    self._do(item)
                    item = self._todo.get_nowait()
                return
            for actor in list(self._actors.values()):
                self._look_at(actor)
                self._call(actor)

    def _do(self, item: Any) -> None:
        if isinstance(item, _Ended):
            if item.actor.number in self._actors:
                self._take_in(item.actor, item.call, item.future)
            return
        what, number, data = item
        if what == BEGIN:
            self._begin(number, data)
        elif number in self._actors and what == ORDERS:
            self._actors[number].unsent.append((time.monotonic(), data))
        elif number in self._actors and what == END:
            self._end(self._actors[number])

    def _begin(self, number: int, arguments: bytes) -> None:
        settings, _ = pickle.loads(arguments)
        handle = self._class.remote(orienteer.__version__, arguments)
        actor = self._actors[number] = _Actor(number, settings.timeout_s, handle, time.monotonic())
        self._watch(actor, -1, handle.hello.remote())

    def _watch(self, actor: _Actor, call: int, answer: Any) -> None:
        answer.future().add_done_callback(lambda future: self._todo.put(_Ended(actor, call, future)))

    def _call(self, actor: _Actor) -> None:
        """There is always a call under way, so that the token is fresh."""
        if actor.token is None or len(actor.under_way) >= _CALLS or (actor.under_way and not actor.unsent):
            return
        number, now = actor.n_calls, time.monotonic()
        actor.n_calls += 1
        actor.under_way[number] = _Call(now, actor.unsent)
        if actor.unsent:
            actor.last_sent = now
        orders = [data for _, data in actor.unsent]
        actor.unsent = []
        self._watch(actor, number, actor.handle.exchange.remote(number, actor.token, orders, _POLL_S))

    # -- what comes back ----------------------------------------------------------------------------------------

    def _take_in(self, actor: _Actor, number: int, future: Future[Any]) -> None:
        from ray.exceptions import RayError

        try:
            answer = future.result()
        except RayError as error:
            return self._gone(actor, *_why_gone(actor, error))
        if number == -1:
            return self._greeted(actor, _Hello(*answer))
        call, reply = actor.under_way.pop(number), Reply(*answer)
        actor.token = max(actor.token or 0.0, reply.token)
        for results in reply.results:
            self._say(Said(actor.number, results))
        if reply.failed:
            return self._gone(actor, reply.failed)
        # Whatever was refused is as old as the oldest that is not answered yet, at most.
        came = min((came for came, _ in call.orders), default=actor.last_sent)
        actor.unsent = [(came, data) for data in reply.refused] + actor.unsent
        if actor.unsent and time.monotonic() - actor.unsent[0][0] > RESEND_S:
            self._gone(actor, "orders do not get through to it", is_sure=False)

    def _greeted(self, actor: _Actor, hello: _Hello) -> None:
        if hello.differs:
            return self._say(Refused(hello.differs))
        if hello.failed:
            return self._gone(actor, f"{hello.place[0]}: {hello.failed}")
        actor.place, actor.node, actor.token = hello.place, hello.node, hello.token
        self._say(Said(actor.number, packed(Results([])), place=actor.place))

    def _look_at(self, actor: _Actor) -> None:
        now = time.monotonic()
        if actor.token is None:
            if now - actor.begun > PENDING_S:
                self._has_no_room(actor)
        elif actor.under_way and now - min(call.began for call in actor.under_way.values()) > SILENT_S:
            self._gone(actor, f"no word from {actor.place[0]} for {SILENT_S:.0f} s", is_sure=False)

    def _has_no_room(self, actor: _Actor) -> None:
        """Those that are at work may go on; where none is, there is no use in waiting again."""
        why = f"the cluster had no room for a worker for {PENDING_S:.0f} s"
        if any(one.token is not None for one in self._actors.values()):
            return self._gone(actor, why)
        self._say(Refused(why))

    def _gone(self, actor: _Actor, why: str, is_sure: bool = True) -> None:
        """Unless it is sure that its process is gone, what it was sent may have begun, and goes on to its timeout."""
        over = actor.last_sent + LEASE_S + actor.timeout_s
        self._end(actor)
        self._say(Said(actor.number, None, why, 0.0 if is_sure else max(0.0, over - time.monotonic())))

    def _end(self, actor: _Actor) -> None:
        import ray

        del self._actors[actor.number]
        with contextlib.suppress(ray.exceptions.RayError, ValueError):
            ray.kill(actor.handle)

    def _say(self, message: Said | Refused) -> None:
        with contextlib.suppress(OSError):  # the crawl is gone: the next message says so
            self._channel.send(message)


def _why_gone(actor: _Actor, error: Exception) -> tuple[str, bool]:
    """Why, and whether its process is surely gone: so says its node, if that is alive itself."""
    import ray
    from ray.exceptions import ActorDiedError

    where = actor.place[0] or "the cluster"
    if not isinstance(error, ActorDiedError):
        return f"{where} is out of reach", False
    if actor.token is None:
        return str(error).strip().splitlines()[-1], True
    alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
    return (f"its process on {where} has died", True) if actor.node in alive else (f"{where} is gone", False)


def _actor_class() -> Any:
    """What Ray makes actors of. It is sent there as it is, so that a machine without Orienteer can say so."""
    import ray

    class OrienteerWorker:
        def __init__(self, version: str, arguments: bytes) -> None:
            import pickle
            import socket

            self.host, self.failed, self.differs, self.worker = socket.gethostname(), "", "", None
            try:
                import orienteer

                if orienteer.__version__ != version:
                    found = f"{self.host} has Orienteer {orienteer.__version__}, and this crawl is run by {version}"
                    self.differs = f"{found}: all machines need the same"
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

    options = {"num_cpus": _ACTOR_CPUS, "max_restarts": 0, "max_concurrency": _CALLS + 1}
    return ray.remote(**options, scheduling_strategy="SPREAD")(OrienteerWorker)
