"""`simulate` and `compare` as a person runs them: real processes, real output."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer.crawl.simulate import simulate
from orienteer.evaluate.compare import compare
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.synthetic import synthetic_web
from orienteer.policies import make_policy
from tests.cli.run import one_line, orienteer, orienteer_each, refused


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("webs") / "web"
    orienteer("graph", "generate", path, "--pages", 2000, "--degree", 8, "--urls")
    return path


def json_output(*arguments: object, code: int = 0) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(orienteer(*arguments, "--json", code=code).stdout)
    return facts


def test_simulate_prints_what_was_proved_and_what_is_true(web: Path) -> None:
    printed = orienteer("simulate", web, "--policy", "rankmass", "--until", 0.9).stdout
    for expected in ("rankmass", "pages fetched", "coverage", "at least 9", "at most 9", "simulation only", "CPU time"):
        assert expected in printed


def test_simulate_as_json_is_what_the_library_says(web: Path) -> None:
    more = ("--until", 0.9, "--trust", "ids:0,7")
    facts = json_output("simulate", web, "-p", "windowed-rankmass", "--set", "window=0.3", *more)
    in_one_word = json_output("simulate", web, "-p", "windowed-rankmass:window=0.3", *more)
    assert (in_one_word["policy"], in_one_word["n_fetched"]) == (facts["policy"], facts["n_fetched"])
    graph = LinkGraph.load(web)
    trace = simulate(graph, "windowed-rankmass", trust=[0, 7], until=0.9, window=0.3)
    assert facts["policy"] == "windowed-rankmass:window=0.3"
    assert (facts["n_fetched"], facts["stopped_because"], facts["goal_reached"]) == (trace.n_fetched, "coverage", True)
    assert (facts["n_pages"], facts["n_trusted"]) == (2000, 2)
    assert facts["own_guarantee"] == pytest.approx(trace.proved)
    assert trace.guarantee == facts["certificate"]["lower"] >= facts["own_guarantee"], "the better of both proofs"
    assert facts["certificate"]["lower"] == pytest.approx(trace.certificate.lower)
    truth = pagerank(graph, [0, 7])[trace.order].sum()
    assert facts["true_coverage"] == pytest.approx(truth, abs=1e-5)
    assert facts["certificate"]["lower"] <= facts["true_coverage"] <= facts["certificate"]["upper"]


@pytest.mark.parametrize(
    ("policy", "settings"),
    [("certified", {}), ("fractional", {}), ("breadth-first", {}), ("opic", {}), ("certified", {"confidence": 0.99})],
)
@pytest.mark.parametrize("number", [1, 2])
def test_simulate_and_the_library_have_the_same_defaults(
    policy: str, settings: dict[str, float], number: int, tmp_path: Path
) -> None:
    """On a web with more pages than are trusted, and nothing named but the policy and the goal."""
    graph = synthetic_web(600, mean_degree=6, rng=number)
    graph.save(tmp_path / "g.npz")
    options = [part for value in settings.values() for part in ("--stop-when", f"measured:{value}")]
    order = tmp_path / "order.txt"
    facts = json_output("simulate", tmp_path / "g.npz", "-p", policy, "--until", 0.8, *options, "--order-out", order)
    trace = simulate(graph, policy, until=0.8, **settings)  # type: ignore[arg-type]
    assert facts["n_trusted"] == np.count_nonzero(trace.trusted.vector(600)) == 160
    assert facts["damping"] == trace.damping == make_policy(policy).damping
    assert (facts["n_fetched"], facts["stopped_because"]) == (trace.n_fetched, trace.stopped_because)
    assert [int(line) for line in order.read_text().split()] == trace.order.tolist()
    if not settings:
        assert simulate(graph, until=0.8).order.tolist() == simulate(graph, "certified", until=0.8).order.tolist()


def test_compare_and_the_library_trust_the_same_pages(tmp_path: Path) -> None:
    graph = synthetic_web(600, mean_degree=6, rng=3)
    graph.save(tmp_path / "g.npz")
    facts = json_output("compare", tmp_path / "g.npz", "--policies", "certified", "--levels", "0.8")
    found = compare(graph, ["certified"], levels=[0.8])
    assert facts["n_trusted"] == found.n_trusted == 160


def test_the_certificate_stops_a_proving_policy_earlier(web: Path) -> None:
    own = json_output("simulate", web, "-p", "rankmass", "--until", 0.9)
    tight = json_output("simulate", web, "-p", "rankmass", "--until", 0.9, "--stop-when", "proved,certificate")
    assert tight["n_fetched"] < own["n_fetched"]
    assert tight["certificate"]["lower"] >= 0.9 > tight["own_guarantee"]


def test_the_coverage_is_measured_where_that_is_asked_for(web: Path) -> None:
    more = (web, "--trust", "ids:0,7", "--until", 0.6, "--stop-when", "measured:0.99")
    facts = json_output("simulate", *more)
    trace = simulate(LinkGraph.load(web), "certified", trust=[0, 7], until=0.6, confidence=0.99, rng=0)
    assert facts["n_fetched"] == trace.n_fetched
    assert trace.measured is not None
    assert facts["measured"] == trace.measured.as_dict()
    assert facts["true_coverage"] >= 0.6
    if facts["stopped_because"] == "measured coverage":
        assert "at least 60 % with 99 % confidence" in orienteer("simulate", *more).stdout
    seeds = [json_output("simulate", *more, "--rng", seed)["measured"]["estimate"] for seed in (1, 1, 2)]
    assert seeds[0] == seeds[1] != seeds[2]
    assert json_output("simulate", web, "--until", 0.6)["measured"] is None
    assert "confidence is 2.0" in refused("simulate", web, "--until", 0.6, "--stop-when", "measured:2")


EXIT_CODES: list[tuple[list[Any], int, str]] = [
    (["--until", 0.5], 0, "coverage"),
    (["--until", 0.5, "--budget", 1900], 0, "coverage"),
    (["--until", 0.99, "--budget", 10], 3, "budget"),
    (["--budget", 10], 0, "budget"),
    (["--budget", 100_000], 0, "frontier empty"),
    ([], 0, "frontier empty"),
    (["--until", 0.9999999999999], 3, "frontier empty"),
    (["--until", 1], 0, "frontier empty"),
]


def test_the_exit_code_says_whether_the_goal_was_reached(web: Path) -> None:
    ends = orienteer_each([["simulate", web, "-p", "fractional", *arguments, "--json"] for arguments, *_ in EXIT_CODES])
    for end, (arguments, code, reason) in zip(ends, EXIT_CODES, strict=True):
        facts = json.loads(end.stdout)
        is_reached = code == 0 and reason != "budget"  # a limit is not a goal
        assert (end.returncode, facts["stopped_because"], facts["goal_reached"]) == (code, reason, is_reached), (
            arguments
        )
    orienteer("simulate", web, "--until", 0.99, "--budget", 10, code=3)


def test_time_can_be_simulated(web: Path) -> None:
    facts = json_output("simulate", web, "--budget", 50, "--workers", 4, "--delay", 2, "--latency", 0.5)
    assert facts["n_fetched"] == 50
    assert facts["virtual_s"] >= 0.5
    assert "virtual time" in orienteer("simulate", web, "--budget", 5, "--latency", 1).stdout


@pytest.mark.parametrize("name", ["order.tsv", "order.tsv.gz"])
def test_the_order_is_written_with_urls(web: Path, tmp_path: Path, name: str) -> None:
    orienteer("simulate", web, "-p", "opic", "--trust", "ids:4", "--budget", 20, "--order-out", tmp_path / name)
    data = (tmp_path / name).read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).decode().splitlines()
    graph = LinkGraph.load(web)
    order = simulate(graph, "opic", trust=[4], budget=20).order.tolist()
    assert lines == [f"{page}\t{graph.urls[page]}" for page in order]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_graph_without_urls_has_its_order_written_as_ids(web: Path, tmp_path: Path) -> None:
    graph = LinkGraph.load(web)
    LinkGraph(graph.offsets, graph.targets).save(tmp_path / "plain.npz")
    orienteer("simulate", tmp_path / "plain.npz", "--trust", "ids:4", "--budget", 2, "--order-out", tmp_path / "order")
    assert (tmp_path / "order").read_text().splitlines()[0] == "4"


def test_explain_says_where_a_page_stands_and_who_gave_it_mass(web: Path) -> None:
    graph = LinkGraph.load(web)
    trace = simulate(graph, "certified", trust=[0], budget=30)
    linked = {target for page in trace.order.tolist() for target in graph.links(page).tolist()}
    waiting = max(linked - set(trace.order.tolist()))
    common = ["simulate", web, "--trust", "ids:0", "--budget", 30]
    fetched = json_output(*common, "--explain", graph.urls[int(trace.order[9])])["explain"]
    assert (fetched["page"], fetched["position"]) == (int(trace.order[9]), 9)
    assert sum(source["share"] for source in fetched["sources"]) == pytest.approx(1, abs=1e-6)
    unfetched = json_output(*common, "--explain", waiting)["explain"]
    assert unfetched["position"] is None
    assert unfetched["frontier_position"] == trace.explain(waiting).frontier_position
    printed = orienteer(*common, "--explain", waiting).stdout
    for expected in (f"Page {waiting} http://", "not fetched", "come before it", "share of its mass"):
        assert expected in printed


def test_trust_can_be_named_in_many_ways(web: Path, tmp_path: Path) -> None:
    graph = LinkGraph.load(web)
    (tmp_path / "trust.txt").write_text(f"# mine\n\n{graph.urls[5]}\n7 2.5\n{graph.urls[9]}\t0.5\r\n")
    counts = {
        "uniform": 2000,
        "top:12": 12,
        "top:99999": 2000,
        "host-homes": int(graph.hosts.max()) + 1,
        "ids:1, 2,2": 2,
        str(tmp_path / "trust.txt"): 3,
    }
    common = ["simulate", web, "--budget", 1, "--json"]
    ends = orienteer_each([*([*common, "--trust", trust] for trust in counts), common])
    assert [json.loads(end.stdout)["n_trusted"] for end in ends] == [*counts.values(), 160]


def test_trust_in_a_file_is_weighted(web: Path, tmp_path: Path) -> None:
    (tmp_path / "trust.txt").write_text("3 1\n8 3\n")
    facts = json_output(
        "simulate", web, "-p", "fractional", "--budget", 1, "--trust", tmp_path / "trust.txt", "--explain", 8
    )
    assert facts["explain"]["trust"] == 0.75
    assert facts["explain"]["position"] == 0


def test_compare_prints_a_row_for_each_policy(web: Path) -> None:
    printed = orienteer(
        "compare", web, "--policies", "certified,rankmass,random", "--levels", "0.9", "--trust", "top:5"
    )
    rows = [
        line.split()
        for line in printed.stdout.splitlines()
        if line.split()[:1] in (["certified"], ["rankmass"], ["random"])
    ]
    assert len(rows) == 3
    assert rows[0][2] == "–"  # certified has no guarantee of its own
    for heading in ("actual", "own", "cert.", "CPU s"):
        assert heading in printed.stdout


def test_compare_is_as_wide_as_the_terminal(web: Path) -> None:
    common = ["compare", web, "--policies", "opic", "--trust", "top:5"]
    wide, narrow = (orienteer(*common, columns=columns).stdout for columns in (160, 60))
    assert sum(line.startswith(" opic") for line in wide.splitlines()) == 1
    assert sum(line.startswith(" opic") for line in narrow.splitlines()) == 4


def test_compare_as_json_and_plots(web: Path, tmp_path: Path) -> None:
    facts = json_output("compare", web, "--policies", "opic,windowed-rankmass:window=0.3,optimal", "--levels",
                        "0.5,0.9", "--trust", "top:5", "--budget", 1500, "--uniform",
                        "--plot", tmp_path / "a.png")  # fmt: skip
    assert {row["policy"] for row in facts["policies"]} == {"opic", "windowed-rankmass:window=0.3", "optimal"}
    for row in facts["policies"]:
        assert set(row["fetches_until"]) == {"actual", "own", "certified", "uniform"}
        assert row["fetches_until"]["certified"]["0.9"] >= row["fetches_until"]["actual"]["0.9"]
        assert np.diff(row["curves"]["actual"]["positions"]).min() > 0
    written = [tmp_path / f"a-{name}.png" for name in ("coverage", "guarantee", "uniform")]
    assert facts["plots"] == [str(path) for path in written]
    assert all(path.stat().st_size > 10_000 for path in written)


def bad_inputs(web: Path, folder: Path) -> dict[str, tuple[list[object], str]]:
    for name, text in {
        "word.txt": "3 x\n",
        "twice.txt": "3\n4\n3\n",
        "unknown.txt": "3\nhttp://nowhere.example/\n",
        "negative.txt": "3 -1\n",
        "zero.txt": "3 0\n",
        "none.txt": "# none\n",
    }.items():
        (folder / name).write_text(text)
    (folder / "binary.txt").write_bytes(b"\xff\xfe\x00")
    on_web = ["simulate", web]
    return {
        "missing graph": (["simulate", folder / "nowhere.npz"], "no such file"),
        "unknown policy": ([*on_web, "-p", "rankmas"], "did you mean 'rankmass'"),
        "unknown setting": ([*on_web, "-p", "windowed-rankmass", "--set", "windw=0.1"], "did you mean 'window'"),
        "no setting": ([*on_web, "--set", "eagerness"], "name=value"),
        "setting out of range": ([*on_web, "--set", "eagerness=7"], "eagerness is 7.0"),
        "until 0": ([*on_web, "--until", 0], "until is 0"),
        "until 1.5": ([*on_web, "--until", 1.5], "until is 1.5"),
        "budget 0": ([*on_web, "--budget", 0], "budget is 0"),
        "damping 1": ([*on_web, "-p", "opic", "--damping", 1], "damping is 1"),
        "no workers": ([*on_web, "--workers", 0], "--workers: 1 or more"),
        "negative delay": ([*on_web, "--delay", -1], "delay_s is -1.0; it must be at least 0"),
        "negative latency": ([*on_web, "--latency", -1], "0 or more"),
        "trust on no page": ([*on_web, "--trust", "ids:"], "names no page"),
        "trust outside": ([*on_web, "--trust", "ids:1,2000"], "page 2000 is not in the graph"),
        "trust no id": ([*on_web, "--trust", "ids:one"], "'one' is not a page id"),
        "trust top 0": ([*on_web, "--trust", "top:0"], "above 0"),
        "missing trust file": ([*on_web, "--trust", folder / "no.txt"], "no such file"),
        "trust folder": ([*on_web, "--trust", folder], "directory"),
        "trust weight": ([*on_web, "--trust", folder / "word.txt"], "line 1: the weight 'x' is not a number"),
        "trust twice": ([*on_web, "--trust", folder / "twice.txt"], "line 3: page 3 is named twice"),
        "trust unknown URL": ([*on_web, "--trust", folder / "unknown.txt"], "line 2: no page of the graph has the URL"),
        "trust negative": ([*on_web, "--trust", folder / "negative.txt"], "line 1: the weight -1"),
        "trust all zero": ([*on_web, "--trust", folder / "zero.txt"], "every weight is 0"),
        "trust names none": ([*on_web, "--trust", folder / "none.txt"], "names no page"),
        "trust binary": ([*on_web, "--trust", folder / "binary.txt"], "no text file"),
        "explain outside": ([*on_web, "--explain", 2000], "page 2000 is not in the graph"),
        "explain unknown": ([*on_web, "--explain", "http://nowhere.example/"], "no page of the graph has the URL"),
        "order nowhere": ([*on_web, "--order-out", folder / "no" / "order"], "does not exist"),
        "compare unknown": (["compare", web, "--policies", "opic,rankmas"], "did you mean 'rankmass'"),
        "compare none": (["compare", web, "--policies", ","], "names no policy"),
        "levels": (["compare", web, "--levels", "0.9,1"], "1.0 is not a share"),
        "levels no numbers": (["compare", web, "--levels", "high"], "numbers between 0 and 1"),
        "compare budget": (["compare", web, "--budget", 0], "budget is 0"),
        "plot ending": (["compare", web, "--plot", folder / "plot.pdf"], "ends in .png or .svg"),
        "plot nowhere": (["compare", web, "--plot", folder / "no" / "plot.png"], "does not exist"),
    }  # fmt: skip


def test_bad_input_is_one_line_and_exit_code_2(web: Path, tmp_path: Path) -> None:
    cases = bad_inputs(web, tmp_path)
    ends = orienteer_each([arguments for arguments, _ in cases.values()])
    for (name, (_, message)), end in zip(cases.items(), ends, strict=True):
        assert end.returncode == 2, name
        assert message in one_line(end.stdout, end.stderr), name
    for name in ("unknown policy", "missing trust file", "plot ending"):
        assert cases[name][1] in refused(*cases[name][0]), name


def test_what_needs_hosts_or_urls_says_so(web: Path, tmp_path: Path) -> None:
    graph = LinkGraph.load(web)
    plain = tmp_path / "plain.npz"
    LinkGraph(graph.offsets, graph.targets).save(plain)
    assert "needs hosts" in refused("simulate", plain, "--trust", "host-homes")
    assert "needs hosts" in refused("simulate", plain, "--delay", 1)
    assert "no URLs" in refused("simulate", plain, "--explain", "http://h0.example/")


def test_a_focused_policy_without_a_topic_prints_a_note(web: Path) -> None:
    assert (
        "scent is a focused policy, and this simulation has no topic"
        in orienteer("simulate", web, "--policy", "scent").stdout
    )
    assert "looks for a topic" not in orienteer("simulate", web, "--policy", "fractional").stdout
