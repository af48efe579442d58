"""Crawled webs with a topic: simulations on them receive the same relevance and words as the crawl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import DamagedArchiveWarning, InputError
from orienteer.focus.topic_web import TopicWeb, topic_web
from orienteer.ledger.topic_reading import LoadedTopic, about_page
from orienteer.policies.focused import LinkWords
from orienteer.policies.policy_spec import PolicySpec
from orienteer.store.database import Database
from tests.conftest import random_web
from tests.fake_web.fake_response import redirect_to
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, crawled, hub
from tests.live.test_topic_crawl import HOME, ON_TOPIC, PAGES
from tests.live.topics import LIVE_POLICIES, is_focused, spec_for, topic_for
from tests.topics.small_topics import topic_file

ONE_WORKER = {"crawl": {"workers": 1, "near_duplicates": "off", "duplicates": "off"}}
ORCHIDS = ('kind = "keywords"', 'words = ["orchids"]', "threshold = 0.4")


def loaded(path: Path, topic: Path, **options: Any) -> TopicWeb:
    return topic_web(path, LoadedTopic(topic), **options)


def urls_on_topic(found: TopicWeb) -> set[str]:
    urls = found.web.graph.urls
    assert urls is not None
    return {urls[page] for page in np.flatnonzero(found.relevance >= found.threshold).tolist()}


@pytest.fixture(scope="module")
def orchids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a topic and three crawls: with this topic, without a topic, and without an archive."""
    folder = tmp_path_factory.mktemp("orchids")
    topic = topic_file(folder, *ORCHIDS)
    with FakeWeb(MadeSite(PAGES)) as web:
        crawled(web, HOME, folder / "own", topic=topic, policy="scent")
        crawled(web, HOME, folder / "plain", budget=40)
        bare = {"crawl": {"archive": False}}
        crawled(web, HOME, folder / "bare", topic=topic, policy="scent", settings=bare)
    return folder


@pytest.mark.parametrize("policy", [name for name in LIVE_POLICIES if is_focused(name)])
def test_a_simulation_on_a_crawl_fetches_as_the_crawl_did(
    policy: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """The simulation gets the same relevance and words, and none for redirects and missing pages."""
    site = GraphSite(random_web(rng, 150, 4.0, with_hosts=True))
    spec, named = spec_for(policy, site, tmp_path), topic_for(policy, site, tmp_path, rng)
    seeds = [hub(site), site.url_of(3)]
    with FakeWeb(Faulty(site, not_found=0.1, redirects=0.1)) as web:
        crawled(web, seeds, tmp_path / "c", policy=spec, settings=ONE_WORKER, **named)
    found = loaded(tmp_path / "c", named["topic"])
    assert found.seeds.tolist() == [0, 1]
    graph, relevance, text = found.web
    made = PolicySpec.parse(spec).make(damping=0.85)
    trace = ori.simulate(graph, made, trust=found.seeds, relevance=relevance, text=text)
    assert found.pages[trace.order].tolist() == StoredCrawl(tmp_path / "c").order


def by_target(links: LinkWords) -> dict[int, list[int]]:
    bounds = zip(links.offsets[:-1], links.offsets[1:], strict=True)
    words = [links.words[first:last].tolist() for first, last in bounds]
    return dict(zip(links.targets.tolist(), words, strict=True))


def test_words_are_those_that_the_crawl_stored(orchids: Path) -> None:
    found = loaded(orchids / "own", orchids / "topic.toml")
    with Database.open(orchids / "own" / "crawl.db", read_only=True) as database:
        for page in range(found.web.graph.n_pages):
            mine, stored = found.web.about(page), about_page(database, int(found.pages[page]), 0.0)
            assert mine is not None
            assert by_target(mine.link_words) == by_target(stored.link_words)


def test_relevance_is_that_of_the_topic(orchids: Path) -> None:
    """The stored relevance equals that of the archived pages."""
    stored = loaded(orchids / "own", orchids / "topic.toml")
    other = topic_file(orchids, *ORCHIDS[:2], "threshold = 0.45", name="other.toml")
    again = loaded(orchids / "own", other)
    assert stored.relevance == pytest.approx(again.relevance)
    assert urls_on_topic(stored) >= ON_TOPIC
    assert (stored.threshold, again.threshold) == (0.4, 0.45)
    assert stored.n_on_topic == len(urls_on_topic(stored))


@pytest.mark.usefixtures("ready_child_processes")
@pytest.mark.parametrize("place", ["", "archive"])
def test_the_web_does_not_depend_on_the_number_of_processes(orchids: Path, place: str) -> None:
    other = topic_file(orchids, *ORCHIDS[:2], "threshold = 0.45", name="other.toml")
    one, *others = (loaded(orchids / "own" / place, other, processes=n) for n in (1, 2, 3))
    assert one.web.text is not None
    for some in others:
        assert some.web.text is not None
        assert some.relevance.tolist() == one.relevance.tolist()
        for mine, theirs in zip(some.web.text, one.web.text, strict=True):
            assert mine.tolist() == theirs.tolist()


def test_pages_that_were_not_fetched_are_excluded(orchids: Path) -> None:
    found = loaded(orchids / "plain", orchids / "topic.toml")
    assert found.web.graph.n_pages == 40
    assert found.n_left_out == found.whole.n_pages - 40 > 0
    unfetched = next(page for page in range(found.whole.n_pages) if page not in found.pages)
    assert found.page_named(HOME) == 0
    assert found.whole.urls is not None
    with pytest.raises(InputError, match="is known, but it was not fetched"):
        found.page_named(found.whole.urls[unfetched])


def test_a_crawl_without_an_archive(orchids: Path) -> None:
    """Its own topic, and topics by URL, need no texts; other topics do."""
    own = loaded(orchids / "bare", orchids / "topic.toml")
    assert own.web.text is None
    assert urls_on_topic(own) >= ON_TOPIC
    by_url = loaded(
        orchids / "bare", topic_file(orchids, 'kind = "url-pattern"', 'patterns = ["/orchids/"]', name="u.toml")
    )
    assert by_url.n_on_topic == len(ON_TOPIC) + 1
    other = topic_file(orchids, 'kind = "keywords"', 'words = ["gravel"]', name="gravel.toml")
    with pytest.raises(InputError, match="bare: no page is archived in it, and a topic of kind keywords reads"):
        loaded(orchids / "bare", other)


@pytest.mark.parametrize("place", ["archive", "archive/orienteer-00000.warc.gz"])
def test_an_archive_gives_the_same_web_as_its_crawl(orchids: Path, place: str) -> None:
    archived, crawl = (loaded(path, orchids / "topic.toml") for path in (orchids / "own" / place, orchids / "own"))
    assert archived.seeds.tolist() == []
    assert urls_on_topic(archived) == urls_on_topic(crawl)
    for some in (archived, crawl):
        assert some.web.text is not None
    sizes = [sorted(map(len, (some.web.text.link_words, some.web.text.words))) for some in (archived, crawl)]
    assert sizes[0] == sizes[1]


def test_damaged_records_are_skipped_with_a_single_warning(orchids: Path, tmp_path: Path) -> None:
    whole = orchids / "own" / "archive" / "orienteer-00000.warc.gz"
    (tmp_path / "cut.warc.gz").write_bytes(whole.read_bytes()[:-20])
    with pytest.warns(DamagedArchiveWarning, match=r"cut\.warc\.gz: after \d+ records .* 1 gap was skipped") as caught:
        found = loaded(tmp_path / "cut.warc.gz", orchids / "topic.toml")
    assert len(caught) == 1
    assert len(found.pages) == len(loaded(whole, orchids / "topic.toml").pages) - 1


def test_words_only_on_request(orchids: Path) -> None:
    links = loaded(orchids / "own", orchids / "topic.toml", reads_pages=False).web.text
    pages = loaded(orchids / "own", orchids / "topic.toml", reads_links=False).web.text
    assert links is not None
    assert pages is not None
    assert len(links.link_words) > 0 == len(links.words)
    assert len(pages.words) > 0 == len(pages.link_words)


def test_words_of_several_links_to_a_page_are_joined(tmp_path: Path) -> None:
    places = {
        HOME: "<a href=/x>one</a><a href=/x>two three</a><a href=/moved>old</a><link rel=next href=/y>",
        "http://a.test/x": "x",
        "http://a.test/y": "y",
        "http://a.test/moved": redirect_to("/x"),
    }
    with FakeWeb(MadeSite(places)) as web:
        crawled(web, HOME, tmp_path / "c")
    found = loaded(tmp_path / "c", topic_file(tmp_path, 'kind = "url-pattern"', 'patterns = ["x$"]'))
    urls = found.web.graph.urls
    assert urls is not None
    home, moved = found.web.about(0), found.web.about(found.page_named("http://a.test/moved"))
    assert moved is None
    assert home is not None
    n_words = dict(zip(home.link_words.targets.tolist(), np.diff(home.link_words.offsets).tolist(), strict=True))
    assert {urls[page]: n for page, n in n_words.items()} == {
        "http://a.test/x": 4,  # three of the anchors, one of the URL
        "http://a.test/moved": 2,
        "http://a.test/y": 0,
    }


def test_graphs_are_for_topics_by_url(tmp_path: Path) -> None:
    urls = [f"http://a.test/{page}" for page in range(4)]
    ori.LinkGraph.from_links(4, [0, 1], [1, 2], urls=urls).save(tmp_path / "web.npz")
    ori.LinkGraph.from_links(4, [0, 1], [1, 2]).save(tmp_path / "nameless.npz")
    by_url = topic_file(tmp_path, 'kind = "url-pattern"', 'patterns = ["2$"]', name="url.toml")
    (tmp_path / "truth.txt").write_text("2 1\n3 0.25\n")
    labels = topic_file(tmp_path, 'kind = "labels"', 'file = "truth.txt"', name="labels.toml")
    assert loaded(tmp_path / "web.npz", by_url).relevance.tolist() == [0, 0, 1, 0]
    for name in ("web.npz", "nameless.npz"):
        assert loaded(tmp_path / name, labels).relevance.tolist() == [0, 0, 1, 0.25]
    with pytest.raises(InputError, match="nameless.npz: the graph has no URLs"):
        loaded(tmp_path / "nameless.npz", by_url)
    with pytest.raises(InputError, match="web.npz: a graph has no texts, and a topic of kind keywords reads them"):
        loaded(tmp_path / "web.npz", topic_file(tmp_path, *ORCHIDS))


def test_unusable_paths(tmp_path: Path) -> None:
    topic = topic_file(tmp_path, *ORCHIDS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: this is no crawl folder and no graph"):
        loaded(tmp_path / "empty", topic)
    for name in ("absent", "absent.warc.gz"):
        with pytest.raises(InputError, match=f"{name}: no such file or folder"):
            loaded(tmp_path / name, topic)
