"""A program that leaves the network namespace, sets its parent-death signal, and then executes the browser.

    python -I -S launcher.py PARENT READ WRITE isolate|keep BROWSER ARGUMENT...

The browser reads commands from descriptor 3 and writes to 4. It is killed when the thread that started it ends. With
`isolate`, and if the system allows it, the browser gets an empty network namespace, without loopback; its flags forbid
connections anyway. This file imports nothing from the package, so that it starts quickly.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000


def _isolate_network(libc: ctypes.CDLL) -> None:
    if os.geteuid() == 0:
        libc.unshare(_CLONE_NEWNET)
        return
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return  # not permitted
    with contextlib.suppress(OSError):  # without a mapping the browser would run as user 65534, which works as well
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def main() -> None:
    parent, reading, writing = map(int, sys.argv[1:4])
    program, arguments = sys.argv[5], sys.argv[5:]
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("800")  # the OOM killer should choose the browser, which can be restarted
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if sys.argv[4] == "isolate":
            _isolate_network(libc)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # after the namespace calls, which may reset it
    if os.getppid() != parent:
        os._exit(1)  # the parent has already ended
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (reading, writing)]
    for end, target in zip(ends, (3, 4), strict=True):
        os.dup2(end, target, inheritable=True)
    for end in {*ends, reading, writing} - {3, 4}:
        os.close(end)
    os.execv(program, arguments)


if __name__ == "__main__":
    main()
