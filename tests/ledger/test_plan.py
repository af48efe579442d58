"""The settings of a crawl: written, read, resumed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orienteer.crawl.politeness import Politeness, RetrySettings
from orienteer.errors import InputError
from orienteer.fetch.settings import FetchSettings
from orienteer.ledger.plan import OLD_KEYS, CrawlPlan, tables_of
from orienteer.ledger.settings import CrawlSettings, ScopeSettings, canonical_seeds
from tests.tables import over_rows

SEEDS = ("http://a.test/", "https://b.test:8443/x?y=%C3%A9")
PLAN = CrawlPlan(CrawlSettings(SEEDS))
UNUSUAL = CrawlPlan(
    CrawlSettings(
        SEEDS, trust=(0.1, 3e-7), policy="fractional:inter_host_weight=20", damping=0.5, until=0.975, budget=7,
        stop_when="proved,certificate", workers=3, robots=False, sitemaps=False, duplicates="merge",
        near_duplicates="off", commit_every_s=0.25, log=False,
    ),
    ScopeSettings("site", allow=(r"/\d+\.html$", 'with "quotes" and \\\\'), deny=("é",), max_depth=0),
    Politeness(delay_s=0.5, connections=4),
    FetchSettings(user_agent="Me/1.0 (+http://me.test)", timeout_s=3.5, proxy="http://h:80", content_types=("*/*",)),
    RetrySettings(max_attempts=1, back_off_s=0.0, give_up_after=2),
)  # fmt: skip


@pytest.mark.parametrize("plan", [PLAN, UNUSUAL])
def test_what_is_written_is_read(plan: CrawlPlan) -> None:
    text = plan.to_toml()
    assert CrawlPlan.parse(text, "crawl.toml") == plan
    assert CrawlPlan.parse(text, "crawl.toml").to_toml() == text
    tables = {"crawl", "scope", "politeness", "fetch", "retry", "refresh", "render", "store"}
    assert set(tables_of(text, "crawl.toml")) == tables


def test_it_is_written_for_people() -> None:
    lines = PLAN.to_toml().splitlines()
    assert lines[:5] == ["[crawl]", "seeds = [", *(f'    "{seed}",' for seed in SEEDS), "]"]


def test_only_the_seeds_must_be_said() -> None:
    assert CrawlPlan.parse('[crawl]\nseeds = ["http://a.test/", "https://b.test:8443/x?y=%C3%A9"]', "x") == PLAN
    with pytest.raises(InputError, match=r"^x \[crawl\]: seeds is missing$"):
        CrawlPlan.parse("[scope]\n", "x")


def test_keys_of_earlier_versions_are_read() -> None:
    former = (
        "[crawl]\nseeds = ['http://a.test/']\nrequisites = true\n[fetch]\nmax_part_bytes = 5\n[render]\nmax_parts = 7"
    )
    plan = CrawlPlan.parse(former, "x")
    assert (plan.crawl.assets, plan.fetch.max_asset_bytes, plan.render.max_requests) == (True, 5, 7)
    assert "requisites" not in plan.to_toml()
    assert CrawlPlan.parse(plan.to_toml(), "x") == plan
    written = tables_of(plan.to_toml(), "x")
    assert [new for name, keys in OLD_KEYS.items() for new in keys.values() if new not in written[name]] == []


@over_rows(
    ("former", "stop_when"),
    [
        ("proof = false\nconfidence = 0.999\nby_certificate = false\nof_reachable = false", "measured:0.999"),
        ("confidence = 0.95", "measured:0.95"),
        ("proof = true\nconfidence = 0.95", "proved"),
        ("of_reachable = true", "measured:0.999,reachable"),
        ("by_certificate = true\nproof = true\nof_reachable = true", "proved,certificate,reachable"),
        ("proof = true\nstop_when = 'measured:0.9'", "measured:0.9"),
    ],
)
def test_the_four_former_keys_of_stop_when_are_read(former: str, stop_when: str) -> None:
    plan = CrawlPlan.parse(f"[crawl]\nseeds = ['http://a.test/']\n{former}", "x")
    assert plan.crawl.stop_when == stop_when
    with pytest.raises(InputError, match="no setting"):  # what is new has the new key
        CrawlPlan.of_tables({"crawl": {"seeds": SEEDS, "proof": True}}, "x")


@over_rows(
    ("stop_when", "confidence", "by_certificate", "of_reachable"),
    [
        ("measured:0.999", 0.999, False, False),
        ("measured", 0.999, False, False),
        ("measured:0.5, certificate", 0.5, True, False),
        ("proved", None, False, False),
        ("proved,reachable,certificate", None, True, True),
    ],
)
def test_when_a_coverage_is_reached(
    stop_when: str, confidence: float | None, by_certificate: bool, of_reachable: bool
) -> None:
    goal = CrawlSettings(SEEDS, until=0.9, stop_when=stop_when).goal()
    assert (goal.confidence, goal.by_certificate, goal.of_reachable) == (confidence, by_certificate, of_reachable)


@over_rows(
    ("text", "said"),
    [
        ("[crawl]\nseeds = ['http://a.test/']\nbudgt = 3", r"no setting in x \[crawl\] named 'budgt'; .* 'budget'\?"),
        ("[crawls]\n", r"no table in x named 'crawls'; did you mean 'crawl'\?"),
        ("[crawl.more]\nseeds = 1", r"no setting in x \[crawl\] named 'more'"),
        ("seeds = ['http://a.test/']", "x: seeds is outside a table; settings belong under a heading such as"),
        ("[crawl]\nseeds = 'http://a.test/'", r"x \[crawl\]: seeds is 'http://a.test/'; it must be a list of texts"),
        ("[crawl]\nseeds = ['http://a.test/']\nlog = 1", r"x \[crawl\]: log is 1; it must be true or false"),
        ("[crawl]\nseeds = ['http://a.test/']\nbudget = 1.5", r"budget is 1.5; it must be a whole number"),
        ("[crawl]\nseeds = = 3", "^x: .*line 2"),
        ("[crawl]\nseeds = ['http://a.test/']\n[scope]\nkind = 'hots'", "no choice for kind named 'hots'; did you"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_that_names_it(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        CrawlPlan.parse(text, "x")
    assert "\n" not in str(caught.value)


@over_rows(
    ("changed", "said"),
    [
        ({"seeds": ()}, "seeds is empty"),
        ({"seeds": ("nonsense://",)}, "'nonsense://': only http and https can be crawled"),
        ({"policy": "optimal"}, "policy optimal must know the whole web beforehand"),
        ({"policy": "certifed"}, "did you mean 'certified'"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"until": 0.0}, "until is 0.0"),
        ({"budget": 0}, "budget is 0"),
        ({"stop_when": "certain"}, "stop_when is 'certain'; it begins with measured"),
        ({"stop_when": ""}, "stop_when is ''; it begins with measured"),
        ({"stop_when": "proved:0.9"}, "it begins with measured, measured:0.999 or proved"),
        ({"stop_when": "measured:high"}, "the confidence is a number such as 0.999"),
        ({"stop_when": "measured:1"}, "confidence is 1.0; it must be at least 0.5 and below 1"),
        ({"stop_when": "proved,reachible"}, "no part of stop_when named 'reachible'; did you mean 'reachable'"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": 10_001}, "workers is 10001"),
        ({"commit_every_s": 0.0}, "commit_every_s is 0.0"),
        ({"commit_every_s": float("nan")}, "commit_every_s is nan"),
        ({"duplicates": "keep"}, "no choice for duplicates named 'keep'"),
        ({"near_duplicates": "reports"}, "did you mean 'report'"),
        ({"trust": (1.0,)}, "trust has 1 numbers for 2 seeds; it must be one for each, or none"),
        ({"trust": (1.0, 1.0, 1.0)}, "trust has 3 numbers for 2 seeds"),
        ({"trust": (0.0, 1.0)}, "trust of http://a.test/ is 0.0; it must be above 0, and finite"),
        ({"trust": (1.0, -2.0)}, r"trust of https://b.test:8443/\S+ is -2.0"),
        ({"trust": (1.0, float("nan"))}, "is nan; it must be above 0"),
        ({"trust": (float("inf"), 1.0)}, "is inf; it must be above 0"),
        ({"trust": (1e308, 1e308)}, "too large, or too far apart"),
        ({"trust": (5e-324, 1e300)}, "too large, or too far apart"),
    ],
)
def test_nonsense_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        CrawlSettings(**{"seeds": SEEDS, **changed})


def test_seeds_are_canonical_wherever_they_come_from() -> None:
    written = CrawlPlan.parse('[crawl]\nseeds = ["HTTP://A.test:80", "a.test/x/../y", "http://a.test/#top"]', "x")
    assert written.crawl.seeds == ("http://a.test/", "https://a.test/y")
    assert canonical_seeds([]) == ()


def test_seeds_are_trusted_alike_unless_they_are_not() -> None:
    assert PLAN.crawl.seed_trust().tolist() == [0.5, 0.5]
    assert CrawlSettings(SEEDS, trust=(3, 1)).seed_trust().tolist() == [0.75, 0.25]
    assert CrawlSettings(SEEDS, trust=(3, 1)).trust == (3.0, 1.0), "as it was written"
    three = CrawlSettings((*SEEDS, "http://c.test/"))
    assert three.seed_trust().tolist() == [1 / 3] * 3


def test_trust_stays_with_its_seed_where_two_are_one_page() -> None:
    text = '[crawl]\nseeds = ["a.test/b", "HTTP://A.test", "a.test/b#top"]\ntrust = [1, 2, 5.5]'
    settings = CrawlPlan.parse(text, "x").crawl
    assert settings.seeds == ("https://a.test/b", "http://a.test/")
    assert settings.trust == (6.5, 2.0)


# -- resuming ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"seeds": SEEDS[:1]},
            "begun with seeds http://a.test/, https://b.test:8443/x.*, not http://a.test/; choose",
        ),
        ({"trust": (1.0, 2.0)}, "begun with trust none, not 1.0, 2.0; choose another -o"),
        ({"policy": "opic"}, "begun with policy certified, not opic"),
        ({"damping": 0.5}, "begun with damping 0.85, not 0.5"),
    ],
)
def test_what_a_crawl_is_stays(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        PLAN.continued(replace(PLAN, crawl=replace(PLAN.crawl, **changed)))


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (ScopeSettings("web"), "begun with scope.kind host, not web"),
        (ScopeSettings(allow=("x",)), "begun with scope.allow none, not x"),
        (ScopeSettings(max_depth=3), "begun with scope.max_depth None, not 3"),
    ],
)
def test_its_scope_stays(scope: ScopeSettings, said: str) -> None:
    with pytest.raises(InputError, match=said):
        PLAN.continued(replace(PLAN, scope=scope))


def test_the_rest_may_change() -> None:
    new = CrawlPlan(
        replace(UNUSUAL.crawl, trust=(), policy=PLAN.crawl.policy, damping=PLAN.crawl.damping),
        PLAN.scope, UNUSUAL.politeness, UNUSUAL.fetch, UNUSUAL.retry,
    )  # fmt: skip
    assert PLAN.continued(new) == new
    assert new.goal().until == 0.975
    assert (new.goal().budget, new.goal().by_certificate) == (7, True)
