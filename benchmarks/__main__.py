"""`python -m benchmarks [NAME ...]`: run them and put their results into RESULTS.md.

Without names all but the slow ones run. A name runs that one; its section of RESULTS.md is replaced, the others stay.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
QUICK = [
    "pagerank",
    "components",
    "formats",
    "bv_decode",
    "orders",
    "crawl_speed",
    "extraction",
    "topics",
    "frontier",
]
SLOW = [
    "scale",
    "crawl_scale",
    "seeds",
    "seed_figures",
    "global_rank",
    "global_rank_scale",
    "focused",
    "live_crawl",
    "scrapy_plugin",
    "refresh",
    "store",
    "memory",
    "faults",
    "search",
]
HEAD = """# Results

Written by `make bench` (one section: `.venv/bin/python -m benchmarks NAME`). Each contender runs in a process of its
own on the same data in the same run; ratios say more than seconds, because the machine is shared.
"""


def main() -> None:
    names = sys.argv[1:] or QUICK
    unknown = [name for name in names if name not in QUICK + SLOW]
    if unknown or "--help" in names:
        print(f"{__doc__}\nQuick: {', '.join(QUICK)}. Slow: {', '.join(SLOW)}.")
        sys.exit(2 if "--help" not in names else 0)
    for name in names:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"== {name}: {module.__doc__.strip().splitlines()[0]}", flush=True)
        text = module.run()
        print(text, flush=True)
        _replace_section(name, f"{module.__doc__.strip()}\n\n{text}")


def _replace_section(name: str, text: str) -> None:
    old = RESULTS.read_text() if RESULTS.exists() else ""
    sections = dict(re.findall(r"^## (\w+)\n\n(.*?)(?=^## |\Z)", old, re.MULTILINE | re.DOTALL))
    sections[name] = text
    order = [known for known in QUICK + SLOW if known in sections]
    RESULTS.write_text(HEAD + "".join(f"\n## {known}\n\n{sections[known].strip()}\n" for known in order))


if __name__ == "__main__":
    main()
