from __future__ import annotations

import subprocess
import sys


def test_the_demo_tells_its_story() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "orienteer", "demo", "-n", "3000"], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    for part in ("1. A small web", "2. What the pages are worth", "3. A trusted start", "http://h"):
        assert part in done.stdout
