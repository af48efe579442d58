"""When each section of RESULTS.md was measured, how long that took, and how busy the machine was."""

from __future__ import annotations

import re

from benchmarks.measure import table
from benchmarks.results_file import Results

_MEASURED = re.compile(r"^Measured (\S+ \S+) UTC in ([\d,]+) s; load ([\d.]+) before, ([\d.]+) after\.$", re.MULTILINE)


def runs_table(results: Results, names: list[str]) -> str:
    """A sentence about all of them, and a row for each, in the order in which they run."""
    found = {name: _MEASURED.findall(results.sections.get(name, "")) for name in names}
    known = [times[-1] for times in found.values() if times]
    if not known:
        return "No section says when it was measured.\n"
    began = sorted(when for when, *_ in known)
    hours = sum(int(seconds.replace(",", "")) for _, seconds, *_ in known) / 3600
    rows = [[f"`{name}`", *(times[-1] if times else ("not known", "", "", ""))] for name, times in found.items()]
    return (
        f"{len(known)} of {len(names)} sections took {hours:.1f} hours; the first began at {began[0]} UTC, the last at "
        f"{began[-1]}.\n\n{table(['section', 'began, UTC', 's', 'load before', 'load after'], rows)}"
    )
