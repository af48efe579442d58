"""`orienteer topic compare --labels`: focused policies as a person compares them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orienteer.evaluate.harvest import harvest_policies
from orienteer.graph.link_graph import LinkGraph
from tests.cli.run import orienteer, refused


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Home links to a hub of ten relevant pages, and to one of forty others."""
    path = tmp_path_factory.mktemp("webs") / "web.npz"
    sources = [0, 0, *[1] * 40, *[2] * 10]
    urls = [f"http://a.example/{page}" for page in range(53)]
    LinkGraph.from_links(53, sources, [1, 2, *range(3, 43), *range(43, 53)], urls=urls).save(path)
    (path.parent / "topic.txt").write_text("# relevant\n" + "".join(f"{urls[page]} 1\n" for page in range(43, 53)))
    return path


def test_all_focused_policies_are_in_the_table(web: Path, tmp_path: Path) -> None:
    plot = tmp_path / "harvest.svg"
    labels = web.parent / "topic.txt"
    printed = orienteer(
        "topic", "compare", web, "--labels", labels, "--start", "http://a.example/0", "--plot", plot
    ).stdout
    assert "10 relevant pages among the 53 that can be reached" in printed
    for name in harvest_policies():
        assert name in printed
    assert "scent" in plot.read_text()


def test_as_json_it_has_the_curves(web: Path) -> None:
    arguments = ("--labels", web.parent / "topic.txt", "--start", 0, "--policies", "navigational:batch=5,breadth-first")
    facts = json.loads(orienteer("topic", "compare", web, *arguments, "--json").stdout)
    assert facts["n_targets"] == 10
    assert {one["policy"] for one in facts["policies"]} == {"navigational:batch=5", "breadth-first"}
    for one in facts["policies"]:
        assert one["pages_until"]["0.9"] <= 53
        assert one["curve"]["values"][-1] == 1


@pytest.mark.parametrize(
    ("labels", "start", "message"),
    [
        ("0 0\n1 0\n", "0", "no page is relevant"),
        ("43 1\n", "1", "no relevant page can be reached from the start"),
        ("43 2\n", "0", "page 43 has 2.0; it must be from 0 to 1"),
        ("43 one\n", "0", "'one' is not a number"),
        ("99 1\n", "0", "page 99 is not in the graph"),
        ("43 1\n", "nowhere", "no page of the graph has the URL 'nowhere'"),
        ("", "0", "names no value"),
    ],
)
def test_labels_of_no_use_are_one_clear_line(web: Path, tmp_path: Path, labels: str, start: str, message: str) -> None:
    file = tmp_path / "labels.txt"
    file.write_text(labels)
    assert message in refused("topic", "compare", web, "--labels", file, "--start", start)


def test_a_start_needs_labels(web: Path) -> None:
    assert "Give --topic, --labels or both" in refused("topic", "compare", web, "--start", 0)
