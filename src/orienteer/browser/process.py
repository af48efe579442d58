"""The process of a browser: it has pipes and its own profile, and is killed with all its child processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from orienteer.browser import flags
from orienteer.browser.profile import Profile
from orienteer.errors import ProcessError
from orienteer.processes import process_group

_LAUNCHER = Path(__file__).with_name("launcher.py")


class BrowserProcess:
    """Starts `program`. `reading` and `writing` are our ends of its pipes; the caller closes them.

    The process ends with the thread that started it. With `isolates_network` it runs in an empty network namespace, if
    the system allows that.
    """

    def __init__(self, program: Path, user_agent: str, *, isolates_network: bool = True) -> None:
        self._profile = Profile()
        child_reading, self.writing = os.pipe()
        self.reading, child_writing = os.pipe()
        launcher_arguments = [os.getpid(), child_reading, child_writing, "isolate" if isolates_network else "keep"]
        command = [sys.executable or "python3", "-I", "-S", str(_LAUNCHER), *map(str, launcher_arguments)]
        devnull = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                [*command, str(program), *flags.arguments(self._profile.folder, user_agent)],
                stdin=devnull, stdout=devnull, stderr=devnull, pass_fds=[child_reading, child_writing],
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            os.close(self.reading)
            os.close(self.writing)
            self._profile.remove()
            raise ProcessError(f"the browser cannot be started: {error}") from None
        finally:
            os.close(child_reading)
            os.close(child_writing)
        self._cpu_s = 0.0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def cpu_s(self) -> float:
        """CPU time of the browser and all its child processes so far."""
        if self._process.returncode is None:
            self._cpu_s = max(self._cpu_s, process_group.cpu_s(self._process.pid))
        return self._cpu_s

    @property
    def memory_bytes(self) -> int:
        return process_group.memory_bytes(self._process.pid) if self._process.returncode is None else 0

    def kill(self) -> None:
        """Kill the browser with all its child processes, and remove its profile."""
        if self._process.returncode is None:
            self._cpu_s = self.cpu_s
            process_group.kill(self._process.pid)
            self._process.wait()
        self._profile.remove()
