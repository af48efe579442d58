from __future__ import annotations

import re

from tests.cli.run import orienteer


def test_the_demo_tells_its_story() -> None:
    said = orienteer("demo", "-n", 3000).stdout
    parts = (
        "1. A small web",
        "2. What the pages are worth",
        "3. A trusted start",
        "4. What to fetch next",
        "5. The same",
        "6. A week later",
        "7. One host",
        "seen from outside",
    )
    for part in (*parts, "http://h"):
        assert part in said
    counts = {
        order: int(re.search(rf"{order} .* ([\d,]+)\s*$", said, re.MULTILINE)[1].replace(",", ""))
        for order in ("certified", "rankmass", "breadth-first")
    }
    assert 0 < counts["certified"] < min(counts["rankmass"], counts["breadth-first"])
    assert re.search(r"at least 98\.\d\d %, at most 99\.\d\d %", said)
    told = " ".join(said.split())
    lower, upper, truth = (
        float(figure)
        for figure in re.search(
            r"was proved: at least ([\d.]+) %, at most ([\d.]+) %. The truth is ([\d.]+)%", told
        ).groups()
    )
    assert 98 <= lower <= truth <= upper
    assert re.search(r"asked for: [\d,]+ new, [\d,]+ changed, [\d,]+ unchanged", told)
    assert "were looked at" in told
