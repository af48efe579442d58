"""`orienteer topic compare --topic` and `orienteer topic train-policy`, as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orienteer.graph.link_graph import LinkGraph
from tests.cli.run import one_line, orienteer, orienteer_each, refused
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.ledger.test_stored_policy import HOME, SITE, TOPIC, TRAINING
from tests.live.live_crawls import StoredCrawl, crawled
from tests.topics.small_topics import topic_file


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Topics; a crawl to compare on, and a part of it; another one to learn from; a graph; labels."""
    folder = tmp_path_factory.mktemp("topics")
    topic = topic_file(folder, *TOPIC)
    topic_file(folder, 'kind = "url-pattern"', 'patterns = ["orchids/./."]', name="url.toml")
    topic_file(folder, 'kind = "keywords"', 'words = ["basalt"]', name="none.toml")
    topic_file(folder, 'kind = "bayes"', 'positive = ["x"]', name="untrained.toml")
    with FakeWeb(MadeSite(TRAINING)) as web:
        crawled(web, "http://a.test/", folder / "other", topic=topic, policy="scent")
    with FakeWeb(MadeSite(SITE)) as web:
        crawled(web, HOME, folder / "crawl")
        crawled(web, HOME, folder / "part", budget=40, policy="breadth-first")
    LinkGraph.from_links(3, [0, 1], [1, 2], urls=[HOME, HOME + "orchids/", HOME + "orchids/1/1"]).save(
        folder / "web.npz"
    )
    LinkGraph.from_links(3, [0, 1], [1, 2]).save(folder / "nameless.npz")
    targets = [url for url in SITE if "/sand/" in url or "/orchids/0/" in url]
    (folder / "labels.txt").write_text("".join(f"{url} 1\n" for url in targets))
    return folder


def trained(place: Path, folder: Path) -> list[object]:
    """Both models, as options of compare."""
    names = ("apprentice", "context-graph")
    each = [["topic", "train-policy", name, place / "other", "-o", folder / f"{name}.npz"] for name in names]
    assert [done.returncode for done in orienteer_each(each)] == [0, 0]
    return [word for name in names for word in ("--model", folder / f"{name}.npz")]


def test_all_focused_policies_on_a_crawl(place: Path, tmp_path: Path) -> None:
    plot = tmp_path / "harvest.svg"
    asked = ["topic", "compare", place / "crawl", "--topic", place / "topic.toml"]
    untrained, after_training, informed = orienteer_each(
        [[*asked, "--plot", plot], [*asked, "--json"], [*asked, *trained(place, tmp_path), "--json"]]
    )
    assert "relevant pages among the 67 that can be reached (67 in all)" in untrained.stdout
    for name in ("apprentice (untrained)", "context-graph (untrained)", "scent ", "navigational ", "breadth-first "):
        assert name in untrained.stdout
    assert "orienteer topic train-policy" in untrained.stdout
    assert "scent" in plot.read_text()
    before, after = (json.loads(done.stdout) for done in (after_training, informed))
    assert set(before) == {
        "version", "task", "n_pages", "n_reached", "n_targets", "best_area", "policies", "n_left_out", "has_words",
        "plots",
    }  # fmt: skip
    assert (before["task"], before["n_left_out"], before["has_words"]) == ("topic.toml", 0, True)
    areas = [{one["policy"]: one["area"] for one in facts["policies"]} for facts in (before, after)]
    for name in ("apprentice", "context-graph"):
        assert areas[0][name] == areas[0]["breadth-first"] < areas[1][name]
    assert areas[0]["scent"] == areas[1]["scent"]
    marked = [[one["policy"] for one in facts["policies"] if one.get("untrained")] for facts in (before, after)]
    assert (sorted(marked[0]), marked[1]) == (["apprentice", "context-graph"], [])


def test_other_webs_and_starts(place: Path) -> None:
    topic, names = ("--topic", place / "topic.toml"), ("--policies", "navigational")
    archive, part, start, graph, labels = orienteer_each(
        [
            ["topic", "compare", place / "crawl" / "archive", *topic, *names, "--start", HOME, "--json"],
            ["topic", "compare", place / "part", *topic, *names],
            ["topic", "compare", place / "crawl", *topic, *names, "--start", HOME + "orchids/", "--json"],
            ["topic", "compare", place / "web.npz", "--topic", place / "url.toml", *names],
            ["topic", "compare", place / "crawl", *topic, *names, "--labels", place / "labels.txt"],
        ]
    )
    assert json.loads(archive.stdout)["n_reached"] == 67
    n_known = len(StoredCrawl(place / "part").urls)
    assert f"Left out: {n_known - 40} pages that were not fetched." in part.stdout
    assert json.loads(start.stdout)["n_reached"] == 22
    assert "1 relevant pages among the 3" in graph.stdout
    assert "There are no texts, so the policies see no words." in graph.stdout
    assert "29 relevant pages" in labels.stdout
    assert "with precision" in labels.stdout


def test_labels_are_the_truth_and_policies_see_the_topic(place: Path) -> None:
    named = ("--topic", place / "topic.toml", "--labels", place / "labels.txt", "--policies", "breadth-first")
    facts = json.loads(orienteer("topic", "compare", place / "crawl", *named, "--json").stdout)
    assert (facts["task"], facts["n_targets"]) == ("labels.txt", 29)
    assert 0 < facts["recall"] < facts["precision"] < 1


def test_training_for_people_and_for_machines(place: Path, tmp_path: Path) -> None:
    topic = tmp_path / "orchids.toml"
    topic.write_text((place / "topic.toml").read_text())
    command = ["topic", "train-policy", "context-graph:layers=3", place / "other"]
    printed, after_training = orienteer_each(
        [[*command, "--topic", topic], [*command, "-o", tmp_path / "m.npz", "--json"]]
    )
    assert "67 pages" in printed.stdout
    assert (tmp_path / "orchids-context-graph.npz").exists()
    assert "context-graph:layers=3,model=" in printed.stdout.replace("\n", "")
    facts = json.loads(after_training.stdout)
    assert (facts["policy"], facts["topic"], facts["threshold"]) == ("context-graph:layers=3", None, 0.4)
    assert facts["sites"][0]["n_pages"] == 67
    assert (tmp_path / "m.npz").read_bytes() == (tmp_path / "orchids-context-graph.npz").read_bytes()
    model = f"model={facts['model']}"
    simulated = orienteer("simulate", place / "web.npz", "-p", "context-graph", "--set", model, "--json")
    assert json.loads(simulated.stdout)["policy"] == f"context-graph:{model}"


def test_a_crawl_by_a_trained_policy(place: Path, tmp_path: Path) -> None:
    trained(place, tmp_path)
    with FakeWeb(MadeSite(SITE)) as web:
        named = ["crawl", HOME, "--topic", place / "topic.toml", "--connect-to", web.address, "--delay", "0", "-q"]
        named += ["-o", tmp_path / "crawl", "--budget", "30", "--policy"]
        printed = refused(*named, "apprentice")
        assert "policy apprentice has not learned on other sites yet; train it first: orienteer topic train-" in printed
        orienteer(*named, f"apprentice:model={tmp_path}/apprentice.npz,batch=2")
        (tmp_path / "apprentice.npz").unlink()
        orienteer("crawl", tmp_path / "crawl", "--budget", "40", "-q")
    assert len(StoredCrawl(tmp_path / "crawl").order) == 40


def test_what_is_missing_is_one_clear_line(place: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.npz").write_bytes(b"PK")
    models = trained(place, tmp_path)
    topic, crawl = ["--topic", place / "topic.toml"], ["topic", "compare", place / "crawl"]
    train = ["topic", "train-policy"]
    cases = [
        ([*crawl, "--topic", place / "absent.toml"], "absent.toml: no such topic file"),
        ([*crawl, "--topic", place / "none.toml"], "none.toml: no page is relevant (relevance of 0.5 or more)"),
        ([*crawl, "--topic", place / "untrained.toml"], "the topic is not trained"),
        ([*crawl, *topic, "--start", "http://c.test/"], "no page of the graph has the URL"),
        (
            ["topic", "compare", place / "part", *topic, "--start", HOME + "orchids/1/5"],
            "known, but it was not fetched",
        ),
        ([*crawl, *topic, "--start", HOME + "sand/"], "no relevant page can be reached from the start"),
        (
            ["topic", "compare", place / "web.npz", *topic],
            "a graph has no texts, and a topic of kind keywords reads them",
        ),
        (["topic", "compare", place / "nameless.npz", "--topic", place / "url.toml"], "the graph has no URLs"),
        (["topic", "compare", tmp_path / "empty", *topic], "empty: this is no crawl folder and no graph"),
        ([*crawl, *models, "--labels", place / "labels.txt"], "--model goes with --topic"),
        ([*crawl, *topic, "--model", tmp_path / "broken.npz"], "broken.npz: the model is corrupt"),
        ([*crawl, *topic, *models[:2], *models[:2]], "there is another model of apprentice already"),
        ([*crawl, *topic, *models, "--policies", "scent"], "apprentice is not among the policies compared"),
        ([*crawl, *topic, "--policies", f"context-graph:model={models[1]}"], "is of kind 'apprentice', not"),
        ([*train, "scent", place / "other"], "(choices: apprentice, context-graph)"),
        ([*train, "apprentice", place / "crawl"], "this is no crawl with a topic"),
        ([*train, "apprentice", tmp_path / "empty", *topic], "empty: this is no crawl folder and no graph"),
        ([*train, "apprentice", place / "crawl", "--topic", place / "none.toml"], "no page in it is on topic"),
        ([*train, "apprentice", place / "other", "-o", tmp_path / "no" / "m.npz"], "no does not exist"),
    ]
    for (command, message), done in zip(cases, orienteer_each([command for command, _ in cases]), strict=True):
        assert done.returncode == 2, command
        assert message in one_line(done.stdout, done.stderr)
