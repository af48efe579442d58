"""Goals and whether they are met: a table made of the figures in the sections of RESULTS.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.measure import table
from benchmarks.results_file import Results

_LIVE = "36 documentation hosts"


@dataclass(frozen=True)
class Goal:
    """A figure, and its lower or upper limit."""

    of: str
    benchmark: str
    figure: Callable[[Results], float]
    at_most: float | None = None
    at_least: float | None = None
    digits: int = 2

    def row(self, results: Results) -> list[str]:
        limit = f"at most {self._text(self.at_most)}" if self.at_most is not None else ""
        limit = limit or f"at least {self._text(self.at_least)}"
        try:
            found = self.figure(results)
        except KeyError:
            return [self.of, limit, "not measured", "", f"`{self.benchmark}`"]
        met = found <= self.at_most if self.at_most is not None else found >= (self.at_least or 0.0)
        return [self.of, limit, self._text(found), "met" if met else "**missed**", f"`{self.benchmark}`"]

    def _text(self, figure: float | None) -> str:
        return "" if figure is None else f"{figure:,.{self.digits}f}"


def _cell(section: str, row: str, column: str, below: str = "") -> Callable[[Results], float]:
    return lambda results: results.number(section, row, column, below)


def _ratio(above: Callable[[Results], float], below: Callable[[Results], float]) -> Callable[[Results], float]:
    return lambda results: above(results) / below(results)


def _lead(kind: str) -> Callable[[Results], float]:
    """Our lead over the best of the others: the least over sites and columns."""
    others, sites = ("FTS5", "tantivy", "bm25s"), ("documentation", "schools", "long manuals")

    def least(results: Results) -> float:
        def figure(contender: str, site: str, column: str) -> float:
            return results.number("search_quality", f"{contender}, {site}", f"{kind}: {column}")

        return min(
            figure("orienteer", site, column) - max(figure(other, site, column) for other in others)
            for site in sites
            for column in ("success@1", "@10")
        )

    return least


GOALS = [
    Goal("`orienteer --help`, CPU s", "startup", _cell("startup", "orienteer --help", "CPU s"), at_most=0.5),
    Goal("`orienteer search`, CPU s", "startup", _cell("startup", "orienteer search", "CPU s"), at_most=0.4),
    Goal("a crawl's first request, nothing compiled before, s", "startup",
         _cell("startup", "cold", "first request, s"), at_most=3, digits=1),
    Goal("PageRank to a true error of 1e-6, of SciPy's time", "pagerank",
         _cell("pagerank", "scipy", "orienteer's time is ... of it"), at_most=0.8),
    Goal("strong components, of SciPy's time", "components",
         _cell("components", "scipy", "orienteer's time is ... of it"), at_most=0.6),
    Goal("WebGraph BV decoded, million links per CPU-s", "bv_decode",
         _cell("bv_decode", "default codes", "million links per CPU-second"), at_least=10, digits=1),
    Goal("main text, F1 of words on pages of other hosts", "reading",
         _cell("reading", "orienteer, main text, cross-validated", "F1"), at_least=0.87, digits=3),
    Goal("main text, reading included, CPU ms a page", "reading",
         _cell("reading", "orienteer, main text, as shipped", "CPU ms per page"), at_most=5, digits=1),
    Goal("main text of documentation with boilerplate learned, % found", "reading",
         _cell("reading", "documentation, boilerplate learned", "of the main text, inside"), at_least=97, digits=1),
    Goal("boilerplate of these pages, % included", "reading",
         _cell("reading", "documentation, boilerplate learned", "of the rest, inside"), at_most=3, digits=1),
    Goal("Fractional PageRank, 10M pages, million pages per CPU-s", "crawl_speed",
         _cell("crawl_speed", "fractional, all pages", "M pages per CPU-s"), at_least=0.9),
    Goal("the same with a lazy binary heap takes ... times as long", "crawl_speed",
         _cell("crawl_speed", "fractional, all pages, lazy binary heap", "x fractional"), at_least=3),
    Goal("FPR@100, of FPR's time", "crawl_speed",
         _cell("crawl_speed", "fractional with M = 100, all pages", "x fractional"), at_most=1.3),
    Goal("RankMass until 0.99, 10M pages, CPU s", "crawl_speed",
         _cell("crawl_speed", "rankmass until 0.99", "CPU s"), at_most=3, digits=1),
    Goal("Windowed-RankMass 5 % until 0.99, 10M pages, CPU s", "crawl_speed",
         _cell("crawl_speed", "windowed-rankmass 5 % until 0.99", "CPU s"), at_most=4, digits=1),
    Goal("Fractional PageRank, 80M of 100M pages, wall s", "crawl_scale",
         _cell("crawl_scale", "80 of 100 M", "wall s"), at_most=200, digits=0),
    Goal("its peak memory, GiB", "crawl_scale", _cell("crawl_scale", "80 of 100 M", "peak GiB"), at_most=12, digits=1),
    Goal("98 % of cnr-2000 proved: share of fetches that `certified` saves RankMass", "orders",
         lambda results: 1 - results.number("orders", "certified", "certificate", "cnr-2000-nat")
         / results.number("orders", "rankmass", "own guarantee", "cnr-2000-nat"), at_least=0.17),
    Goal("work of the certificate there, passes over the links fetched", "orders",
         _cell("orders", "certified", "work, passes", "cnr-2000-nat"), at_most=60, digits=0),
    Goal("98 % of cnr-2000 measured at 99.9 %: fetches", "survey",
         _cell("survey", "cnr-2000-nat 0.98", "survey"), at_most=18_500, digits=0),
    Goal("90 % of it: fetches", "survey", _cell("survey", "cnr-2000-nat 0.90", "survey"), at_most=3_100, digits=0),
    Goal("98 % of real graphs measured: fetches, of those until it is true", "survey",
         _cell("survey", "certified", "survey / true"), at_most=1.15),
    Goal("98 % of 10M generated pages measured: probes", "survey",
         _cell("survey", "generated, 10 million 0.98", "probes"), at_most=3_500, digits=0),
    Goal("CPU of the survey on top of the same crawl, 1M pages, %", "survey",
         _cell("survey", "on top, %", "of it"), at_most=20, digits=0),
    Goal("exact greedy seeds (k=10, h=5) on cnr-2000, CPU s", "seeds",
         _cell("seeds", "greedy", "CPU s", "cnr-2000-nat"), at_most=15, digits=1),
    Goal("sketched seeds, of what exact ones cover (200,000 pages)", "seeds",
         _cell("seeds", "200,000", "of exact", "generated web, pages"), at_least=0.97, digits=3),
    Goal("a round of estimating the global rank: ns a link at 1M pages, of those at 10,000", "global_rank_scale",
         _ratio(_cell("global_rank_scale", "1,000,000, paper", "ns a link"),
                _cell("global_rank_scale", "10,000, paper", "ns a link")), at_most=2, digits=1),
    Goal("frontier return: L1 of the paper's, 55 held-out domains", "global_rank",
         _cell("global_rank", "held out, 2n", "ratio"), at_most=0.65),
    Goal("scent: area over Navigational Rank, mean of 28 tasks", "experiments/navigational",
         _cell("experiments/navigational", "scent, the truth, all", "mean"), at_least=0.05, digits=3),
    Goal("scent: the same, least", "experiments/navigational",
         _cell("experiments/navigational", "scent, the truth, all", "least"), at_least=-0.01, digits=3),
    Goal("Navigational Rank on 1M pages: CPU beyond breadth-first, % of a live page", "focused",
         _cell("focused", "navigational", "beyond breadth-first, of a live page's 1.66 ms"), at_most=20, digits=0),
    Goal("live crawl, pages per CPU-s", "live_crawl",
         _cell("live_crawl", "Orienteer, the same work", "pages per CPU-s", _LIVE), at_least=600, digits=0),
    Goal("live crawl, times Scrapy with its LinkExtractor", "live_crawl",
         _cell("live_crawl", "Scrapy, on disk, LinkExtractor", "Orienteer is ... times as fast", _LIVE),
         at_least=4, digits=1),
    Goal("live crawl, times Scrapy stripped to what is needed", "live_crawl",
         _cell("live_crawl", "Scrapy, on disk", "Orienteer is ... times as fast", _LIVE), at_least=4, digits=1),
    Goal("URL observations per CPU-s into interner and store, 5M URLs", "store",
         _cell("store", "both", "observations per CPU-s"), at_least=300_000, digits=0),
    Goal("memory of a crawl (fractional) of 5M URLs, bytes a known URL", "coordinator_scale",
         _cell("coordinator_scale", "fractional, 4,999,981", "bytes a URL"), at_most=64, digits=1),
    Goal("memory of a crawl (certified) of 5M URLs, bytes a known URL", "coordinator_scale",
         _cell("coordinator_scale", "certified, 4,999,981", "bytes a URL"), at_most=76, digits=1),
    Goal("the coordinator alone, all by default, CPU ms a page", "coordinator",
         _cell("coordinator", "36 documentation hosts, real pages, all by default", "CPU ms a page"), at_most=0.45),
    Goal("the coordinator alone, links only, CPU ms a page", "coordinator",
         _cell("coordinator", "36 documentation hosts, real pages, links only", "CPU ms a page"), at_most=0.35),
    Goal("the coordinator's cap, all by default, pages/s", "coordinator",
         _cell("coordinator", "36 documentation hosts, real pages, all by default", "the cap: pages/s"), at_least=2_200,
         digits=0),
    Goal("two worker processes on two cores, times one process, once they have started", "workers",
         _cell("workers", "all by default, 2 processes", "second half, x one process"), at_least=1.6),
    Goal("the same of the whole crawl, which takes seconds", "workers",
         _cell("workers", "all by default, 2 processes", "x one process"), at_least=1.6),
    Goal("links only by two processes, times the quickest Scrapy in one", "workers",
         _cell("workers", "links only, 2 processes", "second half, x Scrapy"), at_least=4, digits=1),
    Goal("64 requests at once: % more fetches until 98 % is proved", "in_flight",
         _cell("in_flight", "36 documentation hosts", "64, % more"), at_most=1.5, digits=1),
    Goal("a host slot with 100,000 hosts, of that with 1,000", "frontier",
         _ratio(_cell("frontier", "100,000", "us per take + release + put of 10"),
                _cell("frontier", "1,000", "us per take + release + put of 10")), at_most=2),
    Goal("killed crawls: pages lost, changed, requested again, double or differing", "faults",
         lambda results: results.total("faults", "lost", "changed", "requested again", "double", "differing"),
         at_most=0, digits=0),
    Goal("a page rendered in a browser, of Playwright's CPU time", "rendering",
         _cell("rendering", "Orienteer, a context a page", "of Playwright's"), at_most=0.7),
    Goal("PDF manuals, CPU ms a page", "documents", _cell("documents", "manuals", "CPU ms a page"), at_most=5),
    Goal("sentences of PDF manuals: the right page is named", "documents",
         _cell("documents", "found", "page right"), at_least=0.98),
    Goal("400 damaged PDFs: most CPU time of one, s", "documents",
         _cell("documents", "damaged PDF", "longest, CPU s"), at_most=12, digits=1),
    Goal("400 damaged PDFs: most memory, MiB", "documents", _cell("documents", "damaged PDF", "peak MiB"),
         at_most=1_100, digits=0),
    Goal("search on 31,000 pages, p50, CPU ms", "search", _cell("search", "all", "CPU ms p50"), at_most=2),
    Goal("search on 31,000 pages, p95, CPU ms", "search", _cell("search", "all", "p95"), at_most=10),
    Goal("known item by title, success@1: the blend, of text alone", "search",
         _ratio(_cell("search", "blend, as it comes", "title: success@1"), _cell("search", "text", "title: success@1")),
         at_least=1, digits=3),
    Goal("known item by title, three sites: success@1 and @10 less the best of FTS5, tantivy and bm25s, the worst",
         "search_quality", _lead("title"), at_least=0, digits=3),
    Goal("known item by a pasted sentence, the same", "search_quality", _lead("sentence"), at_least=0, digits=3),
    Goal("200 people search while a crawl runs: p95, wall ms", "searchers",
         _cell("searchers", "200 people", "p95"), at_most=100, digits=0),
    Goal("a pasted sentence in 17 languages, success@1", "search_languages",
         _cell("search_languages", "all", "sentence: orienteer"), at_least=0.97, digits=3),
]  # fmt: skip


def goals_table(results: Results) -> str:
    return table(["goal", "limit", "measured", "", "by"], [goal.row(results) for goal in GOALS])
