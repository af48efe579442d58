"""Live crawls with a topic: the relevance of pages is computed and stored, and focused policies use it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer.errors import InputError
from orienteer.inspect.crawl_status import crawl_status
from orienteer.ledger.ledger import Ledger
from orienteer.live.session import open_crawl, plan_of_folder, refresh
from orienteer.pages.states import PageState
from orienteer.store.detail_tables import PageWords, packed, unpacked
from orienteer.store.folder import CrawlFolder
from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled
from tests.live.refreshes import rows_of

HOME = "http://a.test/"
N_SECTIONS, N_PAGES = 6, 8


def section(k: int, word: str) -> dict[str, str]:
    """Return a page with links to many pages about the same word."""
    links = "".join(f"<a href=/{word}/{k}/{p}>{word} number {p}</a> " for p in range(N_PAGES))
    pages = {f"http://a.test/{word}/{k}/{p}": f"<title>{word}</title>all about {word} {k} {p}" for p in range(N_PAGES)}
    return {f"http://a.test/{word}/{k}/": f"<title>List</title>{links}"} | pages


def site_pages() -> dict[str, str]:
    pages: dict[str, str] = {}
    for k in range(N_SECTIONS):
        pages |= section(k, "orchids" if k == 3 else "gravel")
    lists = [url for url in pages if url.endswith("/")]
    return {HOME: "<title>Home</title>" + "".join(f"<a href={url}>section</a> " for url in lists)} | pages


PAGES = site_pages()
ON_TOPIC = {url for url in PAGES if "orchids" in url and not url.endswith("/")}


@pytest.fixture
def topic(tmp_path: Path) -> Path:
    path = tmp_path / "orchids.toml"
    path.write_text('[topic]\nkind = "keywords"\nwords = ["orchids"]\nthreshold = 0.4\n')
    return path


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb(ChangingSite(MadeSite(PAGES))) as web:
        yield web


def on_topic(folder: Path, threshold: float = 0.4) -> set[str]:
    return {url for url, row in rows_of(folder).items() if row.relevance is not None and row.relevance >= threshold}


@pytest.mark.parametrize("policy", ["certified", "navigational"])
def test_the_relevance_of_pages_is_stored(web: FakeWeb, topic: Path, tmp_path: Path, policy: str) -> None:
    report = crawled(web, HOME, tmp_path / "crawl", topic=topic, policy=policy)
    rows = rows_of(tmp_path / "crawl")
    assert all(row.relevance is not None and 0 <= row.relevance <= 1 for row in rows.values())
    assert not ON_TOPIC - on_topic(tmp_path / "crawl")
    n_on_topic = len(on_topic(tmp_path / "crawl"))
    assert report.figures.n_on_topic == n_on_topic
    assert crawl_status(tmp_path / "crawl").n_on_topic == n_on_topic
    assert report.topical is not None
    assert report.topical.lower == pytest.approx(1, abs=1e-6)
    assert report.as_dict()["topical"]["text"]


def test_a_crawl_without_a_topic_has_none(web: FakeWeb, tmp_path: Path) -> None:
    report = crawled(web, HOME, tmp_path / "crawl")
    assert report.figures.n_on_topic is None
    assert report.topical is None
    assert crawl_status(tmp_path / "crawl").n_on_topic is None
    assert all(row.relevance is None for row in rows_of(tmp_path / "crawl").values())


def test_a_focused_policy_finds_them_sooner(web: FakeWeb, topic: Path, tmp_path: Path) -> None:
    settings = {"crawl": {"workers": 1}}
    found = {}
    for policy in ("breadth-first", "navigational:batch=1"):
        folder = tmp_path / policy.partition(":")[0]
        crawled(web, HOME, folder, topic=topic, policy=policy, budget=30, settings=settings)
        found[folder.name] = len(on_topic(folder) & ON_TOPIC)
    assert found["navigational"] > found["breadth-first"]


def test_a_reopened_crawl_is_in_the_same_state(web: FakeWeb, topic: Path, tmp_path: Path) -> None:
    folder, settings = tmp_path / "crawl", {"crawl": {"workers": 1}}
    crawled(web, HOME, folder, topic=topic, policy="navigational:batch=5", budget=25, settings=settings)
    plan = plan_of_folder(folder)
    with CrawlFolder.open(folder) as crawl:
        by_checkpoint = Ledger(crawl, plan).crawl
    (folder / "checkpoints" / "latest.npz").unlink()
    with CrawlFolder.open(folder) as crawl:
        replayed = Ledger(crawl, plan).crawl
    assert by_checkpoint.order == replayed.order
    for mine, theirs in zip(by_checkpoint.waiting(), replayed.waiting(), strict=True):
        assert mine == pytest.approx(theirs)


def test_an_interrupted_crawl_ends_like_an_uninterrupted_one(web: FakeWeb, topic: Path, tmp_path: Path) -> None:
    settings = {"crawl": {"workers": 1}}
    named: dict[str, Any] = {"topic": topic, "policy": "navigational:batch=4", "settings": settings}
    crawled(web, HOME, tmp_path / "whole", budget=40, **named)
    for budget in (3, 11, 26, 40):
        crawled(web, HOME, tmp_path / "runs", budget=budget, **named)
    rows = (rows_of(tmp_path / name).values() for name in ("whole", "runs"))
    whole, runs = (sorted(some, key=lambda row: row.position) for some in rows)
    assert [(row.id, row.relevance) for row in whole] == [(row.id, row.relevance) for row in runs]


def test_a_refresh_updates_the_relevance(web: FakeWeb, topic: Path, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, HOME, folder, topic=topic, policy="navigational")
    assert isinstance(web.site, ChangingSite)
    changed = sorted(ON_TOPIC)[0]
    web.site.edit(changed, "<title>Gravel</title>nothing but gravel")
    web.site.edit("http://a.test/gravel/0/1", "<title>Orchids</title>orchids orchids orchids orchids")
    report = refresh(folder)
    found = on_topic(folder)
    assert changed not in found
    assert "http://a.test/gravel/0/1" in found
    assert report.figures.n_on_topic == len(found)


def test_the_topic_stays_with_the_crawl(web: FakeWeb, topic: Path, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, HOME, folder, topic=topic, budget=5)
    topic.unlink()
    with open_crawl(folder, plan_of_folder(folder, {"crawl": {"budget": 9}})) as live:
        live.run()
    assert len(rows_of(folder)) == 9
    other = tmp_path / "other.toml"
    other.write_text('[topic]\nkind = "keywords"\nwords = ["gravel"]\n')
    with pytest.raises(InputError, match="begun with another topic"):
        crawled(web, HOME, folder, topic=other, budget=12)
    crawled(web, HOME, tmp_path / "plain", budget=5)
    with pytest.raises(InputError, match="begun without a topic"):
        crawled(web, HOME, tmp_path / "plain", topic=other, budget=12)


def test_the_format_of_a_topic_file_does_not_matter(web: FakeWeb, topic: Path, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, HOME, folder, topic=topic, budget=5)
    topic_file = folder / "topic.toml"
    settings = tomllib.loads(topic_file.read_text())["topic"]
    topic_file.write_text("[topic]  # as another version may write it\n" + "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in reversed(settings.items())
    ))  # fmt: skip
    crawled(web, HOME, folder, topic=topic, budget=9)
    assert len(rows_of(folder)) == 9


def test_a_topic_that_cannot_be_used_leaves_no_folder_behind(web: FakeWeb, tmp_path: Path) -> None:
    for text, wanted in (("", "no table"), ('[topic]\nkind = "bayes"\npositive = ["x"]\n', "not trained")):
        (tmp_path / "topic.toml").write_text(text)
        with pytest.raises(InputError, match=wanted):
            crawled(web, HOME, tmp_path / "crawl", topic=tmp_path / "topic.toml")
        assert not (tmp_path / "crawl").exists()


def test_a_focused_policy_needs_a_topic(web: FakeWeb, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name one"):
        crawled(web, HOME, tmp_path / "crawl", policy="navigational")


def test_trained_topics_are_stored_with_their_model(web: FakeWeb, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from orienteer.topics.topic_file import TopicFile

    for name, word in (("good", "orchids"), ("bad", "gravel")):
        (tmp_path / name).mkdir()
        for k in range(6):
            (tmp_path / name / f"{k}.html").write_text(f"<title>{word}</title><p>all about {word} and things {k}")
    path = tmp_path / "learned.toml"
    path.write_text('[topic]\nkind = "bayes"\npositive = ["good/"]\nnegative = ["bad/"]\n')
    file = TopicFile.read(path)
    learned = file.topic()
    examples = file.examples()
    learned.train(examples.pages, examples.is_on_topic)
    file.save_model(learned)
    folder = tmp_path / "crawl"
    crawled(web, HOME, folder, topic=path, policy="navigational", budget=40)
    (tmp_path / "learned.npz").unlink()
    with open_crawl(folder, plan_of_folder(folder, {"crawl": {"budget": 60}})) as live:
        live.run()
    found = on_topic(folder, 0.5)
    assert ON_TOPIC & found
    assert not {url for url in found if "gravel" in url}


def test_words_survive_a_round_trip() -> None:
    rng = np.random.default_rng(1)
    offsets = np.array([0, 2, 2, 5])
    words = PageWords(
        np.array([7, 1, 2**32 - 1], np.uint32), offsets, rng.integers(0, 99, 5).astype(np.uint32),
        rng.integers(0, 99, 4).astype(np.uint32),
    )  # fmt: skip
    blob = packed(words)
    for mine, theirs in zip(words, unpacked(blob), strict=True):
        assert mine.tolist() == theirs.tolist()
    for damaged in (b"", blob[:-1], blob[:-4], blob + b"1234", b"\xff" * len(blob)):
        with pytest.raises(ValueError, match=r"cut off|overlap|multiple"):
            unpacked(damaged)


def test_blocked_and_failed_pages_have_no_relevance(topic: Path, tmp_path: Path) -> None:
    with FakeWeb(MadeSite({HOME: "<a href=/none>none</a>"})) as web:
        crawled(web, HOME, tmp_path / "crawl", topic=topic)
    row = rows_of(tmp_path / "crawl")["http://a.test/none"]
    assert (row.state, row.relevance) == (PageState.FAILED, None)
