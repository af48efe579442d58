"""The process that documents are read in: with limits, and one for all documents of this process.

Whoever parses PDF or zip files of strangers may be made to take gigabytes and minutes, or to crash. So it happens in a
process of its own, which may take so much memory more than it begins with, and so much CPU time a document. It is
started when the first document comes, reads one after the other, and ends by itself when none has come for a while. A
document that it dies of, or that takes too long, is unreadable, and nothing else is lost: the next one has a new
process.

It answers in JSON: a pickle from there could do anything here.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import resource
import signal
import threading
from multiprocessing.connection import Connection

from orienteer.errors import ProcessError
from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.extract.documents.kinds import READERS
from orienteer.processes.child import Child, be_killed_first

MEMORY_BYTES = 1 << 30  # of address space, beyond what the process has when it is ready
CPU_S = 10  # a document
WALL_S = 60.0  # the same on a busy machine

_IDLE_S = 60.0
_MAX_GROWN_BYTES = 256 << 20  # of a process that goes on to the next document
_MAX_WRITTEN_BYTES = 1 << 20  # into files: what it says when it fails
_OUT_OF_MEMORY = f"it takes more than {MEMORY_BYTES >> 30} GiB of memory"
_TRIES = 3  # with a process that ended by itself just when it was asked


class LimitedReader:
    """Documents read by a process beside this one. Several threads may ask; one document is read at a time."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        self.n_started = 0

    def read(self, content: bytes, media_type: str) -> Document:
        """What a document of one of the types in `kinds` says. UnreadableDocumentError says why it cannot be read."""
        with self._lock:
            for _ in range(_TRIES):
                answer = self._answer(content, media_type)
                if answer is not None:
                    return _document(answer)
        raise UnreadableDocumentError("the process that reads documents ends at once")

    def close(self) -> None:
        """End the process, whatever it is at. There will be no other."""
        self._is_closed = True
        child = self._child
        if child is not None:
            child.kill()
            with self._lock:
                self._end()

    def _answer(self, content: bytes, media_type: str) -> bytes | None:
        """None where the process has ended by itself, and another is to be asked."""
        child = self._started()
        try:
            child.channel.send_bytes(media_type.encode())
            child.channel.send_bytes(content)
            if not child.channel.poll(WALL_S):
                child.kill()
                self._end()
                raise UnreadableDocumentError(f"it takes more than {WALL_S:.0f} s")
            return child.channel.recv_bytes()
        except (EOFError, OSError):
            code, why = child.wait(), child.why_ended()
            self._end()
            if code == 0 and not self._is_closed:
                return None
            raise UnreadableDocumentError(_why_died(code, why)) from None

    def _started(self) -> Child:
        if self._is_closed:
            raise UnreadableDocumentError("the process that reads documents was ended")
        if self._child is None:
            try:
                self._child = Child(serve)
            except ProcessError as error:
                raise UnreadableDocumentError(str(error)) from None
            self.n_started += 1
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


_reader = LimitedReader()
atexit.register(_reader.close)


def read_document(content: bytes, media_type: str) -> Document:
    """What a document says, read by the process that this process has for it."""
    return _reader.read(content, media_type)


def _why_died(code: int, why: str) -> str:
    if code == -signal.SIGXCPU:
        return f"it takes more than {CPU_S} s of CPU time"
    return f"the process that read it died: {why}"


def _document(answer: bytes) -> Document:
    told = json.loads(answer)
    if "why" in told:
        raise UnreadableDocumentError(told["why"])
    told["anchors"] = tuple((reference, words) for reference, words in told["anchors"])
    for name in ("references", "headings"):
        told[name] = tuple(told[name])
    return Document(**told)


# -- in the process ---------------------------------------------------------------------------------------------


def serve(channel: Connection) -> None:
    """Read documents until none has come for a while, or the channel is closed."""
    be_killed_first()
    # All are loaded before the limit on memory is set.
    readers = {name: importlib.import_module(f"{__package__}.{name}") for name in set(READERS.values())}
    at_start = _address_space()
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, _MAX_WRITTEN_BYTES)
    _set_limit(resource.RLIMIT_AS, at_start + MEMORY_BYTES)
    while channel.poll(_IDLE_S) and _address_space() - at_start <= _MAX_GROWN_BYTES:
        media_type, content = channel.recv_bytes().decode(), channel.recv_bytes()
        _allow_cpu_time()
        try:
            answer = json.dumps(readers[READERS[media_type]].read(content)._asdict())
        except UnreadableDocumentError as error:
            answer = json.dumps({"why": _one_line(str(error))})
        except (MemoryError, RecursionError):
            answer = json.dumps({"why": _OUT_OF_MEMORY})
        except Exception as error:  # of whatever library; the process goes on
            answer = json.dumps({"why": _one_line(f"damaged: {type(error).__name__}: {error}")})
        del content
        channel.send_bytes(answer.encode())


def _allow_cpu_time() -> None:
    """From now on, so much; the system ends the process that takes more."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + CPU_S)


def _set_limit(which: int, soft: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # the system has no such limit, or a lower one
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _address_space() -> int:
    """In bytes; 0 where the system does not tell it."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
