"""What is proved is true, on sites made to deceive: other ones in every run."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from hypothesis import settings

from tests.laws.adversarial_crawl import crawled
from tests.laws.adversarial_site import random_site

N_SITES = settings().max_examples  # `python -m benchmarks certificate` takes 10,000


def test_the_lower_bound_holds_on_sites_made_to_deceive(fresh_rng: random.Random, tmp_path: Path) -> None:
    n_proved = 0
    for _ in range(N_SITES):
        number = fresh_rng.randrange(1 << 32)
        site = random_site(np.random.default_rng(number))
        for moment in crawled(site, tmp_path / str(number)):
            assert moment.proved.lower <= moment.truth + 1e-9, (number, moment)
            n_proved += moment.proved.lower > 0.5
    assert n_proved > N_SITES // 4, "and it says something"
