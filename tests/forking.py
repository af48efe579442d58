"""`python -m tests.forking MODULE...`: the module as a program whose Python processes are forked with all imported.

It is itself run by a process that has everything imported (see `ready_process`): alone most of the time of the demo
and of a tiny benchmark would go into the imports of the commands that they start.
"""

from __future__ import annotations

import runpy
import subprocess
import sys

from tests.fake_web.process import FakeWebProcess
from tests.ready_process import ReadyPopen, ready


def main(module: str) -> None:
    ready()  # forked from here, before there are threads
    subprocess.Popen = ReadyPopen  # type: ignore[misc]
    FakeWebProcess.start_method = "fork"
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv.pop(1))
