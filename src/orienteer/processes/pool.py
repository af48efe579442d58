"""A process pool that returns results in the order of the items, and survives crashes of its processes.

    with opened_pool(reading, (folder,), n_processes) as pool:   # with reading(folder) as read, in each process
        while pool.has_room:
            pool.put(item)
        result = pool.take()                                     # read(item) of the first item

`reading` must be importable; items and results must be picklable. With one process none is started: the function is
called here. An exception of the function is raised by `take`, at the position of its item.

Processes may crash (see `supervisor`): the items of the chunk that it was working on are then retried one by one, and
an item that crashed two more processes is returned as `Failed`. An item that cannot be processed is `Failed`, too: the
function raises a CannotBeDoneError.

Items are sent in chunks, several to each process, so that no process is idle while this one is busy. Chunks and results
in memory are bounded, by number and by bytes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from orienteer.errors import OrienteerError
from orienteer.processes.child import ForkServer, limit_blas_threads, prefer_oom_kill
from orienteer.processes.supervisor import ProcessTask, Supervisor

MAX_PROCESSES = 8  # by default: a single process combines the results of the others
MIN_ITEMS = 1000  # with fewer, starting processes (a second of CPU time or more each) costs more than it saves
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_In = TypeVar("_In", contravariant=True)
_Out = TypeVar("_Out", covariant=True)
Opening = Callable[..., AbstractContextManager[Callable[[_Item], _Result]]]

_ITEMS_PER_CHUNK = 16
_MAX_CHUNKS_IN_FLIGHT = 6  # per process
_MAX_CHUNKS = 12  # per process, including results that are not taken yet
_MAX_RESULT_BYTES = 64 << 20  # with more, only the chunk that is needed next is assigned
_Key = TypeVar("_Key")


def usable_cores() -> int:
    """Return the number of cores that this process may use, which a container or a batch system may restrict."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_process_count(n_items: int) -> int:
    """Return the default number of processes for so many items; 1 means in this process."""
    return min(MAX_PROCESSES, usable_cores()) if n_items >= MIN_ITEMS else 1


def cpu_time_s() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


class CannotBeDoneError(Exception):
    """Raised by the function for an item that has no result; the message says why. Other items are not affected."""


class Failed(NamedTuple):
    """Replaces the result of an item that cannot be processed, or that crashes its process (`died`): then `why` is how
    the last process ended."""

    why: str
    died: bool = True


class ProcessPool(Protocol[_In, _Out]):
    @property
    def has_room(self) -> bool:
        """Whether another item may be put before a result is taken; always true if the pool is empty."""
        ...

    def put(self, item: _In) -> None: ...

    def take(self) -> _Out | Failed:
        """Return the result of the first item in the pool."""
        ...


@contextlib.contextmanager
def opened_pool(
    opening: Opening[_Item, _Result], arguments: tuple[Any, ...], n_processes: int
) -> Iterator[ProcessPool[_Item, _Result]]:
    """Open a pool; its processes are killed when the context ends."""
    if n_processes <= 1:
        with opening(*arguments) as work:
            yield _InlinePool(work)
        return
    pool: _SubprocessPool[_Item, _Result] = _SubprocessPool(pickle.dumps((opening, arguments)), n_processes)
    try:
        yield pool
    finally:
        pool.close()


class _InlinePool(Generic[_Item, _Result]):
    """Calls the function in this process."""

    def __init__(self, work: Callable[[_Item], _Result]) -> None:
        self._work = work
        self._items: deque[_Item] = deque()

    @property
    def has_room(self) -> bool:
        return not self._items

    def put(self, item: _Item) -> None:
        self._items.append(item)

    def take(self) -> _Result | Failed:
        try:
            return self._work(self._items.popleft())
        except CannotBeDoneError as error:
            return Failed(str(error), died=False)


@dataclass(eq=False)
class _Chunk(ProcessTask, Generic[_Item]):
    """Some items; the reply is their pickled results. After a crash they are processed one by one, as `singles`."""

    items: list[_Item]
    singles: list[Self] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return all(single.is_done for single in self.singles) if self.singles else super().is_done

    def messages(self) -> tuple[bytes, ...]:
        return (pickle.dumps(self.items, pickle.HIGHEST_PROTOCOL),)

    def split(self) -> list[Self]:
        if len(self.items) == 1:
            return [self]
        self.singles = [type(self)([item]) for item in self.items]
        return self.singles

    def results(self) -> list[Any]:
        if self.singles:
            return [result for single in self.singles for result in single.results()]
        return [Failed(self.crash.why)] if self.reply is None and self.crash else list(pickle.loads(self.reply or b""))

    @property
    def n_reply_bytes(self) -> int:
        return len(self.reply or b"") + sum(single.n_reply_bytes for single in self.singles)


class _SubprocessPool(Generic[_Item, _Result]):
    """Calls the function in child processes."""

    def __init__(self, job: bytes, n_processes: int) -> None:
        self._forks = ForkServer(partial(pickle.loads, job))  # which imports the modules of the job
        self._supervisor: Supervisor[_Chunk[_Item]] = Supervisor(
            _serve, (job,), n_processes, forks=self._forks,
            max_in_flight=_MAX_CHUNKS_IN_FLIGHT, on_ready=_raise_error_at_start, may_begin=self._may_begin,
        )  # fmt: skip
        self._partial_chunk: list[_Item] = []  # the last items, not put yet
        self._chunks: deque[_Chunk[_Item]] = deque()  # not taken yet, in order
        self._results: deque[Any] = deque()  # of the chunk that is being taken
        self._n_taken_bytes = 0  # of replies

    @property
    def has_room(self) -> bool:
        n_chunks = len(self._chunks) + bool(self._results)
        return n_chunks < _MAX_CHUNKS * self._supervisor.n_processes

    def put(self, item: _Item) -> None:
        self._partial_chunk.append(item)
        if len(self._partial_chunk) == _ITEMS_PER_CHUNK:
            self._flush()
            self._supervisor.advance(timeout_s=0)

    def take(self) -> _Result | Failed:
        while not self._results:
            if not self._chunks:
                self._flush()
            while not self._chunks[0].is_done:
                self._supervisor.advance(timeout_s=None)
            chunk = self._chunks.popleft()
            self._n_taken_bytes += chunk.n_reply_bytes
            self._results.extend(chunk.results())
        result = self._results.popleft()
        if isinstance(result, _Raised):
            raise result.error
        return result  # type: ignore[no-any-return]

    def close(self) -> None:
        """Kill all processes: they only read, so nothing is lost."""
        self._supervisor.close()
        self._forks.close()

    def _flush(self) -> None:
        chunk = _Chunk(self._partial_chunk)
        self._partial_chunk = []
        self._chunks.append(chunk)
        self._supervisor.put(chunk)

    def _may_begin(self, chunk: _Chunk[_Item]) -> bool:
        first = self._chunks[0]
        n_bytes = self._supervisor.n_reply_bytes - self._n_taken_bytes
        return n_bytes <= _MAX_RESULT_BYTES or chunk is first or chunk in first.singles


def _raise_error_at_start(message: bytes) -> None:
    error = pickle.loads(message)
    if error is not None:
        raise error


# -- in the process ---------------------------------------------------------------------------------------------


class _Raised(NamedTuple):
    """Replaces the result of an item for which the function raised an exception."""

    error: BaseException


def _serve(channel: Connection, job: bytes) -> None:
    """Enter the context of the job, report that, and process chunk after chunk.

    Results are sent by a thread, so that this process always reads from the channel: this prevents a deadlock.
    """
    prefer_oom_kill()
    limit_blas_threads()  # there is already a process per core
    replies: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_send, args=(channel, replies), daemon=True).start()
    with contextlib.ExitStack() as stack:
        try:
            opening, arguments = pickle.loads(job)
            work = stack.enter_context(opening(*arguments))
        except OrienteerError as error:
            return channel.send_bytes(pickle.dumps(_sendable(error)))
        replies.put(pickle.dumps(None))
        while True:
            items = pickle.loads(channel.recv_bytes())
            replies.put(pickle.dumps(_results(work, items), pickle.HIGHEST_PROTOCOL))


def _send(channel: Connection, replies: SimpleQueue[bytes]) -> None:
    with contextlib.suppress(OSError):  # the parent is gone, and this process ends as well
        while True:
            channel.send_bytes(replies.get())


def _results(work: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    results: list[Any] = []
    for item in items:
        try:
            results.append(work(item))
        except CannotBeDoneError as error:
            results.append(Failed(str(error), died=False))
        except MemoryError:
            raise  # the process ends: another one has more memory
        except Exception as error:
            return [*results, _Raised(_sendable(error))]
    return results


def _sendable(error: Exception) -> BaseException:
    """Return the exception, or a picklable one with the same message."""
    if not isinstance(error, OrienteerError):
        error.add_note("".join(traceback.format_exception(error)))
    with contextlib.suppress(Exception):  # pickling may fail in any way
        if isinstance(sent := pickle.loads(pickle.dumps(error)), type(error)):
            return sent
    kind = OrienteerError if isinstance(error, OrienteerError) else RuntimeError
    return kind(str(error) or type(error).__name__)


@contextlib.contextmanager
def in_order(
    opening: Opening[_Item, _Result],
    arguments: tuple[Any, ...],
    items: Iterable[tuple[_Key, _Item]],
    n_processes: int | None = None,
) -> Iterator[Iterator[tuple[_Key, _Result | Failed]]]:
    """Apply a function to many items in several processes; results come in the order of the items.

        with in_order(reading, (folder,), ((row, row.place) for row in rows), n_processes) as read:
            for row, content in read: ...

    The input are pairs of a key, which stays in this process, and an item, which is sent to a process. The output are
    pairs of the key and the result, or `Failed`. Items are consumed lazily, so that there may be any number of them. By
    default `n_processes` depends on the number of items; with 1 no process is started.
    """
    rest = iter(items)
    if n_processes is None:
        first = list(islice(rest, MIN_ITEMS))
        n_processes = default_process_count(len(first))
        rest = chain(first, rest)
    with opened_pool(opening, arguments, n_processes) as pool:
        yield _in_order_results(pool, rest)


def _in_order_results(
    pool: ProcessPool[_Item, _Result], items: Iterator[tuple[_Key, _Item]]
) -> Iterator[tuple[_Key, _Result | Failed]]:
    in_flight: deque[_Key] = deque()
    for key, item in items:
        in_flight.append(key)
        pool.put(item)
        while not pool.has_room:
            yield in_flight.popleft(), pool.take()
    while in_flight:
        yield in_flight.popleft(), pool.take()
