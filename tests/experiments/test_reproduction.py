"""The runner: verdicts of claims, missing or wrong data, exit codes, and output files."""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import papers
from experiments import webs as webs_module
from experiments.__main__ import main
from experiments.experiment import Data
from experiments.findings import Finding
from experiments.reproduction import reproduced
from experiments.webs import Webs
from orienteer.errors import InputError
from tests.experiments.made_up import TOML, MadeUp

ROOT = Path(__file__).parents[2]
QUICK = Webs(None, quick=True)
SECOND = Finding("second", "does not hold", 3.0, "3")


def differences(made_up: MadeUp, *findings: Finding, webs: Webs = QUICK) -> list[str]:
    made_up.findings = list(findings)
    return reproduced(made_up.experiment(), webs).differences


def with_data(made_up: MadeUp, folder: Path) -> Webs:
    """A full run whose real data is at hand."""
    path = folder / "data" / "graphs" / "real.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"a graph")
    made_up.write(TOML.replace("0000", hashlib.sha256(b"a graph").hexdigest()))
    return Webs(folder / "data", quick=False)


def test_a_quick_run_is_held_to_what_quick_runs_gave(made_up: MadeUp) -> None:
    assert differences(made_up, Finding("first", "holds", 1.05, "")) == []
    (value,) = differences(made_up, Finding("first", "holds", 1.2, ""))
    assert value == "made-up, first: 1.2; expected 1 within 0.1"
    (verdict,) = differences(made_up, Finding("first", "does not hold", 1.0, ""))
    assert verdict == "made-up, first: 'does not hold' (1); expected 'holds' (1)"
    (untried,) = differences(made_up)
    assert untried == "made-up, first: not tried; expected 'holds'"
    (surprise,) = differences(made_up, Finding("first", "holds", 1.0, ""), SECOND)
    assert surprise.startswith("made-up, second: 'does not hold' where none")


def test_a_claim_that_should_not_hold_and_does_not_is_as_expected(made_up: MadeUp, tmp_path: Path) -> None:
    webs = with_data(made_up, tmp_path)
    assert differences(made_up, Finding("first", "holds", 1.0, ""), SECOND, webs=webs) == []
    (line,) = differences(made_up, Finding("first", "holds", 1.0, ""), webs=webs)
    assert "second: not tried" in line


def test_claims_without_data_are_reported_and_are_not_differences(made_up: MadeUp, tmp_path: Path) -> None:
    made_up.findings = [Finding("first", "holds", 1.0, "")]
    found = reproduced(made_up.experiment(), Webs(tmp_path, quick=False))
    assert found.differences == []
    assert found.judged[1].verdict == "not tried"
    assert found.notes[-1] == "Not at hand, so that 1 claims were not tried: graphs/real.npz."
    assert found.tally == "holds: 1, not tried: 1"


def test_results_of_another_process_can_be_sent_back(made_up: MadeUp) -> None:
    made_up.findings = [Finding("first", "holds", 1.0, "")]
    found = reproduced(made_up.experiment(), QUICK)
    again = pickle.loads(pickle.dumps(found))
    assert again.as_dict() == found.as_dict()
    assert again.results.plots[0].image.startswith(b"\x89PNG")


def test_another_file_than_the_experiment_was_made_with_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"other")
    with pytest.raises(InputError, match="another file than the experiment was made with"):
        Webs(tmp_path, quick=False).missing([Data("x", "0000")])
    assert Webs(tmp_path, quick=True).missing([Data("x", "0000")]) == []


def test_a_web_that_does_not_fit_the_disk_is_refused_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webs_module.tempfile, "gettempdir", lambda: str(tmp_path))
    with pytest.raises(InputError, match=r"takes 800\.0 GB, and .* are free"):
        webs_module.web_folder(4_000_000_000)


def test_generated_webs_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webs_module.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(webs_module, "_CACHED_FROM", 1000)
    first = QUICK.generated(1000)
    made = sorted(path.name for path in (tmp_path / "orienteer-webs").iterdir())
    assert made == ["web-1000", "web-1000.lock"]
    again = QUICK.generated(1000)
    assert (first.n_pages, first.targets.tolist()) == (1000, again.targets.tolist())


# -- the command ------------------------------------------------------------------------------------------------


def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object) -> tuple[int, str]:
    """Exit code, and all that was printed."""
    monkeypatch.setattr(sys, "argv", ["experiments", *map(str, arguments)])
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit) as ended:
        main()
    signal.signal(signal.SIGINT, before)
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out + printed.err


def test_a_run_prints_verdicts_and_writes_a_report(
    made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, printed = command(capsys, monkeypatch, "made-up", "--quick", "-o", tmp_path / "out")
    assert code == 0
    assert "holds" in printed
    assert "One is <b>one</b>" in " ".join(printed.split())
    assert str(tmp_path / "out" / "report.html") in printed.replace("\n", "")
    names = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*"))
    assert names == ["made-up/curve.png", "report.html", "results.json"]
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    assert document["command"] == "python -m experiments made-up --quick"
    assert document["as_expected"]
    assert document["papers"][0]["claims"][1]["verdict"] == "not tried"
    for plot in document["papers"][0]["plots"]:
        assert (tmp_path / "out" / plot["file"]).exists()


def test_a_difference_is_exit_code_3_and_a_line(
    made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up.findings = [Finding("first", "does not hold", 9.0, "nine")]
    code, printed = command(capsys, monkeypatch, "all", "--quick", "-o", tmp_path / "out")
    assert code == 3
    assert "Not as expected: made-up, first: 'does not hold' (9); expected 'holds' (1)" in printed
    assert "(!)" in printed
    code, printed = command(capsys, monkeypatch, "made-up", "--quick", "-o", tmp_path / "out", "--json")
    assert code == 3
    assert not json.loads(printed)["as_expected"]


def test_bad_input_is_one_line_before_any_work(
    made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "data" / "graphs").mkdir(parents=True)
    (tmp_path / "data" / "graphs" / "real.npz").write_text("other")
    monkeypatch.setattr(made_up, "run", None)
    out = ("-o", tmp_path / "out")
    for arguments, said in (
        (["made-down", *out], "no paper named 'made-down'; did you mean 'made-up'?"),
        (["made-up", "--quick", "-o", tmp_path / "file"], "nothing can be written here"),
        (["made-up", "--quick", "-o", tmp_path / "file" / "deeper"], "nothing can be written here"),
        (["made-up", "--data", tmp_path / "nowhere", *out], "there is no such folder"),
        (["made-up", "--data", tmp_path / "data", *out], "this is another file than"),
        (["made-up", "--quick", "--write-experiments", *out], "is for full runs"),
        (["made-up", "--fast", *out], "(see python -m experiments --help)"),
    ):
        code, printed = command(capsys, monkeypatch, *arguments)
        assert code == 2
        assert printed.startswith("python -m experiments: ")
        assert printed.count("\n") == 1
        assert said in printed


def test_without_matplotlib_it_says_what_to_install(
    made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, printed = command(capsys, monkeypatch, "made-up", "--quick", "-o", tmp_path / "out")
    assert code == 2
    assert printed == "python -m experiments: an experiment needs matplotlib: pip install 'orienteer[plots]'\n"


def test_a_full_run_can_write_the_committed_files(
    made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (made_up.toml.parent / "old.png").write_bytes(b"")
    code, _ = command(capsys, monkeypatch, "made-up", "--data", tmp_path, "--write-experiments", "-o", tmp_path / "out")
    assert code == 0
    assert sorted(path.name for path in made_up.toml.parent.iterdir()) == ["README.md", "curve.png", "experiment.toml"]
    text = (made_up.toml.parent / "README.md").read_text()
    assert "`python -m experiments made-up`" in text
    assert "| `second` | Table 2 | Two \\| three | 2 |  | **not tried** |" in text
    assert "](curve.png)" in text
    assert re.search(r"Python 3\.\d+", text)


def test_an_interrupted_run_is_one_line(
    made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from orienteer.cli import interruption

    def interrupted(*_: object) -> None:
        raise interruption.Interrupted

    monkeypatch.setattr(sys.modules["experiments.made_up"], "run", interrupted)
    code, printed = command(capsys, monkeypatch, "made-up", "--quick", "-o", tmp_path / "out")
    assert (code, printed) == (130, "python -m experiments: interrupted\n")


def test_help_answers_at_once_and_has_an_example() -> None:
    script = (
        "import runpy, sys; sys.argv = ['experiments', '--help']\n"
        "try: runpy.run_module('experiments', run_name='__main__')\n"
        "except SystemExit as end: assert not end.code\n"
        "assert not {'numpy', 'numba', 'scipy', 'matplotlib'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: python -m experiments " in done.stdout
    assert "Example: python -m experiments rankmass --quick" in done.stdout


def test_without_experiments_there_is_nothing_to_reproduce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "experiments_folder", lambda: tmp_path)
    with pytest.raises(InputError, match="there are no experiments here"):
        papers.experiments_named("all")
