"""How long a command takes that does next to nothing: CPU time of `orienteer --help` and `--version`, and of Scrapy's.

The least of five runs, each a process of its own; the files have been read before.
"""

from __future__ import annotations

import resource
import subprocess
import sys

from benchmarks.measure import machine, table

COMMANDS = {
    "orienteer --help": ["-m", "orienteer", "--help"],
    "orienteer crawl --help": ["-m", "orienteer", "crawl", "--help"],
    "orienteer --version": ["-m", "orienteer", "--version"],
    "scrapy --help": ["-m", "scrapy", "--help"],
    "python -c pass": ["-c", "pass"],
}
ROUNDS = 5


def run() -> str:
    rows = [[name, f"{min(_cpu_s(words) for _ in range(ROUNDS)):.2f}"] for name, words in COMMANDS.items()]
    return f"{machine('typer', 'rich', 'scrapy')}\n\n{table(['command', 'CPU s'], rows)}"


def _cpu_s(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
