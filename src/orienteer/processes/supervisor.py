"""The supervisor of child processes: it starts and replaces them, gives them tasks, and attributes their crashes.

    supervisor = Supervisor(serve, (settings,), n_processes)   # serve(channel, settings) runs in each process
    supervisor.put(task)
    while not task.is_done:
        supervisor.advance(timeout_s=None)
    task.reply                                                 # None if the task crashed its processes: see task.crash
    supervisor.close()

A process is ready after its first message. From then on it replies to each task with one message, in order. It ends
with its parent, however that happens (see `child`).

A process may crash: killed, out of memory, by a segmentation fault. The task that it was working on may be the cause,
its other tasks are not. So that task, or each task that replaces it, becomes *suspect*: from now on it is the only task
of its process. A suspect that crashes two processes fails. A task that exceeds one of its limits fails at once. A
process that crashes before it is ready counts against no task, but after several such failures in a row no more are
started (`StartLimit`). A process may also exit with code 0 after a reply, for example when it has grown; its next tasks
get another one.

`CrashRecord` and `StartLimit` are also the rules for processes with another transport: browsers (`browser/renderer`),
and workers (`workers/remote_workers`), which may be on other machines and whose requests the crawl retries.
"""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, NamedTuple, Self, TypeVar

from orienteer.errors import ProcessError
from orienteer.processes.child import Child, ForkServer, TaskLimits

_Key = TypeVar("_Key", bound=Hashable)

MAX_START_FAILURES = 3


class CrashRecord(Generic[_Key]):
    """Which items crash processes.

    An item that was in flight at `suspect_after` crashes is a suspect, and must be the only item of its process. It is
    refused after `refused_after` crashes as a suspect.
    """

    def __init__(self, suspect_after: int = 1, refused_after: int = 2) -> None:
        self._suspect_after = suspect_after
        self._refused_after = suspect_after + refused_after
        self._n_crashes: Counter[_Key] = Counter()

    def add(self, item: _Key) -> None:
        """Count a crash of a process that had this item in flight."""
        self._n_crashes[item] += 1

    def drop(self, item: _Key) -> None:
        """Drop an item that was processed, or that is not tried again."""
        if self._n_crashes:
            self._n_crashes.pop(item, None)

    def is_suspect(self, item: _Key) -> bool:
        return self._n_crashes.get(item, 0) >= self._suspect_after

    def is_refused(self, item: _Key) -> bool:
        return self._n_crashes.get(item, 0) >= self._refused_after


class StartLimit:
    """Counts processes that crash before they are ready, in a row; those that crash together count once."""

    def __init__(self) -> None:
        self._n_failures = 0
        self._last_failure = -math.inf

    @property
    def is_reached(self) -> bool:
        """Whether no more processes should be started."""
        return self._n_failures >= MAX_START_FAILURES

    def add_failure(self, started_at: float) -> None:
        """Count a failure; `started_at` is the monotonic time at which that process was started."""
        if started_at >= self._last_failure:
            self._n_failures, self._last_failure = self._n_failures + 1, time.monotonic()

    def reset(self) -> None:
        """A process is ready."""
        self._n_failures = 0

    def allow_one(self) -> None:
        """Allow one more attempt, for a later task."""
        self._n_failures = min(self._n_failures, MAX_START_FAILURES - 1)


class Crash(NamedTuple):
    """How the last process with a task ended; `exceeds_limit` if the task took more than it may."""

    why: str
    exceeds_limit: bool = False


class ProcessTask:
    """What a process is asked to do. `reply` or `crash` is set when it is done."""

    reply: bytes | None = None
    crash: Crash | None = None

    def messages(self) -> tuple[bytes, ...]:
        """Return what is sent to the process."""
        raise NotImplementedError

    def split(self) -> list[Self]:
        """Return the tasks that replace this one after a crash."""
        return [self]

    @property
    def is_done(self) -> bool:
        return self.reply is not None or self.crash is not None


_Task = TypeVar("_Task", bound=ProcessTask)


@dataclass(eq=False)
class _Slot(Generic[_Task]):
    """A process and its tasks in flight."""

    child: Child
    started_at: float
    is_ready: bool = False
    n_replies: int = 0
    in_flight: deque[_Task] = field(default_factory=deque)
    due: float = math.inf  # the monotonic time by which the first task in flight must be done


class Supervisor(Generic[_Task]):
    """Up to `n_processes` child processes that call `serve(channel, *arguments)`, started when there are tasks.

    Each has at most `max_in_flight` tasks; with more than one, `serve` must read the next while it sends a reply, or
    both sides may block. `forks` starts them quickly. `on_ready` gets the first message of a process, and may raise an
    exception. Tasks begin in the order in which they were put, each as soon as `may_begin(task)`.
    """

    def __init__(
        self,
        serve: Callable[..., None],
        arguments: tuple[Any, ...] = (),
        n_processes: int = 1,
        *,
        max_in_flight: int = 1,
        limits: TaskLimits | None = None,
        forks: ForkServer | None = None,
        on_ready: Callable[[bytes], None] = lambda message: None,
        may_begin: Callable[[_Task], bool] = lambda task: True,
    ) -> None:
        self.n_processes = n_processes
        self.n_started = 0
        self.n_reply_bytes = 0  # received so far
        self._serve, self._arguments = serve, arguments
        self._max_in_flight = max_in_flight
        self._limits = limits
        self._forks = forks
        self._on_ready, self._may_begin = on_ready, may_begin
        self._slots: dict[Connection, _Slot[_Task]] = {}
        self._waiting: deque[_Task] = deque()  # not assigned to a process
        self._crashes: CrashRecord[_Task] = CrashRecord(suspect_after=0 if max_in_flight == 1 else 1)
        self._starts = StartLimit()
        self._is_stopped = False

    @property
    def pids(self) -> list[int]:
        return [slot.child.pid for slot in self._slots.values()]

    def put(self, task: _Task) -> None:
        self._waiting.append(task)

    def run(self, task: _Task) -> _Task:
        """Put a task, and wait until it is done."""
        self.put(task)
        try:
            while not task.is_done:
                self.advance(timeout_s=None)
        except ProcessError:
            with contextlib.suppress(ValueError):  # it is not assigned to a process
                self._waiting.remove(task)
            raise
        return task

    def advance(self, timeout_s: float | None) -> None:
        """Start processes, assign tasks and receive replies; with a timeout of None wait until something happens."""
        if self._is_stopped:
            raise ProcessError("the process was stopped")
        n_needed = min(self.n_processes, len(self._slots) + len(self._waiting))
        while len(self._slots) < n_needed:
            child = Child(self._serve, *self._arguments, forks=self._forks)
            self._slots[child.channel] = _Slot(child, time.monotonic())
            self.n_started += 1
        self._assign()
        for channel in wait(list(self._slots), self._wait_s(timeout_s)):
            assert isinstance(channel, Connection)
            self._receive(self._slots[channel])
        if self._limits is not None:
            now = time.monotonic()
            for slot in [slot for slot in self._slots.values() if slot.due <= now]:
                slot.child.kill()
                self._remove(slot, Crash(f"it takes more than {self._limits.wall_s:.0f} s", exceeds_limit=True))
        self._assign()

    def stop(self) -> None:
        """Kill all processes, and start no others; may be called in any thread."""
        self._is_stopped = True
        for slot in list(self._slots.values()):
            slot.child.kill()

    def close(self) -> None:
        """Kill all processes; their tasks are lost."""
        self.stop()
        for slot in self._slots.values():
            slot.child.close()
        self._slots.clear()

    def _wait_s(self, timeout_s: float | None) -> float | None:
        due = math.inf if self._limits is None else min((slot.due for slot in self._slots.values()), default=math.inf)
        if due == math.inf:
            return timeout_s
        left_s = max(0.0, due - time.monotonic())
        return left_s if timeout_s is None else min(timeout_s, left_s)

    # -- tasks --------------------------------------------------------------------------------------------------

    def _assign(self) -> None:
        """Assign waiting tasks, in order, to the processes with the fewest tasks in flight."""
        while self._waiting:
            task = self._waiting[0]
            available = [slot for slot in self._slots.values() if self._can_take(slot, task)]
            if not available or not self._may_begin(task):
                return
            slot = min(available, key=lambda slot: len(slot.in_flight))
            slot.in_flight.append(self._waiting.popleft())
            if len(slot.in_flight) == 1:
                self._set_due(slot)
            with contextlib.suppress(OSError):  # it has crashed: `wait` reports that
                for message in task.messages():
                    slot.child.channel.send_bytes(message)

    def _can_take(self, slot: _Slot[_Task], task: _Task) -> bool:
        """Whether a process may get a task: a suspect must be alone, so that no other task is blamed."""
        if not slot.is_ready or len(slot.in_flight) >= self._max_in_flight:
            return False
        is_suspect = self._crashes.is_suspect
        return not slot.in_flight or not (is_suspect(task) or is_suspect(slot.in_flight[0]))

    def _receive(self, slot: _Slot[_Task]) -> None:
        try:
            message = slot.child.channel.recv_bytes()
        except (EOFError, OSError):
            return self._remove(slot, None)
        if not slot.is_ready:
            self._on_ready(message)
            slot.is_ready = True
            self._starts.reset()
        elif not slot.in_flight:  # a process that an untrusted task controls: the next task must not get this reply
            slot.child.kill()
            self._remove(slot, None)
        else:
            task = slot.in_flight.popleft()
            task.reply = message
            slot.n_replies += 1
            self.n_reply_bytes += len(message)
            self._crashes.drop(task)
            self._set_due(slot)

    def _set_due(self, slot: _Slot[_Task]) -> None:
        if self._limits is not None:
            slot.due = time.monotonic() + self._limits.wall_s if slot.in_flight else math.inf

    # -- crashes ------------------------------------------------------------------------------------------------

    def _remove(self, slot: _Slot[_Task], crash: Crash | None) -> None:
        """Remove a process that has ended, and retry its tasks."""
        del self._slots[slot.child.channel]
        why = slot.child.why_ended()
        code = slot.child.poll()
        slot.child.close()
        if crash is None and self._limits is not None and code == -signal.SIGXCPU:
            crash = Crash(f"it takes more than {self._limits.cpu_s} s of CPU time", exceeds_limit=True)
        crash = crash or Crash(why)
        tasks = list(slot.in_flight)
        if tasks and not (code == 0 and slot.n_replies):
            tasks[:1] = self._suspects(tasks[0], crash)
        self._waiting.extendleft(reversed(tasks))
        if not slot.is_ready:
            self._count_start_failure(slot, crash)

    def _suspects(self, task: _Task, crash: Crash) -> list[_Task]:
        """Return what is to be retried of a task that crashed a process; nothing if it fails."""
        suspects = task.split()
        for suspect in suspects:
            self._crashes.add(suspect)
        if len(suspects) == 1 and (crash.exceeds_limit or self._crashes.is_refused(task)):
            task.crash = crash
            self._crashes.drop(task)
            return []
        return suspects

    def _count_start_failure(self, slot: _Slot[_Task], crash: Crash) -> None:
        """Count the failure. At the limit go on with the processes that are ready, without starting any more."""
        self._starts.add_failure(slot.started_at)
        if not self._starts.is_reached:
            return
        n_ready = sum(slot.is_ready for slot in self._slots.values())
        if n_ready:
            self.n_processes = n_ready
            self._starts.reset()
            return
        self._starts.allow_one()
        raise ProcessError(f"{MAX_START_FAILURES} processes in a row crashed before they were ready: {crash.why}")
