"""`python -m benchmarks [NAME ...]`: run benchmarks and write their results into RESULTS.md.

Without names, all of them run, which takes some hours; an interrupted run is resumed. Benchmarks of CPU time run one
after the other on one core, those that only count run on the other cores at the same time, and those that need all
cores or measure wall time run last and alone. `quick` means those that take minutes. Each benchmark replaces its own
section of RESULTS.md, and the tables above the sections are regenerated. `summary` runs nothing and only regenerates
those tables. `--tiny` runs benchmarks with tiny sizes to see that they work, and writes nothing.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import goals, growth, missed, over_webs, runs
from benchmarks.results_file import Results
from benchmarks.sizes import IS_TINY, TINY_OPTION, MissingError

RESULTS = Path(__file__).parent / "RESULTS.md"
EXPERIMENTS = Path(__file__).parents[1] / "experiments"
UNFINISHED = Path(__file__).parents[1] / "build" / "bench-done.txt"  # names that an interrupted run of all has done
QUICK = [
    "startup",
    "pagerank",
    "components",
    "formats",
    "bv_decode",
    "orders",
    "push_floor",
    "crawl_speed",
    "frontier",
    "markdown",
]
SLOW = [
    "extraction",
    "reading",
    "topics",
    "scale",
    "crawl_scale",
    "time_left",
    "seeds",
    "global_rank",
    "global_rank_scale",
    "focused",
    "live_crawl",
    "workers",
    "in_flight",
    "coordinator",
    "scrapy_plugin",
    "refresh",
    "store",
    "memory",
    "coordinator_scale",
    "faults",
    "ray_kills",
    "partition",
    "hosts",
    "untrusted_folders",
    "documents",
    "rendering",
    "certificate",
    "survey",
    "survey_reactive",
    "survey_validity",
    "links",
    "report",
    "soak",
    "maximal",
    "search",
    "search_quality",
    "search_languages",
    "searchers",
    "index_pool",
]
# Their figures are counts and shares; the times that some of them also report are not goals.
COUNTING = {
    "certificate",
    "faults",
    "global_rank",
    "hosts",
    "in_flight",
    "links",
    "partition",
    "ray_kills",
    "refresh",
    "report",
    "search_languages",
    "search_quality",
    "survey_validity",
    "time_left",
    "untrusted_folders",
}
# They need all cores, or measure wall time.
ALONE = {"startup", "crawl_scale", "live_crawl", "workers", "scrapy_plugin", "rendering", "searchers", "index_pool"}
HEAD = """# Results

Written by `make bench` (one section: `.venv/bin/python -m benchmarks NAME`). Each contender runs in a process of its
own on the same data in the same run; ratios say more than seconds, because the machine is shared. Each section names
the machine, the versions, the time of the measurement and the load. Python 3.11.2 is Debian's, which is built with
profile-guided optimization; 3.11.7 is built without, and takes about 1.3 times as long for plain Python. `experiments/`
tests the claims of the papers on other webs.

## Goals

The goals, and whether they are met:

{goals}
Why some are missed, and what it would take to meet them:

{missed}
## Webs

How many pages have to be fetched until 98 % of a random surfer's time is covered, over all available real webs; the
figures of each are in the section `survey`.

{webs}
## Growth

![CPU time and memory against the pages of the web, from 1 to 100 million](plots/growth.png)

Both axes are logarithmic: a straight line of slope 1 is proportional to the web. The figures are in the sections
`scale`, `crawl_scale`, `seeds` and `global_rank_scale`.

## Runs

{runs}"""


def main() -> None:
    arguments = [word for word in sys.argv[1:] if word != TINY_OPTION]
    names = [name for word in arguments for name in (QUICK if word == "quick" else [word]) if name != "summary"]
    unknown = [name for name in names if name not in QUICK + SLOW]
    if unknown:
        print(f"{__doc__}\nQuick: {', '.join(QUICK)}. Slow: {', '.join(SLOW)}.")
        sys.exit(0 if "--help" in arguments else 2)
    if not arguments and not IS_TINY:
        sys.exit(_run_all())
    try:
        for name in names:
            _run(name)
    except MissingError as error:
        sys.exit(f"{name} needs what is not here: {error}")
    if not names and not IS_TINY:
        _write()


def _run_all() -> int:
    """Run all benchmarks that an interrupted run has not done. Return 1 if some have failed, else 0."""
    done = set(UNFINISHED.read_text().split()) if UNFINISHED.exists() else set()
    if done:
        print(f"resumed: {len(done)} of {len(QUICK + SLOW)} were done before; remove {UNFINISHED} to start over")
    UNFINISHED.parent.mkdir(exist_ok=True)
    left = [name for name in QUICK + SLOW if name not in done]
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1)) as pool:
        counted = {name: pool.submit(_is_done, name) for name in left if name in COUNTING}
        try:
            failed = [name for name in left if name not in COUNTING | ALONE and not _is_done(name)]
        except BaseException:  # Ctrl-C: those that have not begun are left for the next run
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    failed += [name for name, is_done in counted.items() if not is_done.result()]
    failed += [name for name in left if name in ALONE and not _is_done(name)]
    if failed:
        print(f"failed: {', '.join(failed)}; `make bench` tries these again")
        return 1
    UNFINISHED.unlink()
    return 0


def _is_done(name: str) -> bool:
    """Run one benchmark in its own process, and record its success."""
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(process.stdout, end="", flush=True)
    if process.returncode == 0:
        with UNFINISHED.open("a") as file:
            file.write(name + "\n")
    return process.returncode == 0


def _run(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    about = module.__doc__.strip()
    print(f"== {name}: {about.splitlines()[0]}", flush=True)
    began, before = time.time(), os.getloadavg()[0]
    text = module.run()
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(began))
    load = f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    how = f"Measured {when} UTC in {time.time() - began:,.0f} s; {load}."
    print(f"{text}\n{how}", flush=True)
    if not IS_TINY:
        _write(name, f"{about}\n\n{text.strip()}\n\n{how}")


def _write(name: str | None = None, text: str = "") -> None:
    with RESULTS.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several may run at once
        _write_alone(name, text)


def _write_alone(name: str | None, text: str) -> None:
    results = Results.read(RESULTS, EXPERIMENTS)
    if name is not None:
        results.sections[name] = text.strip()
    head = HEAD.format(
        goals=goals.goals_table(results),
        missed=missed.missed_goals(results),
        webs=over_webs.over_webs_table(results),
        runs=runs.runs_table(results, QUICK + SLOW),
    )
    try:
        growth.write_plot(results)
    except KeyError as missing:
        print(f"no plot of growth yet: {missing}", flush=True)
    known = [known for known in QUICK + SLOW if known in results.sections]
    RESULTS.write_text(head + "".join(f"\n## {known}\n\n{results.sections[known]}\n" for known in known))


if __name__ == "__main__":
    main()
