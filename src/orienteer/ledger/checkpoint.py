"""Checkpoints: the state of a Crawl as arrays, for a quick resume. The source of truth is the folder's database.

A crawl can always be resumed by replaying all events into a new Crawl. A checkpoint saves most of that: it has the
state of the policy and the coverage, the page states and the frontier, as they were after some event. A new policy
needs no code for it: `policies/policy_state.py` pickles and signs its attributes.

The links are not in it. They are read from the database into `crawl.web` before `restore`.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import zeros
from orienteer.crawl.crawl import Crawl
from orienteer.policies.policy_state import ObjectState, set_state, state_of

Arrays = dict[str, NDArray[Any]]

_BLOCK_BYTES = 1 << 20


def checkpoint(crawl: Crawl) -> Arrays:
    """Return what `restore` needs, except for the links; an InputError if the state of the policy cannot be saved."""
    state = state_of(_owners(crawl), crawl.web)
    pages, priorities = crawl.waiting()
    return {f"state.{k}": _used(array) for k, array in enumerate(state.arrays)} | {
        "state": np.frombuffer(state.signed, np.uint8),
        "state.sizes": np.array([len(array) for array in state.arrays], np.int64),
        "crawl.n_pages": np.array(crawl.web.n_pages),
        "crawl.order": np.array(crawl.order, np.uint32),
        "crawl.blocked": np.array(crawl.blocked_pages, np.uint32),
        "crawl.state": crawl.states(),
        "crawl.own_proof_holds": np.array(crawl.own_proof_holds),
        "crawl.n_asked": np.array(crawl.n_requested),
        "frontier.pages": pages,
        "frontier.priorities": priorities,
    }


def restore(crawl: Crawl, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Restore the state of a new Crawl, whose web has the links already.

    An unusable checkpoint raises a KeyError, ValueError, TypeError or AttributeError: so does one of version 0.1 or
    0.2, whose state is not signed, or whose arrays have no sizes.

    The frontier's clock starts again: no host is snoozed, nothing is in flight.
    """
    n_pages = crawl.web.n_pages
    if int(arrays["crawl.n_pages"]) != n_pages or arrays["crawl.state"].shape != (n_pages,):
        raise ValueError("the checkpoint has other pages than the database")
    if arrays["frontier.priorities"].shape != arrays["frontier.pages"].shape:
        raise ValueError("the checkpoint has pages without a priority")
    order, blocked, waiting = (
        _pages(arrays[key], n_pages) for key in ("crawl.order", "crawl.blocked", "frontier.pages")
    )
    surveyed = None if crawl.survey is None else (crawl.survey.start, crawl.survey.pending_rounds)
    sizes = arrays["state.sizes"].tolist()
    state = ObjectState(arrays["state"].tobytes(), [_whole(arrays[f"state.{k}"], size) for k, size in enumerate(sizes)])
    set_state(_owners(crawl), crawl.web, state)
    if crawl.survey is not None:
        crawl.survey.restore(*surveyed)  # type: ignore[misc]
    crawl.restore_state(
        order=array("I", order.tobytes()),
        blocked=array("I", blocked.tobytes()),
        states=arrays["crawl.state"],
        own_proof_holds=bool(arrays["crawl.own_proof_holds"]),
        n_requested=int(arrays["crawl.n_asked"]),
        waiting=(waiting, arrays["frontier.priorities"]),
    )


def _owners(crawl: Crawl) -> dict[str, object]:
    owners: dict[str, object] = {"policy": crawl.policy, "coverage": crawl.coverage}
    return owners if crawl.survey is None else owners | {"survey": crawl.survey}


def _used(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the array without the zeros at its end: arrays that grow have room for more than they hold."""
    end = len(array)
    while end > 0:
        start = max(0, end - _BLOCK_BYTES)
        if array[start:end].any():
            return array[: start + int(np.flatnonzero(array[start:end])[-1]) + 1]
        end = start
    return array[:0]


def _whole(used: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return the array of this size; its unused part takes no memory."""
    if used.dtype != np.uint8 or used.ndim != 1 or len(used) > size:
        raise ValueError("the checkpoint has arrays of another size")
    whole = zeros(size, np.uint8)
    whole[: len(used)] = used
    return whole


def _pages(saved: NDArray[Any], n_pages: int) -> NDArray[np.uint32]:
    if saved.dtype != np.uint32 or saved.max(initial=0) >= n_pages:
        raise ValueError("the checkpoint has pages that do not exist")
    return saved
