"""The selection of pages to render, by the gain of earlier ones."""

from __future__ import annotations

import random

import pytest

from orienteer.browser.job import RenderSettings
from orienteer.errors import InputError
from orienteer.live.rendering import RenderChoice, is_gain, template_of
from orienteer.pages.render_reason import RenderReason
from tests.tables import over_rows

NOTHING, MUCH = (100, 100, 10, 10), (5, 400, 0, 12)


def item(k: int) -> str:
    return f"https://a.test/item/{k}"


def choice(n_fetched: int = 0, **settings) -> RenderChoice:
    return RenderChoice(RenderSettings(**settings), lambda: n_fetched)


@over_rows(
    ("mode", "url", "reason"),
    [
        ("never", item(1), RenderReason.NONE),
        ("always", item(1), RenderReason.REQUESTED),
        ("https://a.test/*", item(1), RenderReason.REQUESTED),
        ("https://b.test/*", item(1), RenderReason.NONE),
        ("auto", item(1), RenderReason.SAMPLE),
        ("auto", "https://a.test/#/item/1", RenderReason.ROUTE),
        ("never", "https://a.test/#/item/1", RenderReason.NONE),
    ],
)
def test_the_mode_decides(mode: str, url: str, reason: RenderReason) -> None:
    assert choice(mode=mode).reason(url) == reason


def test_samples_are_one_page_of_a_template_and_two_of_a_host() -> None:
    chosen = choice()
    assert [chosen.reason(item(k)) for k in range(3)] == ["sample", "suspect", "suspect"]
    assert [chosen.reason(f"https://a.test/{name}") for name in ("about", "news")] == ["sample", "suspect"]
    assert chosen.reason("https://b.test/about") == "sample"


def test_a_sample_that_was_not_rendered_is_replaced() -> None:
    chosen = choice()
    for k in range(10):
        assert chosen.reason(item(k)) == RenderReason.SAMPLE
        chosen.page_received(item(k))  # it had no scripts


def test_a_crawl_in_which_nothing_gains_takes_few_samples() -> None:
    """Three at first, and one more for 2,000 pages; after the first one only of pages with little text."""
    n_fetched, chosen = 0, RenderChoice(RenderSettings(), lambda: n_fetched)
    reasons = []
    for n_fetched in range(6_000):
        url = f"https://host-{n_fetched // 20}.test/{n_fetched}"
        reasons.append(chosen.reason(url))
        if reasons[-1] in (RenderReason.SAMPLE, RenderReason.SPARSE):
            chosen.learn(url, *NOTHING)
        chosen.page_received(url)
    assert (reasons.count("sample"), reasons.count("sparse")) == (1, 5)
    assert chosen.reason("https://b.test/about") == RenderReason.SUSPECT


def test_a_gain_pays_for_another_sample() -> None:
    chosen = choice()
    for k in range(3):
        chosen.learn(f"https://host-{k}.test/", *NOTHING)
    assert chosen.reason("https://b.test/") == RenderReason.SUSPECT
    chosen.learn(item(1), *MUCH)
    assert chosen.reason("https://b.test/") == RenderReason.SPARSE
    assert chosen.reason("https://c.test/") == RenderReason.SUSPECT


def test_only_some_pages_of_a_host_are_searched_for_one_with_little_text() -> None:
    chosen = choice(n_fetched=10_000)
    chosen.learn("https://b.test/", *NOTHING)
    reasons = []
    for k in range(30):
        reasons.append(chosen.reason(item(k)))
        chosen.page_received(item(k))  # it had enough
    assert reasons == ["sparse"] * 20 + ["suspect"] * 10


def test_pages_of_a_template_that_gained_are_rendered() -> None:
    chosen = choice()
    chosen.learn(item(1), *MUCH)
    assert chosen.reason(item(2)) == RenderReason.LEARNED
    chosen.learn(item(2), *NOTHING)
    assert chosen.reason(item(3)) == RenderReason.LEARNED
    chosen.learn(item(3), *NOTHING)
    assert chosen.reason(item(4)) == RenderReason.SUSPECT
    assert chosen.reason("https://a.test/about") == RenderReason.SAMPLE  # one page of the host has gained


def test_the_order_does_not_matter() -> None:
    pages = [(item(k), MUCH if k % 3 else NOTHING) for k in range(9)] + [("https://a.test/about", NOTHING)]
    seed = random.randrange(1 << 30)
    print("seed", seed)
    found = []
    for slot in range(5):
        random.Random(seed + slot).shuffle(pages)
        chosen = choice()
        for url, numbers in pages:
            chosen.learn(url, *numbers)
        found.append([chosen.reason(url) for url in (item(99), "https://a.test/news", "https://a.test/about")])
    assert found == [found[0]] * 5


def test_the_share_is_limited_except_for_suspect_pages() -> None:
    chosen = choice(n_fetched=200, max_share=0.5)
    for k in range(99):
        chosen.learn(item(k), *MUCH)
    assert chosen.reason(item(100)) == RenderReason.LEARNED
    chosen.learn(item(100), *MUCH)
    assert chosen.reason(item(101)) == RenderReason.SUSPECT


def test_the_number_of_pages_is_limited() -> None:
    chosen = choice(mode="always", max_pages=1)
    assert chosen.reason(item(1)) == RenderReason.REQUESTED
    chosen.learn(item(1), *NOTHING)
    assert chosen.reason(item(2)) == RenderReason.NONE


@over_rows(
    ("numbers", "gained"),
    [(NOTHING, False), (MUCH, True), ((100, 110, 10, 11), False), ((100, 130, 10, 10), True), ((0, 0, 0, 3), True),
     ((1000, 1100, 100, 110), False)],
)  # fmt: skip
def test_gains(numbers: tuple[int, int, int, int], gained: bool) -> None:
    assert is_gain(*numbers) is gained


def test_templates_of_urls() -> None:
    kinds = {template_of(f"https://a.test/b/{k}/some-name-{k}?p={k}&a=x#/r") for k in range(20)}
    assert kinds == {"a.test/b/9/9?a&p"}
    assert template_of("https://a.test/") == "a.test/"
    assert template_of("https://a.test/about") != template_of("https://a.test/news")


@over_rows(
    "wrong",
    [{"mode": "sometimes"}, {"scrolls": -1}, {"max_share": 2.0}, {"time_s": 0.0}, {"max_requests": -1}],
)
def test_wrong_settings_are_one_line(wrong: dict) -> None:
    with pytest.raises(InputError, match=next(iter(wrong)).split("_")[0]):
        RenderSettings(**wrong)
