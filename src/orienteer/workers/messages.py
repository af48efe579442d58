"""What goes between a crawl and a worker in another process: requests there, answers back, as bytes.

Both ends run the same version of the same program, and nobody else can write into the channel: pickles are safe here.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from orienteer.answers.answer import Fetched, Request
from orienteer.workers.received import Received
from orienteer.workers.showing import Supply, Wish

_NOT_SENT = Request("", -1)


class Orders(NamedTuple):
    """Requests by number. `record_headers` are those of records from now on; None: as before. `cancel`: drop the
    rest. `supplies` are what pages needed."""

    requests: list[tuple[int, Request]]
    record_headers: Mapping[str, str] | None = None
    cancel: bool = False
    supplies: tuple[Supply, ...] = ()


class Results(NamedTuple):
    """Answers by the numbers of their requests, which do not travel back. `cpu_s` is what the worker used so far.

    `wishes` are what pages need that it shows in a browser. With nothing: the worker is ready, or it is busy reading
    documents, or with the browser.
    """

    answers: list[tuple[int, Received]]
    cpu_s: float = 0.0
    wishes: tuple[Wish, ...] = ()


def packed(message: Orders | Results) -> bytes:
    if isinstance(message, Results):
        for _, answer in message.answers:
            _strip(answer)
    return pickle.dumps(tuple(message), 5)


def orders_in(data: bytes) -> Orders:
    return Orders(*pickle.loads(data))


def results_in(data: bytes) -> Results:
    """The answers are without their requests: see `with_request`."""
    return Results(*pickle.loads(data))


def with_request(answer: Received, request: Request) -> Received:
    """An answer that came over, with the request that it answers."""
    answer.request = request
    if answer.whole is not None:
        answer.whole = _of(answer.whole, request)
    return answer


def _strip(answer: Received) -> None:
    answer.request = _NOT_SENT
    if answer.whole is not None:
        answer.whole = _of(answer.whole, _NOT_SENT)


def _of(answer: Fetched, request: Request) -> Fetched:
    return replace(answer, request=request)
