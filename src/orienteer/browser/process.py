"""The process of a browser: finding a program of the Chromium family, its flags, its profile folder, and its end.

The process has pipes, no network and its own session, and is killed with all its child processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from orienteer.errors import InputError, ProcessError

NAMES = (  # the headless shell is the cheapest
    "chromium-headless-shell",
    "chrome-headless-shell",
    "headless_shell",
    "headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
_PATHS = (  # where other tools and systems install one
    "~/.cache/ms-playwright/chromium_headless_shell-*/chrome-*/headless_shell",
    "~/.cache/ms-playwright/chromium_headless_shell-*/chrome-*/chrome-headless-shell",
    "~/.cache/puppeteer/chrome-headless-shell/*/*/chrome-headless-shell",
    "/usr/lib/chromium/chromium-headless-shell",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def find_browser(path: str = "") -> Path:
    """Return the program with this path or name, else the first browser of the Chromium family."""
    if path:
        program = shutil.which(os.path.expanduser(path))
        if program is None:
            raise InputError(f"no browser at {path!r}: the file does not exist, or is not executable")
        return Path(program)
    for name in NAMES:
        program = shutil.which(name)
        if program is not None:
            return Path(program)
    for pattern in _PATHS:
        for candidate in sorted(Path("/").glob(os.path.expanduser(pattern).lstrip("/")), reverse=True):
            if os.access(candidate, os.X_OK):
                return candidate
    raise InputError(
        "no browser found to render pages with: install chromium-headless-shell (Debian), chromium or Google Chrome,"
        " or name one with --browser PATH"
    )


# Requests are intercepted before they reach the network. For anything else the proxy does not exist, no name resolves,
# and WebRTC is restricted to the proxy. Each flag closes a leak that was observed.
_NO_NETWORK = (
    "--proxy-server=http://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--no-pings",
    "--dns-prefetch-disable",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-crash-reporter",
)

_HEADLESS = (
    "--headless",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-notifications",
    "--deny-permission-prompts",
    "--block-new-web-contents",  # no windows
    "--disable-gpu",
    "--disable-logging",
    "--log-level=3",
    "--window-size=1280,1024",
)

# Each page has its own browser context, hence its own process. All its frames share the process, so that they have the
# same virtual time; no other page is in it.
_LOW_COST = (
    "--disable-site-isolation-trials",
    "--disable-features=" + ",".join((
        "IsolateOrigins",
        "SitePerProcess",
        "SpareRendererForSitePerProcess",
        "BackForwardCache",
            "PaintHolding",
        "Prerender2",
        "Translate",
        "MediaRouter",
        "OptimizationHints",
        "InterestFeedContentSuggestions",
        "AcceptCHFrame",
        "HttpsUpgrades",
        "WebTransport",
    )),
    "--enable-features=NetworkServiceInProcess2",
    "--in-process-gpu",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-back-forward-cache",
    "--disable-domain-blocking-for-3d-apis",
    "--disk-cache-size=1",
    "--js-flags=--max-old-space-size=512",
)  # fmt: skip

_SHARED_MEMORY = "/dev/shm"
_ENOUGH_SHARED_BYTES = 512 << 20


def browser_arguments(profile: str, user_agent: str) -> list[str]:
    """Return the arguments after the program."""
    chosen = [*_HEADLESS, *_NO_NETWORK, *_LOW_COST, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        chosen.append("--no-sandbox")  # the sandbox does not work for root
    if not _has_shared_memory():
        chosen.append("--disable-dev-shm-usage")
    if user_agent.isprintable():
        chosen.append(f"--user-agent={user_agent}")
    return [*chosen, "about:blank"]


def _has_shared_memory() -> bool:
    try:
        room = os.statvfs(_SHARED_MEMORY)
    except (OSError, AttributeError):
        return False
    return room.f_bavail * room.f_frsize >= _ENOUGH_SHARED_BYTES and os.access(_SHARED_MEMORY, os.W_OK)


PREFIX = "orienteer-browser-"
_LOCK = "owner.lock"
_NEW_S = 60.0  # a younger folder may not be locked yet


class Profile:
    """The private profile folder of a browser, removed when the browser ends.

    A process that is killed cannot remove its folder. So each folder has a lock file that its owner holds, and each new
    profile first removes the folders whose lock is free.
    """

    def __init__(self) -> None:
        remove_abandoned()
        self.folder = tempfile.mkdtemp(prefix=PREFIX)
        self._lock = os.open(os.path.join(self.folder, _LOCK), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        _remove_folder(self.folder)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def remove_abandoned(now_s: float | None = None) -> None:
    """Remove the folders of this user whose owners are gone."""
    now_s = time.time() if now_s is None else now_s
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if status.st_uid != os.getuid() or now_s - status.st_ctime < _NEW_S or folder.is_symlink():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_folder(str(folder))
            finally:
                os.close(lock)


def _remove_folder(folder: str) -> None:
    """Remove a folder; a killed process may still be writing, so try three times."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return


_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_POLL_S = 0.002
_MAX_POLLS = 2_500  # a process in uninterruptible sleep (disk I/O) dies later


def session_members(session: int) -> list[int]:
    """Return the processes of a session, without zombies."""
    processes = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            fields = _fields(int(name))
            if fields and int(fields[3]) == session and fields[0] != "Z":
                processes.append(int(name))
    return processes


def session_cpu_s(session: int) -> float:
    """Return the CPU time of a session, including children that ended and were reaped."""
    ticks = 0
    for process in session_members(session):
        fields = _fields(process)
        ticks += sum(map(int, fields[11:15])) if fields else 0
    return ticks / _TICKS


def session_memory_bytes(session: int) -> int:
    """Return the unshared resident memory of a session."""
    total = 0
    for process in session_members(session):
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{process}/statm").read_text().split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE_BYTES
    return total


def kill_session(session: int) -> None:
    """Kill all processes of a session and wait until none is left. Orphans that became our children are reaped; the
    session leader is reaped by its Popen object."""
    processes = set(session_members(session))
    with contextlib.suppress(OSError):
        os.killpg(session, signal.SIGKILL)
    for _ in range(_MAX_POLLS):
        alive = session_members(session)
        if not alive:
            break
        processes.update(alive)
        for process in alive:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_POLL_S)
    for process in processes - {session}:
        with contextlib.suppress(OSError):
            os.waitpid(process, os.WNOHANG)


def _fields(process: int) -> list[str]:
    """Return the fields of `/proc/PID/stat`, from the state on."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


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
                [*command, str(program), *browser_arguments(self._profile.folder, user_agent)],
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
            self._cpu_s = max(self._cpu_s, session_cpu_s(self._process.pid))
        return self._cpu_s

    @property
    def memory_bytes(self) -> int:
        return session_memory_bytes(self._process.pid) if self._process.returncode is None else 0

    def kill(self) -> None:
        """Kill the browser with all its child processes, and remove its profile."""
        if self._process.returncode is None:
            self._cpu_s = self.cpu_s
            kill_session(self._process.pid)
            self._process.wait()
        self._profile.remove()
