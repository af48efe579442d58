"""A process pool that returns results in the order of the items, and survives crashes of its processes.

    with opened_pool(reading, (folder,), n_processes) as pool:   # with reading(folder) as read, in each process
        while pool.has_room:
            pool.put(item)
        result = pool.take()                                     # read(item) of the first item

`reading` must be importable; items and results must be picklable. With one process none is started: the function is
called here. An exception of the function is raised by `take`, at the position of its item.

A process may crash: killed, out of memory, by a segmentation fault. Its first chunk is then retried by other processes,
item by item; an item that crashed three processes is returned as `Failed`. A process that crashes before it is ready
counts against no item: after five such failures in a row no more are started, and if none is ready, a ProcessError is
raised. An item that cannot be processed is `Failed`, too: the function raises a CannotBeDoneError.

Items are sent in chunks, several to each process, so that no process is idle while this one is busy. Chunks and results
in memory are bounded, by number and by bytes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from orienteer.errors import OrienteerError, ProcessError
from orienteer.processes.child import Child, prefer_oom_kill

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_In = TypeVar("_In", contravariant=True)
_Out = TypeVar("_Out", covariant=True)
Opening = Callable[..., AbstractContextManager[Callable[[_Item], _Result]]]

_ITEMS_PER_CHUNK = 16
_MAX_CHUNKS_IN_FLIGHT = 6  # per process
_MAX_CHUNKS = 12  # per process, including results that are not taken yet
_MAX_RESULT_BYTES = 64 << 20  # with more, only the chunk that is needed next is assigned
_MAX_DEATHS = 3  # of processes with an item; after the first crash the item is alone
_MAX_START_FAILURES = 5  # in a row, of processes that crash before they are ready


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
class _Chunk(Generic[_Item]):
    """Some items; `results` are pickled when they are done, `failed` is why there are none."""

    items: list[_Item]
    n_deaths: int = 0  # of processes that worked on it
    results: bytes | None = None
    failed: str | None = None

    @property
    def is_suspect(self) -> bool:
        return self.n_deaths > 0

    @property
    def is_done(self) -> bool:
        return self.results is not None or self.failed is not None


@dataclass(eq=False)
class _PoolWorker(Generic[_Item]):
    child: Child
    is_ready: bool = False
    in_flight: deque[_Chunk[_Item]] = field(default_factory=deque)

    def can_take(self, chunk: _Chunk[_Item]) -> bool:
        """Whether the process may get a chunk: a suspect chunk must be alone, so that no other chunk is blamed."""
        if not self.is_ready or len(self.in_flight) >= _MAX_CHUNKS_IN_FLIGHT:
            return False
        return not self.in_flight or not (chunk.is_suspect or self.in_flight[0].is_suspect)


class _SubprocessPool(Generic[_Item, _Result]):
    """Calls the function in child processes."""

    def __init__(self, job: bytes, n_processes: int) -> None:
        self._job = job
        self._n_processes = n_processes
        self._workers: dict[Connection, _PoolWorker[_Item]] = {}
        self._partial_chunk: list[_Item] = []  # the last items, not assigned yet
        self._chunks: deque[_Chunk[_Item]] = deque()  # not taken yet, in order
        self._waiting: deque[_Chunk[_Item]] = deque()  # not assigned to a process
        self._results: deque[Any] = deque()  # of the chunk that is being taken
        self._n_bytes = 0  # of pickled results
        self._n_start_failures = 0

    @property
    def has_room(self) -> bool:
        n_chunks = len(self._chunks) + bool(self._results)
        return n_chunks < _MAX_CHUNKS * self._n_processes

    def put(self, item: _Item) -> None:
        self._partial_chunk.append(item)
        if len(self._partial_chunk) == _ITEMS_PER_CHUNK:
            self._flush()
            self._advance(timeout_s=0)

    def take(self) -> _Result | Failed:
        while not self._results:
            if not self._chunks:
                self._flush()
            while not self._chunks[0].is_done:
                self._advance(timeout_s=None)
            self._results.extend(self._unpacked(self._chunks.popleft()))
        result = self._results.popleft()
        if isinstance(result, _Raised):
            raise result.error
        return result  # type: ignore[no-any-return]

    def close(self) -> None:
        """Kill all processes: they only read, so nothing is lost."""
        for worker in self._workers.values():
            worker.child.kill()
        for worker in self._workers.values():
            worker.child.close()
        self._workers.clear()

    def _flush(self) -> None:
        chunk = _Chunk(self._partial_chunk)
        self._partial_chunk = []
        self._chunks.append(chunk)
        self._waiting.append(chunk)

    def _unpacked(self, chunk: _Chunk[_Item]) -> list[Any]:
        if chunk.results is None:
            assert chunk.failed is not None
            return [Failed(chunk.failed)]
        self._n_bytes -= len(chunk.results)
        return list(pickle.loads(chunk.results))

    # -- processes ----------------------------------------------------------------------------------------------

    def _advance(self, timeout_s: float | None) -> None:
        """Start processes, assign chunks and receive results; with a timeout of None wait for a result."""
        n_needed = min(self._n_processes, len(self._workers) + len(self._waiting))
        while len(self._workers) < n_needed:
            child = Child(_serve, self._job)
            self._workers[child.channel] = _PoolWorker(child)
        self._assign()
        for channel in wait(list(self._workers), timeout_s):
            assert isinstance(channel, Connection)
            self._receive(self._workers[channel])
        self._assign()

    def _assign(self) -> None:
        """Assign waiting chunks, in order, to the processes with the fewest chunks in flight."""
        while self._waiting:
            chunk = self._waiting[0]
            available = [worker for worker in self._workers.values() if worker.can_take(chunk)]
            if not available or (self._n_bytes > _MAX_RESULT_BYTES and chunk is not self._chunks[0]):
                return
            worker = min(available, key=lambda worker: len(worker.in_flight))
            worker.in_flight.append(self._waiting.popleft())
            with contextlib.suppress(OSError):  # it has crashed: `wait` reports that
                worker.child.channel.send_bytes(pickle.dumps(chunk.items, pickle.HIGHEST_PROTOCOL))

    def _receive(self, worker: _PoolWorker[_Item]) -> None:
        try:
            message = worker.child.channel.recv_bytes()
        except (EOFError, OSError):
            return self._remove_dead(worker)
        if worker.is_ready:
            worker.in_flight.popleft().results = message
            self._n_bytes += len(message)
            return
        error = pickle.loads(message)
        if error is not None:
            raise error
        worker.is_ready = True
        self._n_start_failures = 0

    def _remove_dead(self, worker: _PoolWorker[_Item]) -> None:
        """Remove a crashed process. The chunk that it was working on is suspect, its other chunks are not."""
        del self._workers[worker.child.channel]
        why = worker.child.why_ended()
        worker.child.close()
        if not worker.is_ready:
            self._n_start_failures += 1
            if self._n_start_failures == _MAX_START_FAILURES:
                self._stop_spawning(why)
        retried = list(worker.in_flight)
        if retried:
            retried[:1] = self._split_for_retry(retried[0], why)
        self._waiting.extendleft(reversed(retried))

    def _stop_spawning(self, why: str) -> None:
        """Go on with the processes that are ready, without starting any more."""
        self._n_processes = sum(worker.is_ready for worker in self._workers.values())
        self._n_start_failures = 0
        if not self._n_processes:
            raise ProcessError(f"{_MAX_START_FAILURES} processes in a row crashed before they were ready: {why}")

    def _split_for_retry(self, chunk: _Chunk[_Item], why: str) -> list[_Chunk[_Item]]:
        """Split a chunk into single items to retry; empty if too many processes have crashed with it."""
        chunk.n_deaths += 1
        if chunk.n_deaths == _MAX_DEATHS:
            chunk.failed = why
            return []
        if len(chunk.items) == 1:
            return [chunk]
        retries = [_Chunk([item], n_deaths=1) for item in chunk.items]
        index = self._chunks.index(chunk)
        del self._chunks[index]
        for retry in reversed(retries):
            self._chunks.insert(index, retry)
        return retries


# -- in the process ---------------------------------------------------------------------------------------------


class _Raised(NamedTuple):
    """Replaces the result of an item for which the function raised an exception."""

    error: BaseException


def _serve(channel: Connection, job: bytes) -> None:
    """Enter the context of the job, report that, and process chunk after chunk.

    Results are sent by a thread, so that this process always reads from the channel: this prevents a deadlock.
    """
    prefer_oom_kill()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # before these are loaded: there is already a process per core
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
