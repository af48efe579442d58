"""experiment.toml: its content, and the errors of invalid ones."""

from __future__ import annotations

import pytest

from experiments.experiment import Expected
from experiments.findings import Finding, graded
from orienteer.errors import InputError
from tests.experiments.made_up import TOML, MadeUp


def test_an_experiment_is_read(made_up: MadeUp) -> None:
    experiment = made_up.experiment()
    assert (experiment.name, experiment.title) == ("made-up", "Made <up>")
    assert [claim.name for claim in experiment.claims] == ["first", "second"]
    assert experiment.data[0].file == "graphs/real.npz"
    first, second = experiment.claims
    assert first.expected(quick=True) == Expected("holds", 1.0, 0.1)
    assert second.expected(quick=True) is None
    assert second.expected(quick=False) == Expected("does not hold", 3.0, 0.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = ", "experiment.toml"),
        ("", "title"),
        (TOML.replace('paper = "Nobody: Nothing & more"', ""), "paper"),
        (TOML.replace('verdict = "does not hold"', 'verdict = "perhaps"'), "no verdict 'perhaps'"),
        (TOML.replace("tolerance = 0.0", "tolerance = 0.0, more = 1"), "more"),
        (TOML.replace('where = "Table 2"', ""), "where"),
        (TOML.replace('sha256 = "0000"', ""), "sha256"),
        ("colour = 3\n" + TOML, "unknown colour"),
        (TOML.replace("[[claim]]", "[[remark]]"), "claim"),
    ],
)
def test_problems_are_reported_in_one_line(text: str, said: str, made_up: MadeUp) -> None:
    made_up.write(text)
    with pytest.raises(InputError) as raised:
        made_up.experiment()
    assert said in str(raised.value)
    assert "experiment.toml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_finding_is_as_expected_within_the_tolerance_and_with_the_verdict() -> None:
    expected = Expected("holds", 1.0, 0.1)
    assert Finding("x", "holds", 1.09, "").is_as(expected)
    assert not Finding("x", "holds", 1.2, "").is_as(expected)
    assert not Finding("x", "holds in shape", 1.0, "").is_as(expected)
    assert not Finding("x", "holds", float("nan"), "").is_as(expected)


def test_what_holds_holds_in_shape_too() -> None:
    graded_as = [graded(holds, shape) for holds, shape in ((True, False), (True, True), (False, True), (False, False))]
    assert graded_as == ["holds", "holds", "holds in shape", "does not hold"]
