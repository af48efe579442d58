"""Messages between a crawl and a worker in another process: requests one way, results the other, as bytes.

Both ends run the same version of the program, and no other process can write into the channel: pickles are safe here.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from orienteer.browser.job import BrowserRequest, BrowserResponse
from orienteer.responses.response import Request, Response
from orienteer.workers.fetch_result import FetchResult

_NOT_SENT = Request("")


class WorkerOrders(NamedTuple):
    """Requests by number. `record_headers` replace those used so far; None keeps them. `cancel` aborts all requests in
    flight. `browser_responses` are for pages being rendered."""

    requests: list[tuple[int, Request]]
    record_headers: Mapping[str, str] | None = None
    cancel: bool = False
    browser_responses: tuple[BrowserResponse, ...] = ()


class WorkerResults(NamedTuple):
    """Results by the numbers of their requests, which are not sent back. `cpu_s` is the CPU time of the worker so far.

    An empty message reports that the worker is ready, or is a heartbeat while it parses documents or renders pages.
    """

    responses: list[tuple[int, FetchResult]]
    cpu_s: float = 0.0
    browser_requests: tuple[BrowserRequest, ...] = ()


def packed(message: WorkerOrders | WorkerResults) -> bytes:
    if isinstance(message, WorkerResults):
        for _, response in message.responses:
            _strip(response)
    return pickle.dumps(tuple(message), 5)


def unpack_orders(data: bytes) -> WorkerOrders:
    return WorkerOrders(*pickle.loads(data))


def unpack_results(data: bytes) -> WorkerResults:
    """Unpack results; they have no requests (see `with_request`)."""
    return WorkerResults(*pickle.loads(data))


def with_request(response: FetchResult, request: Request) -> FetchResult:
    """Put the request back into a result that was received from a worker."""
    response.request = request
    if response.full_response is not None:
        response.full_response = _replace_request(response.full_response, request)
    return response


def _strip(response: FetchResult) -> None:
    response.request = _NOT_SENT
    if response.full_response is not None:
        response.full_response = _replace_request(response.full_response, _NOT_SENT)


def _replace_request(response: Response, request: Request) -> Response:
    return replace(response, request=request)
