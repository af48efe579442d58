"""Work for several processes whose results come back in the order of what was put in.

    with opened_pool(reading, (folder,), n_processes) as pool:   # with reading(folder) as read, in each process
        while pool.has_room:
            pool.put(item)
        result = pool.take()                                     # what read(item) gave, of the first that was put in

`reading` must be importable; items and results must be picklable. With one process none is started: the very same
function is called here. What it raises comes out of `take`, in its turn.

A process may die: killed, out of memory, by a fault in compiled code. What it was at is then done again, item by item,
by another; an item that three processes died with comes back as `Failed`, and the others go on. One that dies before
it is ready counts against no item: after five in a row those that are ready go on alone, and where there are none, a
ProcessError says why. An item that cannot be done at all is `Failed`, too: the function says so with a
CannotBeDoneError.

Items go out in chunks, several at a time to each process, so that none has to wait while this one is busy. What is in
hand is bounded, by number and by bytes.
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
from orienteer.processes.child import Child, be_killed_first

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Takes = TypeVar("_Takes", contravariant=True)
_Gives = TypeVar("_Gives", covariant=True)
Opening = Callable[..., AbstractContextManager[Callable[[_Item], _Result]]]

_ITEMS_PER_CHUNK = 16
_CHUNKS_PER_PROCESS = 6  # in its hands
_CHUNKS_IN_HAND = 12  # of each process, with those that wait for their turn to come back
_BYTES_IN_HAND = 64 << 20  # of results; with more, nothing is given out that is not wanted next
_MAX_DEATHS = 3  # with an item, and with nothing else after the first
_MAX_STILLBORN = 5  # processes in a row that die before they are ready


class CannotBeDoneError(Exception):
    """Raised by the function for one item: there is no result of it, and the others go on. The message says why."""


class Failed(NamedTuple):
    """In place of the result of an item that cannot be done, or that no process survives (`died`): then `why` is how
    the last one ended."""

    why: str
    died: bool = True


class Pool(Protocol[_Takes, _Gives]):
    @property
    def has_room(self) -> bool:
        """Whether something more may be put in before something is taken out; always when it is empty."""
        ...

    def put(self, item: _Takes) -> None: ...

    def take(self) -> _Gives | Failed:
        """The result of the first item that is in it."""
        ...


@contextlib.contextmanager
def opened_pool(
    opening: Opening[_Item, _Result], arguments: tuple[Any, ...], n_processes: int
) -> Iterator[Pool[_Item, _Result]]:
    """All processes end with the context, at once, whatever they are at."""
    if n_processes <= 1:
        with opening(*arguments) as work:
            yield _Here(work)
        return
    pool: _Beside[_Item, _Result] = _Beside(pickle.dumps((opening, arguments)), n_processes)
    try:
        yield pool
    finally:
        pool.close()


class _Here(Generic[_Item, _Result]):
    """No process but this one."""

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
    """Some items; `answer` holds the packed results when they are there, `failed` why there are none."""

    items: list[_Item]
    n_deaths: int = 0  # of processes that had it in hand
    answer: bytes | None = None
    failed: str | None = None

    @property
    def is_suspect(self) -> bool:
        return self.n_deaths > 0

    @property
    def is_done(self) -> bool:
        return self.answer is not None or self.failed is not None


@dataclass(eq=False)
class _Worker(Generic[_Item]):
    child: Child
    is_ready: bool = False
    in_hand: deque[_Chunk[_Item]] = field(default_factory=deque)

    def may_have(self, chunk: _Chunk[_Item]) -> bool:
        """A chunk that is suspect is alone in its hands, so that nobody else is blamed."""
        if not self.is_ready or len(self.in_hand) >= _CHUNKS_PER_PROCESS:
            return False
        return not self.in_hand or not (chunk.is_suspect or self.in_hand[0].is_suspect)


class _Beside(Generic[_Item, _Result]):
    """Processes beside this one."""

    def __init__(self, job: bytes, n_processes: int) -> None:
        self._job = job
        self._n_processes = n_processes
        self._workers: dict[Connection, _Worker[_Item]] = {}
        self._filling: list[_Item] = []  # the last chunk, not given out yet
        self._chunks: deque[_Chunk[_Item]] = deque()  # all others that are not taken, in order
        self._waiting: deque[_Chunk[_Item]] = deque()  # those that no process has
        self._results: deque[Any] = deque()  # of the chunk that is being taken
        self._n_bytes = 0  # of packed results
        self._n_stillborn = 0

    @property
    def has_room(self) -> bool:
        n_chunks = len(self._chunks) + bool(self._results)
        return n_chunks < _CHUNKS_IN_HAND * self._n_processes

    def put(self, item: _Item) -> None:
        self._filling.append(item)
        if len(self._filling) == _ITEMS_PER_CHUNK:
            self._give_out_filling()
            self._go_on(timeout_s=0)

    def take(self) -> _Result | Failed:
        while not self._results:
            if not self._chunks:
                self._give_out_filling()
            while not self._chunks[0].is_done:
                self._go_on(timeout_s=None)
            self._results.extend(self._unpacked(self._chunks.popleft()))
        result = self._results.popleft()
        if isinstance(result, _Raised):
            raise result.error
        return result  # type: ignore[no-any-return]

    def close(self) -> None:
        """They only read, and end at once."""
        for worker in self._workers.values():
            worker.child.kill()
        for worker in self._workers.values():
            worker.child.close()
        self._workers.clear()

    def _give_out_filling(self) -> None:
        chunk = _Chunk(self._filling)
        self._filling = []
        self._chunks.append(chunk)
        self._waiting.append(chunk)

    def _unpacked(self, chunk: _Chunk[_Item]) -> list[Any]:
        if chunk.answer is None:
            assert chunk.failed is not None
            return [Failed(chunk.failed)]
        self._n_bytes -= len(chunk.answer)
        return list(pickle.loads(chunk.answer))

    # -- processes ----------------------------------------------------------------------------------------------

    def _go_on(self, timeout_s: float | None) -> None:
        """Give out what can be given out, and hear what processes have to say; wait for one, if need be for ever."""
        n_wanted = min(self._n_processes, len(self._workers) + len(self._waiting))
        while len(self._workers) < n_wanted:
            child = Child(_serve, self._job)
            self._workers[child.channel] = _Worker(child)
        self._hand_out()
        for channel in wait(list(self._workers), timeout_s):
            assert isinstance(channel, Connection)
            self._hear(self._workers[channel])
        self._hand_out()

    def _hand_out(self) -> None:
        """The first chunk that waits goes to whoever has the least in hand."""
        while self._waiting:
            chunk = self._waiting[0]
            free = [worker for worker in self._workers.values() if worker.may_have(chunk)]
            if not free or (self._n_bytes > _BYTES_IN_HAND and chunk is not self._chunks[0]):
                return
            worker = min(free, key=lambda worker: len(worker.in_hand))
            worker.in_hand.append(self._waiting.popleft())
            with contextlib.suppress(OSError):  # it has died, which is heard next
                worker.child.channel.send_bytes(pickle.dumps(chunk.items, pickle.HIGHEST_PROTOCOL))

    def _hear(self, worker: _Worker[_Item]) -> None:
        try:
            message = worker.child.channel.recv_bytes()
        except (EOFError, OSError):
            return self._bury(worker)
        if worker.is_ready:
            worker.in_hand.popleft().answer = message
            self._n_bytes += len(message)
            return
        trouble = pickle.loads(message)
        if trouble is not None:
            raise trouble
        worker.is_ready = True
        self._n_stillborn = 0

    def _bury(self, worker: _Worker[_Item]) -> None:
        """What the process was at is suspect, whatever else it had is not."""
        del self._workers[worker.child.channel]
        why = worker.child.why_ended()
        worker.child.close()
        if not worker.is_ready:
            self._n_stillborn += 1
            if self._n_stillborn == _MAX_STILLBORN:
                self._go_on_alone(why)
        again = list(worker.in_hand)
        if again:
            again[:1] = self._tried_again(again[0], why)
        self._waiting.extendleft(reversed(again))

    def _go_on_alone(self, why: str) -> None:
        """No more are started than are ready now."""
        self._n_processes = sum(worker.is_ready for worker in self._workers.values())
        self._n_stillborn = 0
        if not self._n_processes:
            raise ProcessError(f"{_MAX_STILLBORN} processes in a row ended as soon as they were started: {why}")

    def _tried_again(self, chunk: _Chunk[_Item], why: str) -> list[_Chunk[_Item]]:
        """The items of a chunk one by one; nothing where it is one that too many died with."""
        chunk.n_deaths += 1
        if chunk.n_deaths == _MAX_DEATHS:
            chunk.failed = why
            return []
        if len(chunk.items) == 1:
            return [chunk]
        parts = [_Chunk([item], n_deaths=1) for item in chunk.items]
        at = self._chunks.index(chunk)
        del self._chunks[at]
        for part in reversed(parts):
            self._chunks.insert(at, part)
        return parts


# -- in the process ---------------------------------------------------------------------------------------------


class _Raised(NamedTuple):
    """In place of the result of an item that the function raised an exception for."""

    error: BaseException


def _serve(channel: Connection, job: bytes) -> None:
    """Opens what the job needs, says so, and answers chunk after chunk.

    Results are sent by a thread, so that there is always somebody who listens: neither side waits for the other.
    """
    be_killed_first()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # before it is loaded: there is a process for every core
    answers: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_send, args=(channel, answers), daemon=True).start()
    with contextlib.ExitStack() as stack:
        try:
            opening, arguments = pickle.loads(job)
            work = stack.enter_context(opening(*arguments))
        except OrienteerError as error:
            return channel.send_bytes(pickle.dumps(_sendable(error)))
        answers.put(pickle.dumps(None))
        while True:
            items = pickle.loads(channel.recv_bytes())
            answers.put(pickle.dumps(_results(work, items), pickle.HIGHEST_PROTOCOL))


def _send(channel: Connection, answers: SimpleQueue[bytes]) -> None:
    with contextlib.suppress(OSError):  # nobody is there any more, and this process ends, too
        while True:
            channel.send_bytes(answers.get())


def _results(work: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    results: list[Any] = []
    for item in items:
        try:
            results.append(work(item))
        except CannotBeDoneError as error:
            results.append(Failed(str(error), died=False))
        except MemoryError:
            raise  # and the process ends: another one has more room
        except Exception as error:
            return [*results, _Raised(_sendable(error))]
    return results


def _sendable(error: Exception) -> BaseException:
    """The exception, or one that says the same where it cannot be sent."""
    if not isinstance(error, OrienteerError):
        error.add_note("".join(traceback.format_exception(error)))
    with contextlib.suppress(Exception):  # whatever its class makes of it
        if isinstance(sent := pickle.loads(pickle.dumps(error)), type(error)):
            return sent
    told = OrienteerError if isinstance(error, OrienteerError) else RuntimeError
    return told(str(error) or type(error).__name__)
