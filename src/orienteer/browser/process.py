"""The process of a browser: started with pipes and a profile of its own, and killed with all that it started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from orienteer.browser import flags, process_group
from orienteer.browser.profile import Profile
from orienteer.errors import ProcessError

_LAUNCHER = Path(__file__).with_name("launcher.py")


class BrowserProcess:
    """Starts `program`. `reading` and `writing` are our ends of its pipes; whoever uses them closes them.

    It ends with the thread that starts it. `is_cut_off`: it has no network at all, where the system lets us.
    """

    def __init__(self, program: Path, user_agent: str, *, is_cut_off: bool = True) -> None:
        self._profile = Profile()
        its_reading, self.writing = os.pipe()
        self.reading, its_writing = os.pipe()
        ways = [os.getpid(), its_reading, its_writing, "cut" if is_cut_off else "keep"]
        command = [sys.executable or "python3", "-I", "-S", str(_LAUNCHER), *map(str, ways)]
        nowhere = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                [*command, str(program), *flags.arguments(self._profile.folder, user_agent)],
                stdin=nowhere, stdout=nowhere, stderr=nowhere, pass_fds=[its_reading, its_writing],
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            os.close(self.reading)
            os.close(self.writing)
            self._profile.remove()
            raise ProcessError(f"no browser can be started: {error}") from None
        finally:
            os.close(its_reading)
            os.close(its_writing)
        self._cpu_s = 0.0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def cpu_s(self) -> float:
        """Of it and all that it has started, so far."""
        if self._process.returncode is None:
            self._cpu_s = max(self._cpu_s, process_group.cpu_s(self._process.pid))
        return self._cpu_s

    @property
    def memory_bytes(self) -> int:
        return process_group.memory_bytes(self._process.pid) if self._process.returncode is None else 0

    def kill(self) -> None:
        """End it with all that it started, and remove what it wrote."""
        if self._process.returncode is None:
            self._cpu_s = self.cpu_s
            process_group.kill(self._process.pid)
            self._process.wait()
        self._profile.remove()
