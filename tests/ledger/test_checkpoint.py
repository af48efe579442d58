"""Checkpoints of crawl folders: of ordinary policies, of older versions and other users, and where none can be made."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.policies.policy import POLICIES, Policy, Priorities, TrustedPages
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from tests.conftest import golden_folder, random_web
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import StoredCrawl, crawled, hub
from tests.registered import register_for_now


class OftenLinked(Policy):
    """Fetch what many fetched pages link to; their ids are in a dict of lists."""

    name: ClassVar[str] = "often-linked"
    n_fetches: ClassVar[int] = 0

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._sources: dict[int, list[Any]] = {page: [] for page in trusted.pages.tolist()}
        return self._priorities(trusted.pages.tolist())

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        type(self).n_fetches += 1
        links = web.links(page).tolist()
        for target in links:
            self._sources.setdefault(target, []).append(self._note(page))
        return self._priorities(links)

    def _note(self, page: int) -> Any:
        return page

    def _priorities(self, pages: list[int]) -> Priorities:
        values = [float(len(self._sources[page])) for page in pages]
        return Priorities(np.array(pages, np.uint32), np.array(values))


class Spoilt(OftenLinked):
    """The same, but after a while its state cannot be saved."""

    name: ClassVar[str] = "spoilt"

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._n_fetched = 0
        return super().begin(web, trusted)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        self._n_fetched += 1
        return super().fetched(page, web)

    def _note(self, page: int) -> Any:
        return page if self._n_fetched < 10 else lambda: page


class Unfit(OftenLinked):
    """Bad from the beginning."""

    name: ClassVar[str] = "unfit"

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._note_of = lambda page: page
        return super().begin(web, trusted)


class Trap:
    """An object whose pickle runs code when it is loaded."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


class Trapped(OftenLinked):
    """A policy whose checkpoint runs code."""

    name: ClassVar[str] = "trapped"
    file: ClassVar[Path]

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._trap = Trap(self.file)
        return super().begin(web, trusted)


@pytest.fixture(autouse=True)
def policies(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (OftenLinked, Spoilt, Unfit, Trapped):
        register_for_now(POLICIES, kind, monkeypatch)


@pytest.fixture
def site(rng: np.random.Generator) -> GraphSite:
    return GraphSite(random_web(rng, 150, 4.0, with_hosts=True))


def opened(folder: Path) -> Ledger:
    with CrawlFolder.open(folder) as crawl:
        return Ledger(crawl, CrawlPlan.of_folder(crawl))


def events_of(folder: Path) -> list[tuple[str, str]]:
    with Database.open(folder / "crawl.db", read_only=True) as database:
        return [(event.kind, event.detail["detail"]) for event in database.meta.events()]


ONE_WORKER = {"settings": {"crawl": {"workers": 1}}}


def test_a_dict_travels_through_the_file(site: GraphSite, tmp_path: Path) -> None:
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "c", policy="often-linked", budget=30, **ONE_WORKER)
    OftenLinked.n_fetches = 0
    by_checkpoint = opened(tmp_path / "c").crawl
    assert OftenLinked.n_fetches == 0, "the checkpoint was used: nothing was replayed"
    (tmp_path / "c" / "checkpoints" / "latest.npz").unlink()
    replayed = opened(tmp_path / "c").crawl
    assert OftenLinked.n_fetches == 30
    assert vars(by_checkpoint.policy) == vars(replayed.policy)
    assert len(vars(replayed.policy)["_sources"]) > 30


def test_a_small_crawl_has_a_small_checkpoint(rng: np.random.Generator, tmp_path: Path) -> None:
    """Arrays and queues have room for much more than they hold: for all links of a page, for one."""
    n = 3000
    links = rng.integers(0, n, (2, 20 * n))
    sources, targets = np.append(links[0], np.zeros(n, int)), np.append(links[1], np.arange(n))
    site = GraphSite(LinkGraph.from_links(n, sources, targets))
    measured = {"settings": {"crawl": {"workers": 1, "stop_when": "measured"}}, "until": 0.9}
    with FakeWeb(site) as web:
        crawled(web, site.url_of(0), tmp_path / "c", policy="certified", budget=45, **measured)
    checkpoint = tmp_path / "c" / "checkpoints" / "latest.npz"
    assert checkpoint.stat().st_size <= 45 * 1000 + 100_000
    assert_same_when_replayed(tmp_path / "c", checkpoint)


def assert_same_when_replayed(folder: Path, checkpoint: Path) -> None:
    restored = opened(folder).crawl
    checkpoint.unlink()
    replayed = opened(folder).crawl
    assert restored.order == replayed.order
    assert restored.certificate() == replayed.certificate()
    for one, other in zip(restored.waiting(), replayed.waiting(), strict=True):
        assert sorted(one.tolist()) == sorted(other.tolist())


def test_a_policy_that_cannot_be_saved_is_refused_before_the_first_fetch(site: GraphSite, tmp_path: Path) -> None:
    with FakeWeb(site) as web:
        with pytest.raises(InputError, match=r"^unfit: _note_of cannot be saved .*; a policy's state must be"):
            crawled(web, hub(site), tmp_path / "c", policy="unfit")
        assert web.requests == []


def test_a_crawl_continues_when_its_policy_cannot_be_saved_any_more(site: GraphSite, tmp_path: Path) -> None:
    """That is stored once a run; earlier checkpoints stay, and the order is the same in the end."""
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "whole", policy="often-linked", **ONE_WORKER)
        for budget in (3, 30, 45, None):
            crawled(web, hub(site), tmp_path / "c", policy="spoilt", budget=budget, **ONE_WORKER)
    assert StoredCrawl(tmp_path / "c").order == StoredCrawl(tmp_path / "whole").order
    noted = events_of(tmp_path / "c")
    assert [kind for kind, _ in noted] == ["no checkpoint"] * 3
    assert all(text.startswith("spoilt: _sources cannot be saved") for _, text in noted)
    assert events_of(tmp_path / "whole") == []
    with CrawlFolder.open(tmp_path / "c") as folder:
        saved = folder.read_checkpoint()
        assert saved is not None
        assert saved["position"] == 3
        ledger = Ledger(folder, CrawlPlan.of_folder(folder))
        ledger.checkpoint()
        ledger.checkpoint()
    assert len(events_of(tmp_path / "c")) == 4


def test_a_folder_of_version_0_1_0_is_opened(tmp_path: Path) -> None:
    """Its checkpoint is not read any more; its state follows from the database too."""
    folder = golden_folder("crawl-0.1.0", tmp_path)
    with np.load(folder / "checkpoints" / "latest.npz") as saved:
        old = dict(saved)
    crawl = opened(folder).crawl
    assert list(crawl.order) == old["crawl.order"].tolist()
    waiting = dict(zip(*(part.tolist() for part in crawl.waiting()), strict=True))
    assert waiting == dict(zip(old["frontier.pages"].tolist(), old["frontier.priorities"].tolist(), strict=True))
    assert crawl.policy.guarantee == old["policy.guarantee"]


@pytest.mark.parametrize(
    "damage",
    ["no state", "of version 0.2", "unsigned", "no arrays", "of another policy", "other pages", "other numbers"],
)
def test_a_strange_checkpoint_is_not_used(damage: str, site: GraphSite, tmp_path: Path) -> None:
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "c", policy="certified", budget=30, **ONE_WORKER)
        if damage == "of another policy":
            crawled(web, hub(site), tmp_path / "other", policy="fractional", budget=30, **ONE_WORKER)
    right = opened(tmp_path / "c").crawl
    with CrawlFolder.open(tmp_path / "c") as folder:
        saved = folder.read_checkpoint()
        assert saved is not None
        if damage == "no state":
            saved["state"] = np.zeros(50, np.uint8)
        elif damage == "of version 0.2":
            saved["state"] = np.frombuffer(b'{"policy": ["object", "m", "Certified", {}], "coverage": 1}', np.uint8)
        elif damage == "unsigned":  # by the state's own signature: that of the file is right
            saved["state"] = np.frombuffer(bytes(32) + pickle.dumps(Trap(tmp_path / "run")), np.uint8)
        elif damage == "no arrays":
            saved = {name: part for name, part in saved.items() if not name.startswith("state.")}
        elif damage == "other pages":
            saved["frontier.pages"] = saved["frontier.pages"] + np.uint32(1 << 20)
        elif damage == "other numbers":
            saved["crawl.order"] = saved["crawl.order"].astype(np.float64)
        if damage == "of another policy":
            shutil.copy(tmp_path / "other" / "checkpoints" / "latest.npz", folder.checkpoint_path)
        else:
            folder.write_checkpoint(saved)
    crawl = opened(tmp_path / "c").crawl
    assert crawl.order == right.order
    for mine, theirs in zip(crawl.waiting(), right.waiting(), strict=True):
        assert sorted(mine.tolist()) == sorted(theirs.tolist())
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_of_another_user_runs_no_code(
    site: GraphSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a whole and valid one, but for the key. The folder is replayed, with the same result."""
    file = tmp_path / "run"
    monkeypatch.setattr(Trapped, "file", file, raising=False)
    with FakeWeb(site) as web:
        with monkeypatch.context() as patched:
            patched.setenv("XDG_STATE_HOME", str(tmp_path / "of another user"))
            crawled(web, hub(site), tmp_path / "c", policy="trapped", budget=30, **ONE_WORKER)
            shutil.copytree(tmp_path / "c", tmp_path / "copy")
            opened(tmp_path / "copy")
            assert file.exists(), "the user who signed it runs it"
            file.unlink()
        crawled(web, hub(site), tmp_path / "c", policy="trapped", budget=60, **ONE_WORKER)
        crawled(web, hub(site), tmp_path / "whole", policy="often-linked", budget=60, **ONE_WORKER)
    assert not file.exists()
    assert StoredCrawl(tmp_path / "c").order == StoredCrawl(tmp_path / "whole").order
