from __future__ import annotations

import numpy as np
import pytest

from orienteer.graph.sparse import Sparse, number_of


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_it_is_a_dict(rng: np.random.Generator, dtype: type) -> None:
    numbers, plain = Sparse(dtype), {}
    highest = 2**32 - 2
    for _ in range(200):
        n = int(rng.integers(0, 12))
        pages = np.where(rng.random(n) < 0.5, rng.integers(0, 50, n), rng.integers(0, highest, n, endpoint=True))
        values = rng.integers(-1, 1000, n).astype(dtype)
        numbers.set(pages, values)
        plain |= dict(zip(pages.tolist(), values.tolist(), strict=True))
        assert numbers.n == len(plain)
        for page in [*pages.tolist(), *rng.integers(0, highest, 3).tolist(), 0, highest]:
            assert numbers.get(page) == plain.get(page)
            for look in (number_of, number_of.plain):
                assert look(numbers.keys, numbers.values, page, dtype(-7)) == plain.get(page, -7)
    pages, values = numbers.items()
    assert dict(zip(pages.tolist(), values.tolist(), strict=True)) == plain


def test_one_page_will_do_and_the_last_number_counts() -> None:
    numbers = Sparse(np.int32)
    numbers.set(7, 3)
    numbers.set([7, 7], [4, 5])
    assert (numbers.get(7), numbers.n, numbers.get(8)) == (5, 1, None)
