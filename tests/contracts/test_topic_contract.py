"""The contract of all kinds of topics in the registry."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.topics import all_topics, make_topic, settings_of
from orienteer.topics.topic import TOPICS, Topic
from tests.contracts.negative_settings import made_with_minus_five
from tests.topics.small_topics import EMPTY, HOSTILE, IS_ON_TOPIC, OFF_TOPIC, ON_TOPIC, PAGES, settings_for, trained

NAMES = list(all_topics())


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_equals_its_pages_one_by_one(name: str, tmp_path: Path) -> None:
    topic = trained(name, tmp_path)
    pages = [*PAGES, *HOSTILE]
    together = topic.relevance(pages)
    assert together.dtype == np.float64
    assert together.shape == (len(pages),)
    assert together.tolist() == [topic.relevance([page])[0] for page in pages]
    assert together[::-1].tolist() == topic.relevance(pages[::-1]).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_relevance_is_a_probability_whatever_the_page_holds(name: str, tmp_path: Path) -> None:
    found = trained(name, tmp_path).relevance([*PAGES, *HOSTILE])
    assert ((found >= 0) & (found <= 1)).all()


# A topic of another package that does not learn may be about anything.
@pytest.mark.parametrize(
    "name", [name for name, kind in all_topics().items() if kind.needs_training or name in TOPICS.own()]
)
def test_pages_on_topic_score_higher(name: str, tmp_path: Path) -> None:
    topic = trained(name, tmp_path)
    assert topic.relevance(ON_TOPIC).min() >= 0.5 > topic.relevance(OFF_TOPIC).max()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_every_time(name: str, tmp_path: Path) -> None:
    first, second = trained(name, tmp_path), trained(name, tmp_path)
    assert first.relevance(PAGES).tolist() == second.relevance(PAGES).tolist() == first.relevance(PAGES).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_no_pages_have_no_relevance_and_an_empty_page_has_one(name: str, tmp_path: Path) -> None:
    topic = trained(name, tmp_path)
    assert topic.relevance([]).shape == (0,)
    assert topic.relevance([EMPTY]).shape == (1,)


@pytest.mark.parametrize("name", NAMES)
def test_learning_is_open_to_those_that_need_training(name: str, tmp_path: Path) -> None:
    topic = make_topic(name, **settings_for(name, tmp_path))
    if not topic.needs_training:
        assert topic.is_trained
        with pytest.raises(ori.InputError, match="does not learn from examples"):
            topic.learn(PAGES, IS_ON_TOPIC)
        return
    assert not topic.is_trained
    with pytest.raises(ori.InputError, match=f"topic {name}: it is not trained"):
        topic.relevance(PAGES)
    topic.learn(ON_TOPIC, [True] * len(ON_TOPIC))
    assert not topic.is_trained  # it has seen one side only
    topic.learn([], [])
    topic.learn(OFF_TOPIC, [0] * len(OFF_TOPIC))
    assert topic.is_trained
    before = topic.relevance(OFF_TOPIC[:1])[0]
    for _ in range(20):
        topic.learn(OFF_TOPIC[:1], [True])
    assert topic.relevance(OFF_TOPIC[:1])[0] > before
    for labels, message in (([True], "1 values for 6 pages"), ([0.5] * 6, "true or false"), ([2] * 6, "true or false")):
        with pytest.raises(ori.InputError, match=message):
            topic.learn(PAGES, labels)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_can_be_loaded_by_another_policy(name: str, tmp_path: Path) -> None:
    first = trained(name, tmp_path)
    second = make_topic(name, **settings_for(name, tmp_path))
    second.load_learned({key: array.copy() for key, array in first.learned().items()})
    assert second.is_trained
    assert first.relevance([*PAGES, *HOSTILE]).tolist() == second.relevance([*PAGES, *HOSTILE]).tolist()
    if first.needs_training:  # and both go on alike
        for topic in (first, second):
            topic.learn(HOSTILE, [True, False] * 3 + [True])
        assert first.relevance(PAGES).tolist() == second.relevance(PAGES).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_every_topic_has_a_description(name: str) -> None:
    kind = all_topics()[name]
    assert kind.__doc__
    assert kind.name == name


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_is_refused_or_works(name: str, tmp_path: Path) -> None:
    defaults = settings_of(all_topics()[name])
    numbers = [setting for setting, default in defaults.items() if isinstance(default, int | float)]

    def make(**setting: object) -> Topic:
        return make_topic(name, **{**settings_for(name, tmp_path), **setting})

    for topic in made_with_minus_five(make, numbers):
        if topic.needs_training:
            topic.train(PAGES, IS_ON_TOPIC)
        found = topic.relevance(PAGES)
        assert ((found >= 0) & (found <= 1)).all()


def test_wrong_names_get_a_suggestion() -> None:
    with pytest.raises(ori.InputError, match="no kind of topic named 'bayse'; did you mean 'bayes'"):
        make_topic("bayse")
    with pytest.raises(ori.InputError, match="no setting of keywords named 'word'; did you mean 'words'"):
        make_topic("keywords", word=["a"])


def test_without_scikit_learn_only_trained_topics_report_the_missing_package() -> None:
    script = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from orienteer.errors import MissingExtraError\n"
        "from orienteer.topics import make_topic\n"
        "make_topic('keywords', words=['a']), make_topic('url-pattern', patterns=['a'])\n"
        "for name in ('bayes', 'linear'):\n"
        "    try: make_topic(name)\n"
        "    except MissingExtraError as error:\n"
        "        assert str(error) == f\"topic {name} needs scikit-learn: pip install 'orienteer[topics]'\", error\n"
        "    else: raise AssertionError(name)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
