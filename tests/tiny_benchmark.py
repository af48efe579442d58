"""`python -m tests.tiny_benchmark NAME...`: tiny benchmarks whose Python processes are forked with all imported.

It is itself run by a process that has everything imported (see `ready_process`), and starts all others so, too: alone
most of the time of a tiny benchmark would go into imports.
"""

from __future__ import annotations

import subprocess

from tests.fake_web.process import FakeWebProcess
from tests.ready_process import ReadyPopen, ready


def main() -> None:
    ready()  # forked from here, before there are threads
    subprocess.Popen = ReadyPopen  # type: ignore[misc]
    FakeWebProcess.start_method = "fork"
    from benchmarks.__main__ import main

    main()


if __name__ == "__main__":
    main()
