"""Learning topics, compared with direct computations."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.topics import make_topic
from orienteer.topics.learning import Bayes, Linear
from orienteer.topics.topic import PageContent
from orienteer.topics.words import word_counts
from tests.tables import over_rows
from tests.topics.small_topics import IS_ON_TOPIC, OFF_TOPIC, ON_TOPIC, PAGES

VOCABULARY = [f"word{number}" for number in range(40)]


def random_pages(rng: np.random.Generator, n: int) -> list[PageContent]:
    return [PageContent("", "", " ".join(rng.choice(VOCABULARY, rng.integers(0, 30)))) for _ in range(n)]


def bayes_by_hand(
    pages: list[PageContent], on: np.ndarray, asked: list[PageContent], smoothing: float, prior: float, n_buckets: int
) -> np.ndarray:
    """Compute P(on topic) by the textbook formula, with dense arrays and without log-odds."""
    seen, new = (np.log1p(word_counts(some, n_buckets).toarray()) for some in (pages, asked))
    joint = []
    for kind, p_kind in ((False, 1 - prior), (True, prior)):
        occurrences = seen[on == kind].sum(axis=0) + smoothing
        p_word = occurrences / occurrences.sum()
        joint.append(np.log(p_kind) + (new * np.log(p_word)).sum(axis=1))
    off, on_topic = np.exp(joint - np.max(joint, axis=0))
    return on_topic / (off + on_topic)


@pytest.mark.parametrize(("smoothing", "prior"), [(1.0, 0.0), (0.01, 0.0), (0.1, 0.02)])
def test_bayes_follows_the_textbook_formula(smoothing: float, prior: float, rng: np.random.Generator) -> None:
    pages, asked = random_pages(rng, 30), [*random_pages(rng, 20), PageContent("", "", "unknown words")]
    on = rng.random(30) < 0.3
    topic = Bayes(smoothing=smoothing, prior=prior, buckets=256)
    topic.train(pages, on)
    expected = bayes_by_hand(pages, on, asked, smoothing, prior or on.mean(), 256)
    assert topic.relevance(asked) == pytest.approx(expected, abs=1e-12)


def test_bayes_on_three_pages_with_two_words() -> None:
    topic = Bayes(smoothing=1.0, buckets=256)
    topic.train([PageContent("", "", "tea"), PageContent("", "", "tea"), PageContent("", "", "exam")], [0, 0, 1])
    tea, one = 2 * np.log(2), np.log(2)  # occurrences: log(1 + count), added up
    p_off, p_on = (tea + 1) / (tea + 256), 1 / (one + 256)
    odds = (1 / 2) * (p_on / p_off) ** np.log(2)
    assert topic.relevance([PageContent("", "", "tea")])[0] == pytest.approx(odds / (1 + odds))


def test_bayes_learns_the_same_page_by_page(rng: np.random.Generator) -> None:
    pages, on = random_pages(rng, 30), rng.random(30) < 0.5
    at_once, slowly = Bayes(), Bayes()
    at_once.train(pages, on)
    for page, label in zip(pages, on, strict=True):
        slowly.learn([page], [label])
    assert at_once.relevance(pages) == pytest.approx(slowly.relevance(pages), abs=1e-12)


@pytest.mark.parametrize("name", ["bayes", "linear"])
def test_relevance_is_that_of_the_estimator(name: str, rng: np.random.Generator) -> None:
    pages, on = random_pages(rng, 60), rng.random(60) < 0.3
    topic = make_topic(name)
    topic.train(pages, on)
    estimator, features = topic._estimator, topic._features(pages)
    assert topic.relevance(pages) == pytest.approx(estimator.predict_proba(features)[:, 1], abs=1e-9)


@pytest.mark.parametrize("name", ["bayes", "linear"])
def test_a_prior_multiplies_the_odds(name: str) -> None:
    as_examples, rare = make_topic(name), make_topic(name, prior=0.01)
    for topic in (as_examples, rare):
        topic.train([*PAGES, OFF_TOPIC[0]], [*IS_ON_TOPIC, False])
    usual, low = (topic.relevance([PageContent("", "", "course on gardens")])[0] for topic in (as_examples, rare))
    assert low / (1 - low) == pytest.approx(usual / (1 - usual) * (0.01 / 0.99) / (3 / 4))


def test_features_of_the_linear_topic_are_normalized() -> None:
    features = Linear()._features([*PAGES, PageContent("", "", "")])
    lengths = np.sqrt((features * features).sum(axis=1))
    assert lengths == pytest.approx([1.0] * len(PAGES) + [0.0])


def test_long_pages_do_not_overflow() -> None:
    pages = [PageContent("", "", " ".join(f"{kind}{n}" for n in range(50_000))) for kind in ("on", "off")]
    topic = Bayes(smoothing=1e-9)
    topic.train(pages, [True, False])
    assert topic.relevance(pages).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", ["bayes", "linear"])
def test_words_are_counted(name: str) -> None:
    topic = make_topic(name)
    topic.train([PageContent("", "", "tea tea time"), PageContent("", "", "exam time")], [False, True])
    assert topic.n_words == 3
    assert topic.n_examples.tolist() == [1, 1]


@over_rows(
    ("name", "settings", "message"),
    [
        ("bayes", {"smoothing": 0}, "smoothing is 0; it must be above 0"),
        ("bayes", {"smoothing": float("nan")}, "smoothing is nan"),
        ("bayes", {"prior": 1.0}, "prior is 1.0; it must be above 0 and below 1"),
        ("linear", {"prior": float("nan")}, "prior is nan"),
        ("linear", {"penalty": float("inf")}, "penalty is inf; it must be above 0"),
        ("linear", {"passes": 0}, "passes is 0; it must be 1 or more"),
        ("linear", {"buckets": 1000}, "buckets is 1000; it must be a power of two"),
    ],
)
def test_unusable_settings_are_one_clear_line(name: str, settings: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        make_topic(name, **settings)


def test_pages_on_topic_alone_are_not_enough() -> None:
    topic = Bayes()
    topic.train(ON_TOPIC, [True] * len(ON_TOPIC))
    with pytest.raises(ori.InputError, match="not trained; it needs pages on topic and pages that are not"):
        topic.relevance(PAGES)
