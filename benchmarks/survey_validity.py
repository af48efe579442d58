"""How often what is measured is wrong: surveys of random webs and of real ones, at confidences low enough to see it.

A survey is *wrong* if it is wrong at any moment. *Fixed* sets are checked after each round of walks. *Crawls* stop by
themselves; wrong is one that stopped by its survey below its target. The *adversary* knows the truth: he fetches what
leads quickly to nine tenths of the target, then as little as possible, and never a page that would reach it; every
claim that he gets is wrong. Walks that need such a page wait for ever, so in small webs, where a few pages make up the
difference, he gets few walks and is weak. *Just below*: a crawl by `certified` is stopped .003 or .01 below its target
of .95; from then on the pages of the lowest rank are fetched, and those that walks need, until these reach the target;
every claim before is wrong.

Random webs have 30 to 90 pages, a third of them with blocked pages, redirects and links that are not known; there, a
lower bound is compared with the least that the coverage can be, and an upper one with the most. Trusted in real graphs
are the 160 pages of the highest PageRank.

The interval is that of Clopper and Pearson, at 95 %. At most a share of 1 - confidence may be wrong, half of it on each
side of a fixed set.
"""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy.stats import beta

from benchmarks.measure import machine, table
from benchmarks.sizes import DATA, sized
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.simulate import simulate
from orienteer.graph.coverage import Coverage
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.crawl_survey import CrawlSurvey, SurveyStart, survey_seed
from orienteer.graph.survey.survey import FixedSurvey
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from tests.graph.survey.reference import OddWeb, odd_web, plain_web

REAL = DATA / "graphs"
SMALL = ("epa-kleinberg", "tsaparas-cars", "tsaparas-movies", "polblogs-2004", "webkb-dev", "hollins-2004")
LARGER = ("wb-cs-stanford-2001", "docs-web-dev", "hollins-2004", "schools-wikipedia-articles")
CONFIDENCES = (0.95, 0.99)
LOW_CONFIDENCE = 0.8
WEBS, REAL_SURVEYS, JUST_BELOW_SURVEYS = sized((3400, 170, 100), (3, 1, 1))  # of each kind and confidence
_CHUNK = sized(50, 3)

Tally = Counter[tuple[str, float, str]]  # kind, confidence; "n", "below" or "above"


def run() -> str:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return written(tally(pool))


def tally(pool: ProcessPoolExecutor) -> Tally:
    chunks = [range(first, first + _CHUNK) for first in range(0, WEBS, _CHUNK)]
    found = sum(pool.map(_on_random_webs, chunks), Counter())
    names = [name for name in SMALL if (REAL / f"{name}.npz").exists()]
    found = sum(pool.map(_on_real, names), found)
    return sum(pool.map(just_below, [name for name in LARGER if (REAL / f"{name}.npz").exists()]), found)


def written(found: Tally) -> str:
    rows = []
    for kind, confidence in sorted({(kind, confidence) for kind, confidence, _ in found}):
        n = found[kind, confidence, "n"]
        is_fixed = "fixed" in kind  # only these have an upper bound
        cells = [_share(found[kind, confidence, "below"], n), _share(found[kind, confidence, "above"], n * is_fixed)]
        allowed = (1 - confidence) / (2 if is_fixed else 1)
        rows.append([f"{kind}, {confidence:.0%}", f"{n:,}", *cells, f"{allowed:.2%}"])
    head = ["surveys", "number", "claimed too much", "claimed too little", "allowed a side"]
    return machine("numpy", "numba") + "\n\n" + table(head, rows)


def _share(n_wrong: int, n: int) -> str:
    if n == 0:
        return ""
    low = beta.ppf(0.025, n_wrong, n - n_wrong + 1) if n_wrong else 0.0
    high = beta.ppf(0.975, n_wrong + 1, n - n_wrong) if n_wrong < n else 1.0
    return f"{n_wrong:,}: {n_wrong / n:.2%} ({low:.2%} to {high:.2%})"


def _on_random_webs(numbers: range) -> Tally:
    found: Tally = Counter()
    for number in numbers:
        rng = np.random.default_rng([7, number])
        make = odd_web if number % 3 == 0 else plain_web
        web = make(rng, int(rng.integers(30, 90)), 4.0)
        for confidence in CONFIDENCES:
            _count(found, "random webs, fixed", confidence, _fixed(web, rng, confidence))
            _count(found, "random webs, crawl", confidence, _crawl(web, rng, confidence))
            _count(found, "random webs, adversary", confidence, _adversary(web, rng, confidence))
    return found


def _on_real(name: str) -> Tally:
    found: Tally = Counter()
    graph = LinkGraph.load(REAL / f"{name}.npz")
    trusted = np.argsort(-pagerank(graph), kind="stable")[:160]
    web = OddWeb(graph, np.bincount(trusted, minlength=graph.n_pages) / 160)
    truth = pagerank(graph, trusted, tolerance=1e-12)
    web.coverages = lambda known: (float(truth[known].sum()),) * 2  # type: ignore[method-assign]
    for number in range(REAL_SURVEYS):
        rng = np.random.default_rng([8, number])
        for confidence in CONFIDENCES:
            _count(found, "real graphs, crawl", confidence, _crawl(web, rng, confidence))
            _count(found, "real graphs, adversary", confidence, _adversary(web, rng, confidence))
    return found


def _count(found: Tally, kind: str, confidence: float, wrong: str | None) -> None:
    found[kind, confidence, "n"] += 1
    found[kind, confidence, "below"] += wrong == "claimed too much"
    found[kind, confidence, "above"] += wrong == "claimed too little"


def _fixed(web: OddWeb, rng: np.random.Generator, confidence: float) -> str | None:
    known = ((rng.random(web.n_pages) < rng.uniform(0.2, 0.9)) | (web.trust > 0)) & ~web.blocked
    least, most = web.coverages(known)
    links, coverage = web.links(), web.settled(known)
    found = FixedSurvey(coverage, links, rng.bytes(16).hex(), confidence)
    coverage.set_aliases(web.alias)
    coverage.set_all_unknown(web.n_unknown)
    for _ in range(6):
        needed = found.begin(16, links) if found.has_lives else []
        while needed:
            page = needed[int(rng.integers(len(needed)))]
            needed = found.record_page(page, not web.blocked[page], links)
        measured = found.measured()
        if measured.lower > least + 1e-8:
            return "claimed too much"
        if measured.upper < most - 1e-8:
            return "claimed too little"
    return None


def _crawl(web: OddWeb, rng: np.random.Generator, confidence: float) -> str | None:
    """By any policy, until it stops."""
    policy = ("certified", "fractional", "breadth-first", "random")[int(rng.integers(4))]
    until = float(rng.uniform(0.5, 0.95))
    pages = np.flatnonzero(web.trust)
    goal = Goal(until, confidence=confidence)
    crawl = Crawl(make_policy(policy), TrustedPages(pages.astype(np.uint32), web.trust[pages]), goal)
    crawl.begin_survey(SurveyStart(until, confidence, survey_seed(rng.bytes(16))))
    while (page := crawl.next()) is not None:
        if web.blocked[page]:
            crawl.blocked(page)
        elif web.alias[page]:
            crawl.redirected(page, int(web.graph.links(page)[0]))
        else:
            crawl.fetched(page, web.graph.links(page), n_unknown=int(web.n_unknown[page]))
    assert crawl.survey is not None
    if not crawl.survey.is_reached or crawl.stopped_because not in (StopReason.MEASURED, StopReason.REACHABLE):
        return None
    known = np.zeros(web.n_pages, bool)
    known[np.array(crawl.order, np.int64)] = True
    of_reachable = crawl.survey.start.of_reachable
    truth = web.coverage_of_reachable(known) if of_reachable else web.coverages(known)[0]
    return "claimed too much" if truth < until - 1e-9 else None


def _adversary(web: OddWeb, rng: np.random.Generator, confidence: float) -> str | None:
    """A claim that he gets while the coverage is below the target."""
    reach = _reach(web, rng)
    worth = web.visits() if web.n_pages < 100 else web.trust
    until = float(rng.uniform(0.5, 0.95)) * web.coverages(_mask(web, reach))[0]
    if not 0.1 < until < 1:
        return None
    survey = CrawlSurvey(SurveyStart(until, confidence, survey_seed(rng.bytes(16))), web.trust.copy(), web.damping)
    coverage, links = web.settled(np.zeros(web.n_pages, bool)), web.links()
    is_fetched, is_slow, probes = np.zeros(web.n_pages, bool), False, []
    while (probes or reach) and not survey.is_reached:
        page = probes.pop(0) if probes else reach.pop(0)
        if is_fetched[page]:
            continue
        is_fetched[page] = True
        covered = web.coverages(is_fetched & ~web.blocked)[0]
        if covered >= until:
            is_fetched[page] = False
            continue
        if covered >= 0.9 * until and not is_slow:
            is_slow = True
            reach.sort(key=worth.__getitem__)
        probes += [probe for probe, _ in survey.record_page(page, not web.blocked[page], coverage, links)]
    return "claimed too much" if survey.is_reached else None


def just_below(name: str) -> Tally:
    """Claims that are made while a crawl is held just below its target."""
    found: Tally = Counter()
    graph = LinkGraph.load(REAL / f"{name}.npz")
    trusted = np.argsort(-pagerank(graph), kind="stable")[:160]
    truth = pagerank(graph, trusted, tolerance=1e-12)
    order = simulate(graph, "certified", trusted).order
    for number in range(JUST_BELOW_SURVEYS):
        gap = (0.003, 0.01)[number % 2]
        first = order[: int(np.searchsorted(np.cumsum(truth[order]), 0.95 - gap))]
        for confidence in (LOW_CONFIDENCE, *CONFIDENCES):
            seed = survey_seed(np.random.default_rng([9, number]).bytes(16))
            start = SurveyStart(0.95, confidence, seed, error=1 - confidence)
            trust = np.bincount(trusted, minlength=graph.n_pages) / len(trusted)
            wrong = _claims_below(CrawlSurvey(start, trust, 0.85), graph, truth, first)
            _count(found, "real graphs, just below", confidence, wrong)
    return found


def _claims_below(survey: CrawlSurvey, graph: LinkGraph, truth: np.ndarray, first: np.ndarray) -> str | None:
    lowest = np.argsort(truth, kind="stable")
    lowest = lowest[truth[lowest] > 0]
    waiting = iter(np.append(first, lowest[~np.isin(lowest, first)]).tolist())
    coverage, links = Coverage(np.zeros(graph.n_pages)), LinkRows.of(graph)
    is_fetched, covered, probes = np.zeros(graph.n_pages, bool), 0.0, list[int]()
    while covered < survey.start.until - 1e-9 and survey.n_walks < 3000:
        page = probes.pop(0) if probes else next(waiting, None)
        if page is None:
            return None
        if is_fetched[page]:
            continue
        is_fetched[page] = True
        covered += float(truth[page])
        probes += [probe for probe, _ in survey.record_page(page, True, coverage, links)]
        if survey.is_reached and covered < survey.start.until - 1e-9:
            return "claimed too much"
    return None


def _reach(web: OddWeb, rng: np.random.Generator) -> list[int]:
    """All pages that can be reached, in some order in which links lead to them."""
    found, waiting = [], np.flatnonzero(web.trust).tolist()
    seen = set(waiting)
    while waiting:
        page = waiting.pop(int(rng.integers(len(waiting))))
        found.append(page)
        if not web.blocked[page]:
            new = [target for target in web.graph.links(page).tolist() if target not in seen]
            seen.update(new)
            waiting += new
    return found


def _mask(web: OddWeb, pages: list[int]) -> np.ndarray:
    mask = np.zeros(web.n_pages, bool)
    mask[pages] = True
    return mask & ~web.blocked
