"""Runs in this process or in several: the same results, and errors that arrive."""

from __future__ import annotations

import os

import pytest

from experiments.side_by_side import side_by_side
from orienteer.errors import InputError


def squared(number: int) -> tuple[int, int]:
    return number**2, os.getpid()


def refused(number: int) -> None:
    raise InputError(f"{number} is refused")


@pytest.mark.parametrize("n_processes", [1, 2])
def test_submitted_work_is_done(n_processes: int) -> None:
    with side_by_side(n_processes) as pool:
        found = [one.result() for one in [pool.submit(squared, number) for number in range(5)]]
    assert [square for square, _ in found] == [0, 1, 4, 9, 16]
    assert (os.getpid() in {process for _, process in found}) == (n_processes == 1)


@pytest.mark.parametrize("n_processes", [1, 2])
def test_an_error_keeps_its_type(n_processes: int) -> None:
    with pytest.raises(InputError, match="7 is refused"), side_by_side(n_processes) as pool:
        pool.submit(refused, 7).result()
