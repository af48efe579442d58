from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.topics import make_topic
from orienteer.topics.cross_validation import TopicTest, cross_validated, scored
from orienteer.topics.topic import PageContent
from orienteer.url import host_of, site_of
from tests.tables import over_rows
from tests.topics.small_topics import IS_ON_TOPIC, PAGES


def test_figures_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    from sklearn.metrics import average_precision_score, precision_recall_fscore_support

    for _ in range(30):
        n = int(rng.integers(2, 60))
        on = rng.random(n) < 0.3
        on[:2] = True, False
        relevance = rng.integers(0, 8, n) / 7  # with ties
        found = TopicTest(relevance, on, np.zeros(n, np.int64))
        assert found.average_precision() == pytest.approx(average_precision_score(on, relevance))
        f1s = []
        for threshold in np.unique(relevance):
            expected = precision_recall_fscore_support(on, relevance >= threshold, average="binary", zero_division=0.0)
            quality = found.at(threshold)
            assert (quality.precision, quality.recall, quality.f1) == pytest.approx(expected[:3])
            f1s.append(quality.f1)
        assert found.best().f1 == pytest.approx(max(f1s))


def test_figures_by_hand() -> None:
    found = TopicTest(np.array([0.9, 0.8, 0.4, 0.1]), np.array([True, False, True, False]), np.zeros(4, np.int64))
    assert found.at(0.5)[1:] == (2, 1, 0.5, 0.5, 0.5)
    assert found.average_precision() == pytest.approx((1 + 2 / 3) / 2)
    assert found.best()[:3] == (0.4, 3, 2)
    assert np.isnan(found.at(0.95).precision)
    assert found.at(0.95).f1 == 0


def test_no_page_is_scored_by_a_topic_that_was_trained_on_it() -> None:
    """Each page has a single word of its own, so it can be classified only after training on it."""
    pages = [PageContent("", "", f"own{number}") for number in range(40)]
    on = np.arange(40) % 4 == 0
    found = cross_validated(lambda: make_topic("bayes"), pages, on, n_folds=5)
    assert np.unique(found.relevance.round(9)).size == 1
    seen = make_topic("bayes")
    seen.train(pages, on)
    assert ((seen.relevance(pages) > 0.5) == on).all()


def test_folds_have_the_same_share_of_pages_on_topic(rng: np.random.Generator) -> None:
    pages = [PageContent("", "", f"w{n % 7}") for n in range(103)]
    on = np.arange(103) < 22
    found = cross_validated(lambda: make_topic("linear", passes=1), pages, on, n_folds=5)
    for counts in (np.bincount(found.folds[on]), np.bincount(found.folds[~on])):
        assert counts.max() - counts.min() <= 1
    other = cross_validated(lambda: make_topic("linear", passes=1), pages, on, n_folds=5, rng=1)
    assert (other.folds != found.folds).any()
    assert len(found.f1_of_folds(0.5)) == 5


def test_sites_stay_together(rng: np.random.Generator) -> None:
    pages = [PageContent(f"http://w{n % 3}.site{n % 11}.example/{n}", "", f"w{n % 7}") for n in range(110)]
    on = rng.random(110) < 0.3
    found = cross_validated(lambda: make_topic("bayes"), pages, on, n_folds=3, by_site=True)
    fold_of: dict[str, int] = {}
    for page, fold in zip(pages, found.folds.tolist(), strict=True):
        assert fold_of.setdefault(site_of(host_of(page.url)), fold) == fold
    assert set(found.folds.tolist()) == {0, 1, 2}


def test_a_topic_that_does_not_learn_is_evaluated_directly() -> None:
    topic = make_topic("keywords", words=("homework",))
    found = cross_validated(lambda: topic, PAGES, IS_ON_TOPIC, n_folds=50)
    assert found.relevance.tolist() == topic.relevance(PAGES).tolist()
    assert len(found.f1_of_folds(0.5)) == 1


def test_many_pages_are_scored_in_batches() -> None:
    topic = make_topic("keywords", words=("homework",))
    pages = PAGES * 200
    assert scored(topic, pages).tolist() == topic.relevance(pages).tolist()


@over_rows(
    ("on", "settings", "message"),
    [
        ([True] * 6, {}, "needs pages on topic and pages that are not"),
        (IS_ON_TOPIC, {"n_folds": 1}, "folds is 1; it must be 2 or more"),
        (IS_ON_TOPIC, {"n_folds": 4}, "folds is 4, but there are only 3 examples on topic"),
        ([True] * 5 + [False], {"n_folds": 2}, "only 1 examples off topic"),
        (IS_ON_TOPIC, {"n_folds": 2, "by_site": True}, "the examples are of only 1 site"),
        ([True], {}, "1 values for 6 pages"),
    ],
)
def test_unusable_tests_are_one_clear_line(on: list[bool], settings: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        cross_validated(lambda: make_topic("bayes"), PAGES, on, **settings)


def test_folds_need_both_classes_without_each_site() -> None:
    pages = [PageContent(f"http://site{n}.example/", "", "") for n in range(2)]
    with pytest.raises(ori.InputError, match="without fold 1 of 2 all examples are of one kind"):
        cross_validated(lambda: make_topic("bayes"), pages, [True, False], n_folds=2, by_site=True)
