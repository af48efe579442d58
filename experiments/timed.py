"""What it costs to order pages, as a crawl grows: CPU time against the pages fetched."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.synthetic import synthetic_web
from orienteer.graph.trust import trust_vector
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from orienteer.policies.policy_spec import PolicySpec
from orienteer.progress import Progress, silent

_NEVER = 2.0  # a coverage that no crawl can prove
_MINUTE_S = 60.0


@dataclass(frozen=True)
class TimedRun:
    """After `pages[k]` fetches, of `limit`, the ordering had taken `cpu_s[k]`. `order` is what was fetched.

    `n_batches` is how many times a policy that works in batches began a new one: levels, or sweeps.
    """

    policy: str
    pages: NDArray[np.int64]
    cpu_s: NDArray[np.float64]
    order: NDArray[np.uint32]
    n_batches: int
    limit: int

    @property
    def is_complete(self) -> bool:
        """Whether it came to its limit; otherwise its time was up."""
        return bool(self.pages[-1] >= self.limit)

    @property
    def whole_s(self) -> float:
        """The time until the limit, extrapolated if it did not come there."""
        return self.cpu_s_at(self.limit)

    def cpu_s_at(self, n_pages: int) -> float:
        """The time until so many pages, between the points that were measured.

        Beyond the last one it goes on as it went in the last half of the run, as a power of the pages.
        """
        if n_pages <= self.pages[-1]:
            return float(np.interp(n_pages, self.pages, self.cpu_s))
        return float(self.cpu_s[-1] * (n_pages / self.pages[-1]) ** max(self.growth(0.5), 1.0))

    def growth(self, since: float = 0.125) -> float:
        """The power of the pages that the time grew with, from this share of the run to its end: 1 is linear."""
        last = self.pages[-1]
        ratio = self.cpu_s[-1] / self.cpu_s_at(int(since * last))
        return float(np.log(ratio) / np.log(1 / since))


def timed_run(
    graph: LinkGraph,
    policy: str,
    trusted: NDArray[np.integer],
    limit: int,
    budget_s: float = np.inf,
    n_points: int = 40,
    progress: Progress = silent,
) -> TimedRun:
    """Fetch `limit` pages in the order of `policy` (as in `orienteer compare`), or as many as the CPU time allows."""
    spec = PolicySpec.parse(policy)
    _compile(spec, with_hosts=graph.hosts is not None)
    started = time.process_time()
    run = make_policy(spec.name, **spec.settings).run(graph, TrustedPages.of(trust_vector(graph.n_pages, trusted)))
    pages, cpu_s = [0], [0.0]
    for goal in np.linspace(limit / n_points, limit, n_points).astype(np.int64).tolist():
        run.advance(goal, _NEVER)
        pages.append(run.n_fetched)
        cpu_s.append(time.process_time() - started)
        progress(policy, run.n_fetched, limit)
        if run.is_empty or cpu_s[-1] > budget_s:
            break
    proved = np.empty(0) if run.guarantees is None else run.guarantees[: run.n_fetched]
    n_batches = int(np.count_nonzero(np.diff(proved, prepend=0.0)))
    if run.is_empty:  # there were no more pages to fetch
        limit = run.n_fetched
    return TimedRun(policy, np.array(pages), np.array(cpu_s), run.order[: run.n_fetched], n_batches, limit)


def _compile(spec: PolicySpec, with_hosts: bool) -> None:
    """Have the kernels loaded, so that what is measured next does not pay for them."""
    web = synthetic_web(2000)
    small = web if with_hosts else LinkGraph(web.offsets, web.targets)
    make_policy(spec.name, **spec.settings).run(small, TrustedPages.of(trust_vector(2000, [0]))).advance(500, _NEVER)


def clock(cpu_s: float) -> str:
    """`2:05 h`, `3:20 min` or `1.25 s`."""
    for unit_s, name in ((_MINUTE_S * 60, "h"), (_MINUTE_S, "min")):
        if cpu_s >= unit_s:
            whole, rest = divmod(round(cpu_s / (unit_s / 60)), 60)
            return f"{whole}:{rest:02d} {name}"
    return f"{cpu_s:.2f} s" if cpu_s < 10 else f"{cpu_s:.1f} s"
