from __future__ import annotations

import pytest

from orienteer.errors import InputError
from orienteer.policies import all_policies
from orienteer.policies.policy_spec import PolicySpec, split_specs
from tests.tables import over_rows


def test_a_name_alone_has_no_settings() -> None:
    assert PolicySpec.parse(" rankmass ") == PolicySpec("rankmass", {})


def test_values_are_of_the_kind_of_their_defaults() -> None:
    assert PolicySpec.parse("windowed-rankmass:window=0.05").settings == {"window": 0.05}
    assert PolicySpec.parse("fractional:inter_host_weight=20").settings == {"inter_host_weight": 20.0}
    assert PolicySpec.parse("random:rng=7").settings == {"rng": 7}


def test_a_spec_is_written_as_it_is_read() -> None:
    for text in ("opic", "fractional:inter_host_weight=20", "windowed-rankmass:window=0.05,damping=0.9"):
        assert str(PolicySpec.parse(text)) == text


@over_rows(
    ("text", "message"),
    [
        ("rankmas", "did you mean 'rankmass'"),
        ("", "no policy named ''"),
        ("windowed-rankmass:windw=1", "did you mean 'window'"),
        ("windowed-rankmass:window", "write name=value"),
        ("windowed-rankmass:window=", "write name=value"),
        ("windowed-rankmass:window=wide", "must be a number"),
        ("windowed-rankmass:window=2", "window is 2.0"),
        ("windowed-rankmass:window=nan", "window is nan"),
        ("windowed-rankmass:window=0.1,window=0.2", "set twice"),
        ("random:rng=0.5", "must be a whole number"),
    ],
)
def test_invalid_settings_are_reported_at_once(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PolicySpec.parse(text)


@over_rows("name", sorted(all_policies()))
def test_every_policy_is_made_with_the_damping_of_the_crawl(name: str) -> None:
    assert PolicySpec.parse(name).make(0.5).damping == 0.5
    with pytest.raises(InputError, match="damping is 1"):
        PolicySpec.parse(name).make(1.0)


def test_a_policy_cannot_have_a_damping_of_its_own() -> None:
    assert PolicySpec.parse("rankmass:damping=0.5").make(0.5).damping == 0.5
    with pytest.raises(InputError, match="whole crawl"):
        PolicySpec.parse("rankmass:damping=0.5").make(0.85)


def test_a_list_of_specs_is_split_at_the_right_commas() -> None:
    text = "opic,windowed-rankmass:window=0.05,damping=0.9, random,fractional,inter_host_weight=3,"
    specs = ["opic", "windowed-rankmass:window=0.05,damping=0.9", "random", "fractional:inter_host_weight=3"]
    assert split_specs(text) == specs
    assert split_specs(" , ") == []
