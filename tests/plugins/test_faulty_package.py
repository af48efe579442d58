"""With faulty plug-ins, commands work, and `orienteer plugins` reports the problems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orienteer.graph import synthetic as shapes
from tests.exports.crawls import plain_crawl
from tests.plugins.commands import orienteer
from tests.topics.small_topics import EXAMPLES, topic_file, write_examples

WRONG = {
    ("policy", "unfinished"): "Unfinished does not define fetched",
    ("policy", "no-policy"): "NoPolicy is not a subclass of orienteer.policies.policy.Policy",
    ("policy", "breadth-first"): "the name 'breadth-first' is taken by the policy of orienteer",
    ("policy", "last-found"): "the name 'last-found' is taken by the policy of orienteer-example 0.3.0",
    ("policy", "other-name"): "orienteer_faulty.policies:Named is named 'named'; its entry point must have the same",
    ("policy", "no-default"): "NoDefault has settings without a default value: bias",
    ("policy", "nowhere"): "AttributeError: module 'orienteer_faulty.policies' has no attribute 'Nowhere'",
    ("seed method", "max-weight"): "the name 'max-weight' is taken by the seed method of orienteer",
    ("kind of topic", "needs-more"): "ModuleNotFoundError: No module named 'a_package_that_nobody_has'",
    ("export format", "leaves"): "SystemExit: not supported on this machine",
    ("graph format", "no-format"): "is not a GraphFormat of orienteer.graph.formats",
    ("fetcher", "no-fetcher"): "NoPolicy does not define start, poll, cancel, close, n_in_flight, uses_network",
    ("fetcher", "libcurl"): "the name 'libcurl' is taken by the fetcher of orienteer",
    ("page hook", "nowhere"): "ModuleNotFoundError: No module named 'orienteer_faulty.nowhere'",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    shapes.cycle(9).save(folder / "web.npz")
    plain_crawl(folder / "crawl")
    write_examples(folder)
    topic_file(folder, 'kind = "needs-more"')
    topic_file(folder, 'kind = "bayes"', *EXAMPLES, name="good.toml")
    return folder


def test_all_problems_are_reported(faulty: dict[str, str], folder: Path) -> None:
    found = json.loads(orienteer(faulty, "plugins", "--json", folder=folder).stdout)
    said = {(one["kind"], one["name"]): one["error"] for one in found["problems"]}
    assert said.keys() == WRONG.keys()
    for key, words in WRONG.items():
        assert words in said[key]
    assert {(one["package"], one["version"]) for one in found["problems"]} == {("orienteer-faulty", "0.1.0")}
    names = {one["name"]: one["package"] for one in found["plugins"]}
    assert names["last-found"] == "orienteer-example"  # the first by the name of the package
    assert names["fine-all-the-same"] == "orienteer-faulty"  # though its neighbour is not
    done = orienteer(faulty, "plugins", folder=folder)
    assert done.stderr.count("\n") == len(WRONG)
    assert "cannot be loaded: policy 'unfinished' of orienteer-faulty 0.1.0: Unfinished does not define" in done.stderr
    assert "fine-all-the-same" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "web.npz", "--policy", "breadth-first"],
        ["simulate", "web.npz", "--policy", "last-found"],
        ["compare", "web.npz", "--levels", "0.5"],
        ["seeds", "web.npz", "-k", "2", "--method", "fine-all-the-same"],
        ["compare-seeds", "web.npz", "-k", "2", "--hops", "2"],
        ["topic", "test", "good.toml", "--folds", "3"],
        ["export", "crawl", "--format", "url-list"],
        ["graph", "convert", "web.npz", "web.adj"],
    ],
    ids=" ".join,
)
def test_commands_work_and_are_silent_about_it(faulty: dict[str, str], folder: Path, arguments: list[str]) -> None:
    done = orienteer(faulty, *arguments, "--json", folder=folder)
    assert done.stderr == ""
    assert isinstance(json.loads(done.stdout), dict)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "web.npz", "--policy", "unfinished"], WRONG["policy", "unfinished"]),
        (["simulate", "web.npz", "--policy", "something"], "plug-ins that could not be loaded: 7 (see orienteer plug"),
        (["topic", "test", "topic.toml"], WRONG["kind of topic", "needs-more"]),
        (["export", "crawl", "--format", "leaves"], WRONG["export format", "leaves"]),
        (["graph", "info", "web.npz", "--format", "no-format"], WRONG["graph format", "no-format"]),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_requesting_one_reports_why_it_is_missing(
    faulty: dict[str, str], folder: Path, arguments: list[str], message: str
) -> None:
    done = orienteer(faulty, *arguments, folder=folder, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("orienteer: no ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert "could not be loaded" in done.stderr
