"""Claims about webs that satisfy the assumption, and about servers that try to recognise walks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import settings

from orienteer.graph.survey.crawl_survey import SurveyStart, survey_seed
from tests.graph.survey.reactive import Outcome, crawled, web_with_a_far_part
from tests.graph.survey.reference import most_wrong

UNTIL = 0.9
N_WEBS = settings().max_examples


def outcomes(
    seed_of: Callable[[bytes], str], false_share: float, n: int = N_WEBS, confidence: float = 0.999, size: int = 800
) -> list[Outcome]:
    """Crawls of n webs; all chance is in the numbers of the webs, so that every run has the same."""
    found = []
    for number in range(n):
        web = web_with_a_far_part(np.random.default_rng(number), size // 16, size)
        trusted = np.argsort(-web.in_degrees(), kind="stable")[:5]
        start = SurveyStart(UNTIL, confidence, seed_of(np.random.default_rng([number, 1]).bytes(16)))
        found.append(crawled(web, trusted, start, false_share, number))
    return found


def n_wrong(found: list[Outcome]) -> int:
    return sum(one.is_wrong for one in found)


def test_claims_about_an_honest_web_are_wrong_no_more_often_than_claimed() -> None:
    found = outcomes(survey_seed, 0.0, 4 * N_WEBS, 0.8, 250)
    assert sum(one.is_claimed for one in found) > 1.6 * N_WEBS
    assert n_wrong(found) <= most_wrong(len(found), 0.2)


@pytest.mark.parametrize(("false_share", "least_wrong"), [(1.0, 0.5), (0.5, 0.25)])
def test_decoys_protect_claims_from_a_server_that_recognises_pages_out_of_turn(
    false_share: float, least_wrong: float
) -> None:
    """Without decoys most claims are wrong, which is why the assumption is needed; with them a fifth of these at most.

    Of 60 claims 45 and 3 are wrong where all pages out of order are answered falsely, 22 and 1 where half of them are;
    by default half as many are made.
    """
    without, with_ = outcomes(bytes.hex, false_share), outcomes(survey_seed, false_share)
    assert n_wrong(without) >= least_wrong * N_WEBS
    assert n_wrong(with_) <= 0.2 * n_wrong(without)
    assert sum(one.n_out_of_turn for one in with_) > sum(one.n_out_of_turn for one in without)
