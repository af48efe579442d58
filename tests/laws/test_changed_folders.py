"""Whatever is written into a crawl folder, all but its archive: it is rejected, or what it says is no better than true.

The thorough profile changes two thousand folders.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from orienteer.certificates.checking import check_certificate
from orienteer.certificates.gathering import facts_of_folder
from orienteer.certificates.page import certificate_page
from orienteer.errors import OrienteerError
from orienteer.extract import links as links_module
from orienteer.graph.pagerank import pagerank
from orienteer.graph.synthetic import synthetic_web
from orienteer.inspect.verify import Verification, verify
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.laws.adversarial_site import random_site
from tests.laws.honest import Honest, continue_crawl, use
from tests.laws.mutations import Mutations, change_report
from tests.live.live_crawls import StoredCrawl, crawled, hub, renumbered

N_CHANGES = 2 * settings().max_examples
PER_SITE = 15

pytestmark = pytest.mark.long


def numbers(rng: random.Random) -> np.random.Generator:
    return np.random.default_rng(rng.randrange(1 << 32))


def honest_crawl(rng: random.Random, folder: Path) -> Honest:
    """A site made to deceive and its crawl, half of them refreshed after the site has changed."""
    return Honest.crawled(random_site(numbers(rng)), folder, numbers(rng) if rng.random() < 0.5 else None)


def test_a_changed_folder_is_rejected_or_harmless(fresh_rng: random.Random, tmp_path: Path) -> None:
    came_to: Counter[str] = Counter()
    for number in range(N_CHANGES // PER_SITE):
        honest = honest_crawl(fresh_rng, tmp_path / str(number))
        for k in range(PER_SITE):
            copy = tmp_path / f"{number}-{k}"
            shutil.copytree(honest.folder, copy)
            done = Mutations(fresh_rng).change(copy, fresh_rng.choice([1, 1, 2, 3]))
            try:
                came_to[honest.outcome(copy)] += 1
            except Exception as error:
                error.add_note(f"{copy}: {done}")
                raise
            shutil.rmtree(copy)
    assert came_to["rejected"] > 0.3 * N_CHANGES


def test_a_certificate_of_a_changed_folder(
    fresh_rng: random.Random, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate of the folder as it was holds or not, and one of the changed folder is none or true."""
    honest = honest_crawl(fresh_rng, tmp_path / "c")
    monkeypatch.setattr(links_module, "MAX_LINKS", honest.site.max_links)
    (tmp_path / "then.html").write_text(certificate_page(facts_of_folder(honest.folder)), encoding="utf-8")
    for k in range(PER_SITE):
        copy = tmp_path / f"{k}"
        shutil.copytree(honest.folder, copy)
        done = Mutations(fresh_rng).change(copy)
        outcome = honest.outcome(copy)
        try:
            check_certificate(tmp_path / "then.html", copy)
            facts = facts_of_folder(copy)
        except OrienteerError:
            continue
        assert outcome == "harmless", done
        found = verify(copy)
        assert (facts.checked.lower, facts.checked.upper) == (found.checked.lower, found.checked.upper)


def test_a_changed_report_is_noticed_or_harmless(fresh_rng: random.Random, tmp_path: Path) -> None:
    site = GraphSite(synthetic_web(60, rng=5))
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "c", budget=30)
    true = verify(tmp_path / "c")
    report = (tmp_path / "c" / "report.json").read_text()
    for _ in range(N_CHANGES // 4):
        (tmp_path / "c" / "report.json").write_text(report)
        done = change_report(tmp_path / "c", fresh_rng)
        found = verify(tmp_path / "c")
        assert (found.certificate, found.checked) == (true.certificate, true.checked), done


@pytest.mark.slow
def test_nothing_that_is_done_with_a_changed_folder_fails(fresh_rng: random.Random, tmp_path: Path) -> None:
    for number in range(2):
        honest = honest_crawl(fresh_rng, tmp_path / str(number))
        for k in range(4):
            copy = tmp_path / f"{number}-{k}"
            shutil.copytree(honest.folder, copy)
            done = Mutations(fresh_rng).change(copy, fresh_rng.choice([1, 1, 2, 3]))
            try:
                use(copy, honest.site)
                continue_crawl(copy, honest.site)
            except Exception as error:
                error.add_note(f"{copy}: {done}")
                raise
            shutil.rmtree(copy)


# Surveys


def true_coverage(folder: Path, site: GraphSite, found: Verification) -> float:
    """The share of a surfer's time on the pages that were fetched, on the whole graph."""
    stored = StoredCrawl(folder)
    graph = renumbered(stored, site)
    trust = np.zeros(graph.n_pages)
    trust[0] = 1.0
    rank = pagerank(graph, trust, damping=found.status.plan.crawl.damping, tolerance=1e-12)
    return float(rank[stored.order].sum())


def test_walks_that_were_changed_claim_nothing_that_is_not_so(fresh_rng: random.Random, tmp_path: Path) -> None:
    """The crawl stopped long before its goal: whatever is written into its tables, no claim of it is verified."""
    site = GraphSite(synthetic_web(600, rng=5))
    with FakeWeb(site) as web:
        settings = {"crawl": {"stop_when": "measured", "budget": 60}}
        crawled(web, hub(site), tmp_path / "c", until=0.9, settings=settings)
    found = verify(tmp_path / "c")
    assert found.problems == ()
    truth = true_coverage(tmp_path / "c", site, found)
    assert found.survey is not None
    assert found.checked.lower <= truth < found.survey.until
    for k in range(N_CHANGES // 4):
        copy = tmp_path / str(k)
        shutil.copytree(tmp_path / "c", copy)
        done = Mutations(fresh_rng, tables=("survey", "walks", "page", "unknown")).change(
            copy, fresh_rng.choice([1, 2])
        )
        try:
            found = verify(copy)
        except OrienteerError:
            continue
        if not found.problems and found.status.plan.crawl.damping == 0.85:
            assert found.checked.lower <= truth + 1e-7, done
            assert found.survey is None or not found.survey.is_reached or found.survey.until <= truth, done
        shutil.rmtree(copy)
