"""Run as a program: becomes the browser, after it has cut itself off from the network and tied its life to ours.

    python -I -S launcher.py PARENT READ WRITE cut|keep BROWSER ARGUMENT...

The browser reads commands from descriptor 3 and writes to 4. It is killed when the thread that started it ends, however
that happens. Where the system lets it (`cut`), it gets a network of its own, in which there is nothing, not even
loopback; its flags allow no connection anyway. Nothing of the package is imported here: this must start quickly.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000


def _cut_off(libc: ctypes.CDLL) -> None:
    if os.geteuid() == 0:
        libc.unshare(_CLONE_NEWNET)
        return
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return  # the system does not let us
    with contextlib.suppress(OSError):  # without these it would be nobody, who can do the same
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def main() -> None:
    parent, reading, writing = map(int, sys.argv[1:4])
    program, arguments = sys.argv[5], sys.argv[5:]
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("800")  # where no memory is left, the browser goes first: it can be replaced
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if sys.argv[4] == "cut":
            _cut_off(libc)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # after the above, which may take it back
    if os.getppid() != parent:
        os._exit(1)  # it is gone already
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (reading, writing)]
    for end, wanted in zip(ends, (3, 4), strict=True):
        os.dup2(end, wanted, inheritable=True)
    for end in {*ends, reading, writing} - {3, 4}:
        os.close(end)
    os.execv(program, arguments)


if __name__ == "__main__":
    main()
