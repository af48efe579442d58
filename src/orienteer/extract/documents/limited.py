"""Read documents in a separate process with limits, one for all documents of this process.

Parsing untrusted PDF or zip files may take gigabytes and minutes, or crash. So it is done in a child process with
limits on additional memory, and on CPU time per document. The child is started with the first document, reads one
document at a time, and exits when it is idle for a while. A document that takes too long, or crashes two processes, is
unreadable; nothing else is lost, since the next document gets a new process.

The child replies in JSON: unpickling data from it could execute code here.
"""

from __future__ import annotations

import atexit
import json
import pkgutil
import threading
from multiprocessing.connection import Connection

from orienteer.errors import ProcessError
from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.extract.documents.kinds import READERS
from orienteer.processes.child import TaskLimits, address_space_bytes, prefer_oom_kill
from orienteer.processes.supervisor import ProcessTask, Supervisor

LIMITS = TaskLimits(memory_bytes=1 << 30, cpu_s=10, wall_s=60.0, file_bytes=1 << 20)  # files are error messages

_IDLE_S = 60.0
_MAX_GROWN_BYTES = 256 << 20  # a process that has grown by more exits after the document


class _DocumentTask(ProcessTask):
    def __init__(self, content: bytes, media_type: str) -> None:
        self._content, self._media_type = content, media_type

    def messages(self) -> tuple[bytes, ...]:
        return self._media_type.encode(), self._content


class LimitedReader:
    """Reads documents in a child process, one at a time; thread-safe."""

    def __init__(self, limits: TaskLimits = LIMITS) -> None:
        self.supervisor: Supervisor[_DocumentTask] = Supervisor(serve, (limits,), limits=limits)
        self._lock = threading.Lock()

    def read(self, content: bytes, media_type: str) -> Document:
        """Read a document of one of the types in `kinds`; UnreadableDocumentError with the reason if that fails."""
        try:
            with self._lock:
                task = self.supervisor.run(_DocumentTask(content, media_type))
        except ProcessError as error:
            raise UnreadableDocumentError(str(error)) from None
        if task.crash is not None:
            why, exceeds_limit = task.crash
            raise UnreadableDocumentError(why if exceeds_limit else f"the process that read it died: {why}")
        return _document(task.reply or b"")

    def close(self) -> None:
        """Kill the process, and start no other."""
        self.supervisor.stop()
        with self._lock:
            self.supervisor.close()


def _document(reply: bytes) -> Document:
    values = json.loads(reply)
    if "why" in values:
        raise UnreadableDocumentError(values["why"])
    values["anchors"] = tuple((reference, words) for reference, words in values["anchors"])
    for name in ("references", "headings"):
        values[name] = tuple(values[name])
    return Document(**values)


# -- in the process ---------------------------------------------------------------------------------------------


def serve(channel: Connection, limits: TaskLimits) -> None:
    """Read documents until the process is idle for a while, or the channel is closed."""
    prefer_oom_kill()
    # All readers are imported before the limit on memory is set.
    readers = {media_type: pkgutil.resolve_name(f"{__package__}.{name}") for media_type, name in READERS.items()}
    at_start = address_space_bytes()
    limits.begin()
    channel.send_bytes(b"ready")
    while channel.poll(_IDLE_S) and address_space_bytes() - at_start <= _MAX_GROWN_BYTES:
        media_type, content = channel.recv_bytes().decode(), channel.recv_bytes()
        limits.begin_task()
        try:
            reply = json.dumps(readers[media_type](content)._asdict())
        except UnreadableDocumentError as error:
            reply = json.dumps({"why": _one_line(str(error))})
        except (MemoryError, RecursionError):
            reply = json.dumps({"why": f"it takes more than {limits.memory_bytes >> 30} GiB of memory"})
        except Exception as error:  # from any library; the process continues
            reply = json.dumps({"why": _one_line(f"damaged: {type(error).__name__}: {error}")})
        del content
        channel.send_bytes(reply.encode())


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


# -- the reader of this process ---------------------------------------------------------------------------------


_reader = LimitedReader()
atexit.register(_reader.close)


def read_document(content: bytes, media_type: str) -> Document:
    """Read a document in the child process of this process."""
    return _reader.read(content, media_type)
