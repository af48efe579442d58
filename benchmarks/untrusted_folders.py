"""Untrusted folders: links to files of the user, settings that open private hosts, damage.

1,000 crawl folders are spoilt at random, with one to four bad things each: symbolic and hard links, pipes, settings,
damaged files, rows and arrays that no crawl writes. Commands run on each of them (status, search, crawl, index, export,
explain, repair), those of every fifth in processes of their own, and the crawl of every fifth is resumed as in a
browser. *Violations* must not happen: a file of the user that has changed, a new one outside of the folder, a
connection to a private host, a traceback, more than one line for an error, a command that hangs.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.measure import machine, table
from benchmarks.sizes import sized
from tests.faults.untrusted_folders import try_folders

N_FOLDERS = sized(1_000, 2)


def run() -> str:
    with tempfile.TemporaryDirectory(prefix="orienteer-untrusted-") as place:
        before = Path.cwd()
        os.chdir(place)
        try:
            tally = try_folders(Path(place), range(N_FOLDERS), n_commands=3, in_processes_every=5)
        finally:
            os.chdir(before)
    figures = (
        tally.n_folders, tally.n_commands, tally.n_processes, tally.n_refused, tally.n_connections, len(tally.problems),
    )  # fmt: skip
    headings = ["folders", "commands", "processes", "refused in one line", "private connections", "violations"]
    return table(headings, [[f"{figure:,}" for figure in figures]]) + "\n" + machine()
