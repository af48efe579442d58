"""Course pages of universities in January 1997 (WebKB): trained on all but one university, tested on that one."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from orienteer.extract.page import extract_page
from orienteer.topics import make_topic
from orienteer.topics.cross_validation import TopicTest, scored
from orienteer.topics.topic import PageContent
from tests.conftest import shared_file

pytestmark = pytest.mark.slow

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Web = tuple[list[PageContent], np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def university_pages() -> Web:
    """Pages, labels (is it a course page), and universities."""
    file = shared_file("webkb-dev.jsonl.zst")
    with zstd.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pages = [PageContent.of(row["url"], extract_page(row["html"].encode(), row["url"])) for row in rows]
    return pages, np.array([row["cls"] == "course" for row in rows]), np.array([row["univ"] for row in rows])


# Measured: bayes F1 .34 (texas) and .37 (cornell), linear .62 and .64; only 4 to 5 % of the pages are positive, and
# many negative ones are homework and handouts.
@pytest.mark.parametrize(("kind", "least_f1"), [("bayes", 0.3), ("linear", 0.55)])
@pytest.mark.parametrize("university", ["texas", "cornell"])
def test_courses_of_another_university(kind: str, least_f1: float, university: str, university_pages: Web) -> None:
    pages, is_positive, universities = university_pages
    own = universities == university
    topic = make_topic(kind)
    topic.train([pages[page] for page in np.flatnonzero(~own)], is_positive[~own])
    relevance = scored(topic, [pages[page] for page in np.flatnonzero(own)])
    found = TopicTest(relevance, is_positive[own], np.zeros(int(own.sum()), np.int64))
    assert found.at(0.5).f1 >= least_f1
    assert found.average_precision() >= 6 * is_positive[own].mean()


def test_a_few_words_do_as_well(university_pages: Web) -> None:
    """Measured: F1 .69 and an average precision of .67 on all pages."""
    pages, is_positive, _ = university_pages
    words = ("course", "homework*", "lecture*", "syllabus", "exam", "instructor", "textbook", "office hours")
    relevance = scored(make_topic("keywords", words=words), pages)
    found = TopicTest(relevance, is_positive, np.zeros(len(pages), np.int64))
    assert found.at(0.5).f1 >= 0.6
