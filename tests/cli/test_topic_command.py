from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from orienteer.topics.topic_file import load_topic
from tests.cli.run import one_line, orienteer, orienteer_each
from tests.conftest import random_web
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import StoredCrawl, crawled, hub
from tests.topics.small_topics import EXAMPLES, ON_TOPIC, topic_file, write_examples


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Examples, and a topic file of each kind."""
    write_examples(tmp_path)
    (tmp_path / "good" / "notes.txt").write_text("only words")
    for kind in ("bayes", "linear"):
        topic_file(tmp_path, f'kind = "{kind}"', *EXAMPLES, name=f"{kind}.toml")
    topic_file(tmp_path, 'kind = "keywords"', 'words = ["course"]', "enough = 1", *EXAMPLES, name="keywords.toml")
    topic_file(tmp_path, 'kind = "url-pattern"', 'patterns = ["0"]', *EXAMPLES, name="urls.toml")
    return tmp_path


def test_train_then_use(folder: Path) -> None:
    printed = orienteer("topic", "train", folder / "bayes.toml", columns=200).stdout
    assert "on topic   3 pages" in printed
    assert "1 file without HTML" in printed
    assert "words" in printed
    assert load_topic(folder / "bayes.toml").relevance(ON_TOPIC).min() > 0.5


def test_commands_for_machines_and_for_people(folder: Path) -> None:
    other = folder / "other.npz"
    commands = [
        ["topic", "train", folder / "linear.toml", "--output", other, "--json"],
        ["topic", "test", folder / "linear.toml", "--folds", "3", "--json"],
        ["topic", "test", folder / "bayes.toml", "--folds", "3"],
        ["topic", "test", folder / "keywords.toml", "--json"],
        ["topic", "test", folder / "urls.toml"],
    ]
    trained, tested, bayes, keywords, urls = orienteer_each(commands)
    facts = json.loads(trained.stdout)
    assert (facts["n_on_topic"], facts["n_off_topic"], facts["n_left_out"]) == (3, 3, 1)
    assert facts["n_words"] > 20
    assert other.exists()
    assert not (folder / "linear.npz").exists()
    facts = json.loads(tested.stdout)
    assert (facts["n_folds"], len(facts["f1_of_folds"]), facts["threshold"]) == (3, 3, 0.5)
    assert 0 <= facts["average_precision"] <= 1
    assert {row["threshold"] for row in facts["thresholds"]} >= {0.1, 0.5, 0.9}
    assert "3 folds" in bayes.stdout
    assert "average precision" in bayes.stdout
    facts = json.loads(keywords.stdout)
    assert (facts["precision"], facts["recall"], facts["f1"], facts["n_folds"]) == (1, 1, 1, 1)
    assert "without training" in urls.stdout


def test_bad_input_is_one_clear_line(folder: Path) -> None:
    (folder / "empty").mkdir()
    bad = {
        "none": [],
        "empty": ['kind = "bayes"', 'positive = ["empty"]', 'negative = ["bad"]'],
        "pattern": ['kind = "url-pattern"', 'patterns = ["("]'],
        "key": ['kind = "bayes"', "smothing = 1"],
        "positives": ['kind = "bayes"', 'negative = ["bad"]'],
    }
    for name, lines in bad.items():
        topic_file(folder, *lines, name=f"{name}.toml")
    cases = [
        (["train", folder / "absent.toml"], "no such topic file"),
        (["train", folder / "none.toml"], "kind is missing"),
        (["train", folder / "empty.toml"], "no HTML page in it"),
        (["test", folder / "pattern.toml"], "is no regular expression"),
        (["test", folder / "key.toml"], "did you mean 'smoothing'"),
        (["train", folder / "positives.toml"], "no positive examples"),
        (["train", folder / "keywords.toml"], "needs no training"),
        (["train", folder / "bayes.toml", "--output", folder / "no" / "m.npz"], "does not exist"),
        (["test", folder / "bayes.toml"], "folds is 5, but there are only 3 examples on topic"),
        (["test", folder / "bayes.toml", "--folds", "0"], "folds is 0; it must be 2 or more"),
        (["test", folder / "bayes.toml", "--folds", "2", "--by-site"], "only 1 site"),
    ]
    for (_, message), done in zip(cases, orienteer_each([["topic", *words] for words, _ in cases]), strict=True):
        assert done.returncode == 2
        assert message in one_line(done.stdout, done.stderr)


def test_pages_of_a_crawl_are_examples(tmp_path: Path) -> None:
    site = GraphSite(random_web(np.random.default_rng(3), 60, 6.0, with_hosts=True))
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "crawl")
    stored = StoredCrawl(tmp_path / "crawl")
    urls = [stored.urls[page] for page in stored.order]
    (tmp_path / "first.txt").write_text("\n".join(urls[:4]))
    path = topic_file(tmp_path, 'kind = "bayes"', 'crawl = "crawl"', 'positive = ["first.txt"]')
    facts = json.loads(orienteer("topic", "train", path, "--json").stdout)
    assert facts["n_on_topic"] == 4
    assert 0 < facts["n_off_topic"] <= len(urls) - 4
