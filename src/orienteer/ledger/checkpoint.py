"""A crawl's working memory as plain arrays, for a quick reopen. Never the truth: that is in the folder's database.

A crawl can always be resumed by telling a new Crawl all that happened. A checkpoint saves most of that telling: the
arrays of the policy, of the coverage, the states and the frontier, as they were after some event. What the policy knows
is found by walking through its attributes, so that a new policy needs nothing for it: arrays, numbers, named tuples of
those, and objects of our own are kept; a policy must not hide state elsewhere.

The links are not in it. They are read from the database into `crawl.web` before `restore`.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.policies.policy import Policy

Arrays = dict[str, NDArray[Any]]


def checkpoint(crawl: Crawl) -> Arrays:
    """What `restore` needs, apart from the links."""
    arrays: Arrays = {}
    _save(crawl.policy, "policy", arrays)
    _save(crawl.coverage, "coverage", arrays)
    pages, priorities = crawl.waiting()
    return arrays | {
        "crawl.n_pages": np.array(crawl.web.n_pages),
        "crawl.order": np.array(crawl.order, np.uint32),
        "crawl.blocked": np.array(crawl.blocked_pages, np.uint32),
        "crawl.state": crawl.states(),
        "crawl.own_proof_holds": np.array(crawl.own_proof_holds),
        "crawl.n_unasked": np.array(crawl.n_unasked),
        "frontier.pages": pages,
        "frontier.priorities": priorities,
    }


def restore(crawl: Crawl, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Bring a new Crawl, whose web has the links already, to where it was.

    Where that cannot be done it raises a KeyError, ValueError or AttributeError.

    The frontier's clock starts anew: no host rests, nothing is in flight.
    """
    if int(arrays["crawl.n_pages"]) != crawl.web.n_pages:
        raise ValueError("the checkpoint knows other pages than the database")
    _load(crawl.policy, "policy", arrays)
    _load(crawl.coverage, "coverage", arrays)
    crawl.reinstate(
        order=array("I", arrays["crawl.order"].tobytes()),
        blocked=array("I", arrays["crawl.blocked"].tobytes()),
        states=arrays["crawl.state"],
        own_proof_holds=bool(arrays["crawl.own_proof_holds"]),
        n_unasked=int(arrays["crawl.n_unasked"]),
        waiting=(arrays["frontier.pages"], arrays["frontier.priorities"]),
    )


def _save(value: Any, name: str, arrays: Arrays) -> None:
    if isinstance(value, np.ndarray | int | float | np.generic):
        arrays[name] = np.asarray(value)
    elif hasattr(value, "_asdict"):
        for key, part in value._asdict().items():
            _save(part, f"{name}.{key}", arrays)
    elif _is_ours(value):
        for key, part in vars(value).items():
            _save(part, f"{name}.{key}", arrays)
    elif not isinstance(value, str | None):
        raise TypeError(f"{name} is a {type(value).__name__}: no checkpoint can be made of it")


def _load(value: Any, name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value that stood under this name. An object of ours is filled in place."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(arrays[name], value.dtype)
    if isinstance(value, int | float | np.generic):
        return type(value)(arrays[name][()])
    if hasattr(value, "_asdict"):
        parts = {key: _load(part, f"{name}.{key}", arrays) for key, part in value._asdict().items()}
        return type(value)(**parts)
    if _is_ours(value):
        start = f"{name}."
        for key in {saved[len(start) :].partition(".")[0] for saved in arrays if saved.startswith(start)}:
            setattr(value, key, _load(getattr(value, key), start + key, arrays))
    return value


def _is_ours(value: Any) -> bool:
    return isinstance(value, Policy) or type(value).__module__.startswith("orienteer.")
