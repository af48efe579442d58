from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from orienteer.graph.link_graph import LinkGraph
from orienteer.inspect.snapshot import web_at
from orienteer.live.start_pages import paper_value_of_crawl
from orienteer.seeds.select import seed_selection
from tests.cli.run import orienteer, orienteer_each, refused
from tests.conftest import random_web
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled

URLS = ["http://a.example.org/", "1984", "Title, with spaces", "http://example.net/", "# no comment", "http://b.net/"]


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """A chain, 0 to 3, a page apart, and a page that links to it; names that are no URLs are among them."""
    path = tmp_path / "web.npz"
    LinkGraph.from_links(6, [0, 1, 2, 5], [1, 2, 3, 4], urls=URLS).save(path)
    return path


def test_a_table_of_seeds_with_what_each_adds(web: Path) -> None:
    printed = orienteer("seeds", web, "-k", 3, "--hops", 2, "--method", "greedy").stdout
    assert "2 seeds" not in printed
    assert "3 seeds by greedy; 2 hops." in printed
    assert "50.0 %" in printed
    assert URLS[0] in printed
    assert "Together they cover 6 of 6 pages (100.0 %)" in printed
    assert "s of CPU" in printed


def test_json_says_the_same_as_python(web: Path) -> None:
    facts = json.loads(orienteer("seeds", web, "-k", 3, "--hops", 2, "--json").stdout)
    found = seed_selection(LinkGraph.load(web), 3, 2)
    assert [entry["page"] for entry in facts["seeds"]] == found.pages.tolist()
    assert [entry["n_pages"] for entry in facts["seeds"]] == [seed.n_pages for seed in found.seeds]
    assert facts["seeds"][0]["url"] == URLS[found.pages[0]]
    assert facts["n_covered"] == found.n_covered == 6
    assert facts["share"] == 1.0
    assert facts["method"] == "greedy"
    assert facts["depth"] is None, "greedy looks as far as a crawl goes"
    assert facts["approximation"] is None


def test_the_file_of_seeds_is_read_by_trust(web: Path, tmp_path: Path) -> None:
    out = tmp_path / "seeds.txt"
    values = tmp_path / "values.txt"
    values.write_text("9\n8\n7\n6\n5\n4\n")
    orienteer("seeds", web, "-k", 6, "--hops", 0, "--method", "greedy", "--value", values, "--output", out)
    assert out.read_text().splitlines() == [URLS[0], "1", URLS[2], URLS[3], "4", URLS[5]]
    printed = json.loads(orienteer("simulate", web, "--trust", out, "--json").stdout)
    assert printed["n_trusted"] == 6


def test_ids_where_there_are_no_urls(tmp_path: Path) -> None:
    web = tmp_path / "web.npz"
    LinkGraph.from_links(4, [0, 2], [1, 3]).save(web)
    orienteer("seeds", web, "-k", 2, "--output", tmp_path / "seeds.txt")
    assert (tmp_path / "seeds.txt").read_text() == "0\n2\n"


def test_values_may_be_negative_and_end_it_early(web: Path, tmp_path: Path) -> None:
    values = tmp_path / "values.txt"
    values.write_text("http://example.net/ -10\n4 2.5\n")
    printed = orienteer("seeds", web, "-k", 4, "--hops", 3, "--method", "greedy", "--value", values).stdout
    assert "worth 3.50" in printed
    assert "4 were requested; no further page that greedy proposes would add value." in printed


def test_a_sketched_selection_says_how_far_it_may_be_off(web: Path) -> None:
    printed = orienteer("seeds", web, "-k", 2, "--method", "sketched-greedy", columns=400).stdout
    assert "This is approximate: weights were estimated from 32 ranks per page" in printed
    assert "with 99 % confidence" in printed


def test_per_host_and_per_site(web: Path) -> None:
    by_host = json.loads(orienteer("seeds", web, "-k", 2, "--per", "host", "--json").stdout)
    assert by_host["per"] == "host"
    assert all("host" in entry for entry in by_host["seeds"])
    by_site = json.loads(orienteer("seeds", web, "-k", 2, "--per", "site", "--json").stdout)
    assert by_site == json.loads(orienteer("seeds", web, "-k", 2, "--per", "site", "--json").stdout) | {
        "cpu_s": by_site["cpu_s"]
    }


def test_bad_input_is_one_line(web: Path, tmp_path: Path) -> None:
    values = tmp_path / "values.txt"
    values.write_text("1\n2\n")
    cases = [
        (["-k", 0], "k is 0; at least one seed is needed"),
        (["-k", 7], "k is 7, but the graph has 6 pages"),
        (["--hops", -1, "-k", 1], "hops is -1"),
        (["--depth", -1, "-k", 1], "depth is -1"),
        (["--method", "gredy"], "no seed method named 'gredy'; did you mean 'greedy'?"),
        (["-k", 1, "--value", values], "2 values for 6 pages"),
        (["-k", 1, "--value", tmp_path / "none"], "no such file of values"),
        (["-k", 1, "--per", "page"], "no division of the graph named 'page'"),
        (["-k", 1, "--output", tmp_path / "none" / "x"], "does not exist"),
    ]
    of_comparisons = [
        (["-k", 1, "--plot", tmp_path / "x.gif"], "a plot ends in .png or .svg"),
        (["-k", 1, "--hops", 0], "hops is 0; a comparison needs at least one"),
        (["-k", 1, "--per", "host"], "no host has 100 pages"),
    ]
    commands = [["seeds", web, *arguments] for arguments, _ in cases]
    commands += [["compare-seeds", web, *arguments] for arguments, _ in of_comparisons]
    for done, (arguments, message) in zip(orienteer_each(commands), cases + of_comparisons, strict=True):
        assert done.returncode == 2, arguments
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert message in done.stderr
    assert "no such file" in refused("seeds", tmp_path / "missing.npz").lower()


def test_all_methods_side_by_side_with_a_plot(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "web.npz"
    random_web(rng, 300, 2.0).save(path)
    values = tmp_path / "values.txt"
    values.write_text("".join(f"{worth}\n" for worth in rng.integers(-3, 6, 300)))
    plot = tmp_path / "seeds.png"
    command = ["compare-seeds", path, "-k", 4, "--hops", 3, "--value", values]
    printed = orienteer(*command, "--plot", plot).stdout
    assert "Improvement over random seeds; 300 pages." in printed
    assert "max-weight(2)" in printed
    assert "value covered, 4 seeds, by hops" in printed
    assert plot.read_bytes().startswith(b"\x89PNG")
    facts = json.loads(orienteer(*command, "--json").stdout)
    assert facts["by_seeds"]["greedy"]["value"]["of_greedy"] == [1.0] * 4
    assert len(facts["by_hops"]["random"]["pages"]["coverage"]) == 3


# -- the paper's rule -------------------------------------------------------------------------------------------

PLACES = {
    "http://a.test/": "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=http://b.test/>b</a>",
    "http://a.test/1": "the same",
    "http://a.test/2": "the same",
    "http://a.test/3": "<a href=/later>l</a><a href=/much-later>m</a>",
    "http://b.test/": "<a href=/later>l</a>",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that has done all of PLACES, and nothing behind them."""
    path = tmp_path_factory.mktemp("seeds") / "crawl"
    with FakeWeb(MadeSite(PLACES)) as fake:
        crawled(fake, "http://a.test/", path, budget=5, policy="breadth-first", settings={"crawl": {"workers": 1}})
    return path


def values_of(path: Path, *more: object) -> dict[str, float]:
    """What each page is worth: it is a seed that covers itself alone."""
    command = ["seeds", path, "-k", 8, "--hops", 0, "--method", "out-degree", "--value", "paper", *more, "--json"]
    return {entry["url"]: entry["value"] for entry in json.loads(orienteer(*command).stdout)["seeds"]}


def test_the_paper_values_of_a_crawl(folder: Path, tmp_path: Path) -> None:
    values = values_of(folder)
    # Of four pages of a.test that are done, one is a copy.
    assert values["http://a.test/3"] == pytest.approx(1 + 2 * 0.75)
    assert values["http://b.test/"] == 2
    assert {values[url] for url in values.keys() - {"http://a.test/3", "http://b.test/"}} == {1}
    web = web_at(folder)
    assert sorted(values.values()) == pytest.approx(sorted(paper_value_of_crawl(web).tolist()), abs=1e-9)
    spam, clicked = tmp_path / "spam.txt", tmp_path / "clicked.txt"
    spam.write_text("# bad\nhttp://b.test/\n")
    clicked.write_text("HTTP://A.test:80/3#top\n0\n")
    with_names = values_of(folder, "--spam", spam, "--clicked", clicked)
    assert with_names["http://a.test/"] == 10
    assert with_names["http://a.test/3"] == pytest.approx(11.5)
    assert with_names["http://b.test/"] == -9


def test_the_components_of_the_paper_value_are_printed(folder: Path, web: Path, tmp_path: Path) -> None:
    spam = tmp_path / "spam.txt"
    spam.write_text("0\n1\n")
    printed = orienteer("seeds", folder, "-k", 2, "--value", "paper", "--spam", spam, columns=200).stdout
    line = "1 per page, -10 for 2 spam pages, at most 1 more for each of 3 links to pages not crawled."
    assert f"Value by the paper: {line}\n" in printed
    facts = json.loads(orienteer("seeds", folder, "-k", 2, "--value", "paper", "--json").stdout)
    assert (facts["n_spam"], facts["n_clicked"], facts["n_uncrawled_links"]) == (0, 0, 3)
    plain = orienteer("seeds", web, "-k", 3, "--value", "paper").stdout
    assert "Value by the paper: 1 per page.\n" in plain, "all pages of a plain graph count as crawled"
    without = orienteer("seeds", web, "-k", 3).stdout
    assert plain.replace("Value by the paper: 1 per page.\n", "").split("; ")[:-1] == without.split("; ")[:-1]
    compared = orienteer("compare-seeds", folder, "-k", 2, "--hops", 1, "--value", "paper", columns=200).stdout
    assert "3 links to pages not crawled" in compared
    assert "value covered, 1 hop, by seeds" in compared


def test_a_file_may_be_called_paper(web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("paper").write_text("3 7\n")
    facts = json.loads(orienteer("seeds", web, "-k", 1, "--hops", 0, "--value", "./paper", "--json").stdout)
    assert facts["seeds"][0]["value"] == 7
    assert "n_spam" not in facts


def test_bad_input_for_the_paper_value_is_one_line(web: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("0\nhttp://nowhere.test/\n")
    cases = [
        (["--spam", wrong], f"--spam {wrong}: goes with --value paper only"),
        (["--clicked", wrong, "--value", wrong], f"--clicked {wrong}: goes with --value paper only"),
        (["--value", "paper", "--spam", wrong], "wrong.txt, line 2: no page of the graph has the URL"),
        (["--value", "paper", "--clicked", tmp_path / "none"], "none: no such file of pages"),
        (["--value", "papers"], "papers: no such file of values"),
    ]
    ended = orienteer_each([["seeds", web, "-k", 1, *arguments] for arguments, _ in cases])
    for done, (arguments, message) in zip(ended, cases, strict=True):
        assert done.returncode == 2, arguments
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)
        assert message in done.stderr
