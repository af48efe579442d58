"""Topics without training: keywords, url-pattern, labels; and estimators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.link_graph import LinkGraph
from orienteer.topics.rules import Keywords, Labels, UrlPattern
from orienteer.topics.topic import EstimatorTopic, PageContent
from orienteer.topics.words import word_counts
from tests.tables import over_rows
from tests.topics.small_topics import IS_ON_TOPIC, OFF_TOPIC, ON_TOPIC, PAGES


def in_text(topic: Keywords, text: str) -> float:
    return float(topic.relevance([PageContent("", "", text)])[0])


def test_enough_evidence_is_one_half() -> None:
    """Relevance follows the formula in keywords.py."""
    topic = Keywords(words=("compiler",), enough=4.0)
    pages = [
        PageContent(
            "http://a.example/compiler-design", "Compiler", "A compiler is a compiler is a compiler.", ["Compiler"]
        ),
        PageContent("", "The compiler", "compiler"),
        PageContent("", "", "nothing of it"),
        PageContent("http://a.example/", "", "compiler " * 15),
    ]
    evidence = np.array([2 + 3 + 2 + 2, 3 + 1, 0, 4])
    assert topic.relevance(pages) == pytest.approx(1 - 2 ** (-evidence / 4))
    assert topic.relevance(pages[1:2]) == pytest.approx(0.5)


@over_rows(
    ("word", "text", "is_found"),
    [
        ("exam", "The EXAM.", True),
        ("exam", "for example", False),
        ("exam*", "for example", True),
        ("type theory", "Type\n  Theory", True),
        ("type theory", "type-theory", False),
        ("C++", "c++ and c", True),
        ("C++", "c and d", False),
        ("Müller", "MÜLLER", True),
        ("課程", "計算機課程簡介", True),
        (".net", "about .NET", True),
        ("a(b", "a(b", True),
    ],
)
def test_words_are_found_as_wholes(word: str, text: str, is_found: bool) -> None:
    assert (in_text(Keywords(words=(word,)), text) > 0) == is_found


def test_weights_may_be_negative() -> None:
    topic = Keywords(words=("exam", "tea"), weights=(2.0, -1.0), enough=1.0)
    assert in_text(topic, "exam") == pytest.approx(3 / 4)
    assert in_text(topic, "exam and tea") == pytest.approx(1 / 2)
    assert in_text(topic, "tea") == 0


@over_rows(
    ("settings", "message"),
    [
        ({}, "topic keywords: it needs words"),
        ({"words": (" ", "*")}, "topic keywords: it needs words"),
        ({"words": ("a", " * ")}, "words: ' \\* ' is no word"),
        ({"words": ("a", "b"), "weights": (1.0,)}, "weights: 1 numbers for 2 words"),
        ({"words": ("a",), "weights": (float("nan"),)}, "weights: they must be finite"),
        ({"words": ("a",), "enough": 0.0}, "enough is 0.0; it must be above 0"),
    ],
)
def test_unusable_keywords_are_one_clear_line(settings: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        Keywords(**settings)


def test_patterns_include_and_exclude() -> None:
    urls = ["http://a.example/Courses/1", "http://a.example/course/old/2", "http://a.example/people"]
    pages = [PageContent(url, "", "") for url in urls]
    assert UrlPattern(patterns=("/courses?/",)).relevance(pages).tolist() == [1, 1, 0]
    assert UrlPattern(patterns=("/courses?/",), exclude=("/old/",)).relevance(pages).tolist() == [1, 0, 0]
    assert UrlPattern(exclude=("/old/",)).relevance(pages).tolist() == [1, 0, 1]


@over_rows(
    ("settings", "message"),
    [
        ({}, "topic url-pattern: it needs patterns, or exclude"),
        ({"patterns": ("/a/", "(")}, r"patterns: '\(' is no regular expression \(missing \)"),
        ({"exclude": ("[z-a]",)}, r"exclude: '\[z-a\]' is no regular expression"),
        ({"patterns": ("(" * 5000 + ")" * 5000,)}, "is no regular expression"),
        ({"patterns": ("a{99999999999}",)}, "is no regular expression"),
    ],
)
def test_unusable_patterns_are_one_clear_line(settings: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        UrlPattern(**settings)


def labels_file(folder: Path, text: str) -> str:
    (folder / "labels.txt").write_text(text)
    return str(folder / "labels.txt")


def test_labels_by_url_and_by_id(tmp_path: Path) -> None:
    file = labels_file(
        tmp_path, "# truth\nhttp://a.example:80/x#top 0.5\nhttp://a.example/y\t1\nhttp://a.example/z\n17 1\n\n"
    )
    pages = [
        PageContent(url, "", "") for url in ("http://a.example/x", "http://A.example/y", "17", "18", "", "nothing")
    ]
    assert Labels(file).relevance(pages).tolist() == [0.5, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert Labels(file).relevance([PageContent("http://a.example/z", "", "")]).tolist() == [1.0]


def test_labels_that_are_names_of_classes(tmp_path: Path) -> None:
    file = labels_file(tmp_path, "0\tcourse\n1\tstudent\n1\tcourse\n2\tstudent\n")
    web = LinkGraph.from_links(4, [0], [1])
    assert Labels(file, label="course").of_graph(web).tolist() == [1, 1, 0, 0]
    assert Labels(file, label="student").of_graph(web).tolist() == [0, 1, 1, 0]


def test_labels_of_a_graph(tmp_path: Path) -> None:
    web = LinkGraph.from_links(3, [0], [1], urls=["http://a.example/", "http://a.example/b", "Main page"])
    file = labels_file(tmp_path, "1 0.25\nMain page 1\n")
    assert Labels(file).of_graph(web).tolist() == [0, 0.25, 1]
    file = labels_file(tmp_path, "1 0.25\nhttp://b.example/ 1\n")
    with pytest.raises(
        ori.InputError, match=r"labels.txt, line 2: no page of the graph has the URL 'http://b.example/'"
    ):
        Labels(file).of_graph(web)


@pytest.mark.parametrize(
    ("text", "label", "message"),
    [
        ("", "", "no page in it is on topic"),
        ("a 0\n", "", "no page in it is on topic"),
        ("a 2\n", "", "line 1: the value 2 must be from 0 to 1"),
        ("a nan\n", "", "line 1: the value nan must be"),
        ("a 1\nb x\n", "", "line 2: 'x' is no number"),
        ("a 1\na 0\n", "", "line 2: page 'a' is named twice"),
        ("a course\n", "faculty", "no page in it is labelled 'faculty'"),
    ],
)
def test_unusable_labels_are_one_clear_line(text: str, label: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ori.InputError, match=message):
        Labels(labels_file(tmp_path, text), label)


def test_labels_need_a_file(tmp_path: Path) -> None:
    with pytest.raises(ori.InputError, match="topic labels: it needs a file"):
        Labels()
    with pytest.raises(ori.InputError, match="no such file of labels"):
        Labels(str(tmp_path / "none.txt"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ori.InputError, match="no text file"):
        Labels(str(tmp_path / "binary"))


def test_any_estimator_of_texts_is_a_topic() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = [" ".join((page.title, *page.headings, page.text)) for page in PAGES]
    fitted = make_pipeline(CountVectorizer(), LogisticRegression()).fit(
        texts, ["yes" if on else "no" for on in IS_ON_TOPIC]
    )
    topic = EstimatorTopic(fitted, on_topic="yes")
    assert topic.is_trained
    assert topic.relevance(ON_TOPIC).min() > 0.5 > topic.relevance(OFF_TOPIC).max()
    assert topic.relevance([]).shape == (0,)
    with pytest.raises(ori.InputError, match="cannot learn further: it needs partial_fit"):
        topic.learn(PAGES, IS_ON_TOPIC)


def test_an_estimator_of_word_counts_can_learn_further() -> None:
    from sklearn.naive_bayes import BernoulliNB

    fitted = BernoulliNB().partial_fit(word_counts(PAGES), IS_ON_TOPIC, classes=[False, True])
    topic = EstimatorTopic(fitted, features=word_counts)
    before = topic.relevance(OFF_TOPIC[:1])[0]
    topic.learn(OFF_TOPIC[:1] * 9, [True] * 9)
    assert topic.relevance(OFF_TOPIC[:1])[0] > before


def test_only_fitted_classifiers_are_accepted() -> None:
    from sklearn.linear_model import LinearRegression
    from sklearn.naive_bayes import BernoulliNB

    with pytest.raises(ori.InputError, match="LinearRegression has no predict_proba"):
        EstimatorTopic(LinearRegression())
    with pytest.raises(ori.InputError, match="BernoulliNB is not trained; fit it first"):
        EstimatorTopic(BernoulliNB())
    with pytest.raises(ori.InputError, match=r"on_topic is 'maybe'; the estimator has the classes \[0, 1\]"):
        EstimatorTopic(BernoulliNB().fit([[0], [1]], [0, 1]), on_topic="maybe")
