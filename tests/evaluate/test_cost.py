from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from orienteer.evaluate.metrics import measured


def test_cpu_time_is_that_of_the_block_and_sleep_is_free() -> None:
    with measured() as cost:
        started = time.process_time()
        while time.process_time() - started < 0.05:
            pass
        time.sleep(0.2)
    assert 0.05 <= cost.cpu_s < 0.2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process can be reset on Linux only")
def test_memory_is_the_peak_of_the_block_alone() -> None:
    def use(n_bytes: int) -> None:
        np.ones(n_bytes, np.uint8)

    use(200_000_000)  # an earlier peak, which must not count
    with measured() as small:
        use(30_000_000)
    with measured() as none:
        pass
    assert 25e6 < small.memory_bytes < 60e6
    assert none.memory_bytes < 5e6


def test_the_cost_is_known_when_the_block_fails() -> None:
    with pytest.raises(ValueError, match="stop"), measured() as cost:
        sum(range(200_000))
        raise ValueError("stop")
    assert cost.cpu_s > 0
