"""Crawls by trained policies: the model stays with the crawl."""

from __future__ import annotations

from pathlib import Path

import pytest

from orienteer.errors import InputError
from orienteer.focus.policy_training import checked_spec, policy_trained_on
from orienteer.inspect.replay import replay
from orienteer.live.session import open_crawl, plan_of_folder, refresh
from orienteer.policies.trained import trained_policy, write_model
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, crawled
from tests.topics.small_topics import topic_file

TOPIC = ('kind = "keywords"', 'words = ["orchids"]', "threshold = 0.4")
ONE_WORKER = {"crawl": {"workers": 1}}
NAMES = ["apprentice", "context-graph"]


def site_of(host: str, lists: list[str]) -> dict[str, str]:
    """Sections that link to lists, which link to pages; a list names its subject, and so do links to it."""
    home, pages = f"http://{host}/", {}
    for section in lists:
        of_section = [f"{home}{section}/{k}/" for k in range(3)]
        pages[f"{home}{section}/"] = f"<p>catalogue of {section}" + _links(of_section, f"more {section}")
        for part in of_section:
            items = [f"{part}{k}" for k in range(6)]
            pages[part] = f"<p>page of the catalogue of {section}" + _links(items, section)
            pages |= {item: f"<title>{section}</title>{section} {section} {item}" for item in items}
    return {home: "<p>welcome" + "".join(_links([f"{home}{name}/"], f"the {name}") for name in lists)} | pages


def _links(urls: list[str], text: str) -> str:
    return "".join(f"<a href={url}>{text}</a> " for url in urls)


TRAINING = site_of("a.test", ["gravel", "orchids", "sand"])
SITE = site_of("b.test", ["gravel", "sand", "orchids"])
HOME = "http://b.test/"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a topic, a crawl of another site, and what both policies have learned on it."""
    folder = tmp_path_factory.mktemp("trained")
    topic = topic_file(folder, *TOPIC)
    with FakeWeb(MadeSite(TRAINING)) as web:
        crawled(web, "http://a.test/", folder / "other", topic=topic, policy="navigational")
    for name in NAMES:
        policy, _ = policy_trained_on(checked_spec(name), [folder / "other"], topic)
        write_model(folder / f"{name}.npz", policy)
    return folder


def n_orchids(folder: Path, first: int) -> int:
    crawl = StoredCrawl(folder)
    return sum("orchids" in crawl.urls[page] for page in crawl.order[:first])


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_another_site_directs_a_crawl(name: str, place: Path, tmp_path: Path) -> None:
    with FakeWeb(MadeSite(SITE)) as web:
        named = {"topic": place / "topic.toml", "settings": ONE_WORKER}
        crawled(web, HOME, tmp_path / "c", policy=f"{name}:model={place / name}.npz,batch=2", **named)
        crawled(web, HOME, tmp_path / "plain", policy="breadth-first", **named)
    assert n_orchids(tmp_path / "c", 30) > n_orchids(tmp_path / "plain", 30)


@pytest.mark.parametrize("name", NAMES)
def test_a_crawl_continues_when_the_file_is_gone(name: str, place: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.npz"
    model.write_bytes((place / f"{name}.npz").read_bytes())
    named = {"topic": place / "topic.toml", "policy": f"{name}:model={model},batch=2", "settings": ONE_WORKER}
    with FakeWeb(MadeSite(SITE)) as web:
        crawled(web, HOME, tmp_path / "whole", **named)
        crawled(web, HOME, tmp_path / "resumed", budget=9, **named)
        crawled(web, HOME, tmp_path / "resumed", budget=15, **named)  # the same command again, while the file is there
        model.unlink()
        assert (tmp_path / "resumed" / "policy.npz").read_bytes() == (place / f"{name}.npz").read_bytes()
        plan = plan_of_folder(tmp_path / "resumed", {"crawl": {"budget": 25}})
        assert plan.crawl.policy == f"{name}:batch=2"
        with open_crawl(tmp_path / "resumed", plan) as live:
            live.run()
        (tmp_path / "resumed" / "checkpoints" / "latest.npz").unlink()
        with open_crawl(
            tmp_path / "resumed", plan_of_folder(tmp_path / "resumed", {"crawl": {"budget": 10_000}})
        ) as live:
            live.run()
        assert StoredCrawl(tmp_path / "resumed").order == StoredCrawl(tmp_path / "whole").order
        assert replay(tmp_path / "whole").order.tolist() == StoredCrawl(tmp_path / "whole").order
        assert refresh(tmp_path / "whole").figures.n_done > 0


def test_an_untrained_policy_leads_no_crawl(place: Path, tmp_path: Path) -> None:
    with FakeWeb(MadeSite(SITE)) as web:
        for name in NAMES:
            with pytest.raises(InputError, match=f"policy {name} has not learned on other sites yet; train it first"):
                crawled(web, HOME, tmp_path / "c", policy=name, topic=place / "topic.toml")
        with pytest.raises(InputError, match="the model is of kind 'apprentice', not 'context-graph'"):
            crawled(web, HOME, tmp_path / "c", policy=f"context-graph:model={place}/apprentice.npz", topic=place)
        assert web.requests == []
    assert not (tmp_path / "c").exists()
    with pytest.raises(InputError, match="policy apprentice has not learned on other sites yet"):
        replay(place / "other", "apprentice")
    assert len(replay(place / "other", f"apprentice:model={place}/apprentice.npz").order) > 0


def test_a_crawl_keeps_to_what_it_was_begun_with(place: Path, tmp_path: Path) -> None:
    other, _ = policy_trained_on(checked_spec("apprentice"), [place / "other"], topic_of_sand(tmp_path))
    write_model(tmp_path / "other.npz", other)
    named = {"topic": place / "topic.toml"}
    with FakeWeb(MadeSite(SITE)) as web:
        crawled(web, HOME, tmp_path / "c", policy=f"apprentice:model={place}/apprentice.npz", budget=5, **named)
        with pytest.raises(InputError, match="begun with another model of apprentice"):
            crawled(web, HOME, tmp_path / "c", policy=f"apprentice:model={tmp_path}/other.npz", budget=9, **named)
        with pytest.raises(InputError, match="begun with policy apprentice, not context-graph"):
            crawled(web, HOME, tmp_path / "c", policy=f"context-graph:model={place}/context-graph.npz", **named)
        (tmp_path / "c" / "policy.npz").write_bytes(b"PK")
        with pytest.raises(InputError, match=r"policy.npz: the model is corrupt"):
            crawled(web, HOME, tmp_path / "c", policy="apprentice", budget=9, **named)


def topic_of_sand(folder: Path) -> Path:
    return topic_file(folder, 'kind = "keywords"', 'words = ["sand"]', "threshold = 0.4", name="sand.toml")


# -- training ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_crawl_with_a_topic_and_its_archive_teach_the_same(name: str, place: Path) -> None:
    """With the topic given or not; an archive alone does not have the start of the crawl."""
    stored = trained_policy(place / f"{name}.npz").learned()
    spec = checked_spec(name)
    for sites, topic in (([place / "other"], None), ([place / "other" / "archive"], place / "topic.toml")):
        policy, sites_read = policy_trained_on(spec, sites, topic)
        assert policy.threshold == 0.4
        assert sites_read[0].n_pages == len(TRAINING)
        assert sites_read[0].n_on_topic > 10
        if topic is None or name == "context-graph":
            assert all((policy.learned()[key] == stored[key]).all() for key in stored)


def test_several_sites_add_up(place: Path) -> None:
    policy, sites_read = policy_trained_on(checked_spec("context-graph:layers=2"), [place / "other"] * 2)
    once = trained_policy(place / "context-graph.npz").learned()["texts"]
    assert policy.learned()["texts"].sum() == 2 * once.sum()
    assert len(sites_read) == 2


def test_what_cannot_be_learned_from_is_one_clear_line(place: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    none = topic_file(tmp_path, 'kind = "keywords"', 'words = ["basalt"]', name="none.toml")
    sand = topic_file(tmp_path, 'kind = "keywords"', 'words = ["sand"]', "threshold = 0.3", name="sand.toml")
    by_url = topic_file(tmp_path, 'kind = "url-pattern"', 'patterns = ["orchids"]', name="url.toml")
    with FakeWeb(MadeSite(SITE)) as web:
        crawled(web, HOME, tmp_path / "plain", budget=4)
        crawled(web, HOME, tmp_path / "sand", topic=sand)
        crawled(web, HOME, tmp_path / "bare", topic=sand, settings={"crawl": {"archive": False}})
    spec = checked_spec("apprentice")
    for sites, topic, message in (
        ([], None, "apprentice needs sites to learn from"),
        ([tmp_path / "plain"], None, "plain: this is no crawl with a topic"),
        ([tmp_path / "empty"], None, "empty: this is no crawl with a topic"),
        ([tmp_path / "empty"], by_url, "empty: this is no crawl folder and no graph"),
        ([place / "other"], none, r"other: no page in it is on topic \(relevance of 0.5 or more\)"),
        ([tmp_path / "bare"], None, "bare: it has no texts, so apprentice has nothing to learn from"),
        ([place / "other", tmp_path / "sand"], None, "0.4 in .*other and 0.3 in .*sand; choose one topic"),
    ):
        with pytest.raises(InputError, match=message):
            policy_trained_on(spec, sites, topic)
    with pytest.raises(InputError, match="no policy that learns on other sites named 'scent'"):
        checked_spec("scent")
    with pytest.raises(InputError, match="it is already trained"):
        checked_spec(f"apprentice:model={place}/apprentice.npz")
