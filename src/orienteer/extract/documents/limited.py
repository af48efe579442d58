"""Read documents in a separate process with limits, one for all documents of this process.

Parsing untrusted PDF or zip files may take gigabytes and minutes, or crash. So it is done in a child process with
limits on additional memory, and on CPU time per document. The child is started with the first document, reads one
document at a time, and exits when it is idle for a while. A document that crashes it, or takes too long, is unreadable;
nothing else is lost, since the next document gets a new process.

The child replies in JSON: unpickling data from it could execute code here.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pkgutil
import resource
import signal
import sys
import threading
from multiprocessing.connection import Connection

from orienteer.errors import ProcessError
from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.extract.documents.kinds import READERS
from orienteer.processes.child import Child, prefer_oom_kill

MEMORY_BYTES = 1 << 30  # of address space, in addition to that of the started process
CPU_S = 10  # per document
WALL_S = 60.0  # per document; allows for a busy machine

_IDLE_S = 60.0
_MAX_GROWN_BYTES = 256 << 20  # a process that has grown by more exits after the document
_MAX_WRITTEN_BYTES = 1 << 20  # of files, which are error messages
_OUT_OF_MEMORY = f"it takes more than {MEMORY_BYTES >> 30} GiB of memory"
_TRIES = 3  # if the process exits for idleness just when a document is sent


class LimitedReader:
    """Reads documents in a child process, one at a time; thread-safe."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        self.n_started = 0

    def read(self, content: bytes, media_type: str) -> Document:
        """Read a document of one of the types in `kinds`; UnreadableDocumentError with the reason if that fails."""
        with self._lock:
            for _ in range(_TRIES):
                reply = self._reply(content, media_type)
                if reply is not None:
                    return _document(reply)
        raise UnreadableDocumentError("the process that reads documents ends at once")

    def close(self) -> None:
        """Kill the process, and start no other."""
        self._is_closed = True
        child = self._child
        if child is not None:
            child.kill()
            with self._lock:
                self._end()

    def _reply(self, content: bytes, media_type: str) -> bytes | None:
        """Return the reply of the process; None if it exited for idleness, so that another one is needed."""
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
            raise UnreadableDocumentError("the process that reads documents was closed")
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
    """Read a document in the child process of this process."""
    return _reader.read(content, media_type)


def _why_died(code: int, why: str) -> str:
    if code == -signal.SIGXCPU:
        return f"it takes more than {CPU_S} s of CPU time"
    return f"the process that read it died: {why}"


def _document(reply: bytes) -> Document:
    values = json.loads(reply)
    if "why" in values:
        raise UnreadableDocumentError(values["why"])
    values["anchors"] = tuple((reference, words) for reference, words in values["anchors"])
    for name in ("references", "headings"):
        values[name] = tuple(values[name])
    return Document(**values)


# -- in the process ---------------------------------------------------------------------------------------------


def serve(channel: Connection) -> None:
    """Read documents until the process is idle for a while, or the channel is closed."""
    prefer_oom_kill()
    # All readers are imported before the limit on memory is set.
    readers = {media_type: pkgutil.resolve_name(f"{__package__}.{name}") for media_type, name in READERS.items()}
    at_start = _address_space()
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, _MAX_WRITTEN_BYTES)
    sys.dont_write_bytecode = True  # Python 3.11 does not notice when a .pyc file could be written only in part
    _set_limit(resource.RLIMIT_AS, at_start + MEMORY_BYTES)
    while channel.poll(_IDLE_S) and _address_space() - at_start <= _MAX_GROWN_BYTES:
        media_type, content = channel.recv_bytes().decode(), channel.recv_bytes()
        _allow_cpu_time()
        try:
            reply = json.dumps(readers[media_type](content)._asdict())
        except UnreadableDocumentError as error:
            reply = json.dumps({"why": _one_line(str(error))})
        except (MemoryError, RecursionError):
            reply = json.dumps({"why": _OUT_OF_MEMORY})
        except Exception as error:  # from any library; the process continues
            reply = json.dumps({"why": _one_line(f"damaged: {type(error).__name__}: {error}")})
        del content
        channel.send_bytes(reply.encode())


def _allow_cpu_time() -> None:
    """Allow CPU_S of CPU time from now on; the kernel kills a process that takes more."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + CPU_S)


def _set_limit(which: int, soft: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # the system has no such limit, or a lower one
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _address_space() -> int:
    """Return the address space in bytes; 0 if it is unknown."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
