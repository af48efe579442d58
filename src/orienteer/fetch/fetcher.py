"""Who fetches: the protocol that a crawl talks to.

    fetcher.start(request)          begin a fetch; it goes on in `poll`, or elsewhere
    answers = fetcher.poll(0.25)    what is finished, once there is something, or after this time
    fetcher.n_under_way             started, and not handed out by `poll` yet
    fetcher.cancel()                break off all that is under way
    fetcher.close()                 the same, and let go of connections, files, processes

What every fetcher promises, and tests/fetch/contract.py holds it to:

- Every request that was started comes back from `poll` exactly once, as a `Fetched` with that very request.
- No URL and no answer makes `start` or `poll` raise: whatever goes wrong is an `Outcome`.
- `start` does not wait for the network. `poll` waits no longer than it is told, and returns early when it can.
- Redirects are reported, not followed. Nobody's cookies, addresses or limits but those of the FetchSettings count.
- Secrets of a request (`request.secrets`) go with it to the origin that they are for, or nowhere at all. A fetcher that
  sends them says so (`takes_secrets`); with another one a crawl has no access.
- After `cancel` everything under way comes back from the next `poll`, as CANCELLED if it was not finished before.
- `close` may be called twice.

A fetcher is made with the FetchSettings of the crawl, and with settings of its own as keyword arguments, which are
texts. One that does not ask the web (`asks_web` is False) needs no robots.txt and no delays between requests. One that
cannot do any number of fetches at once says how many (`max_under_way`); a crawl starts no more. One whose `poll` can be
ended by somebody else has `wake_on(descriptor)`: it returns early when there is something to be read there.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from orienteer.answers.answer import Fetched, Request


@runtime_checkable
class Fetcher(Protocol):
    asks_web: bool

    @property
    def n_under_way(self) -> int:
        """Fetches started and not handed out by `poll` yet."""

    def start(self, request: Request) -> None:
        """Begin a fetch."""

    def poll(self, timeout_s: float) -> list[Fetched]:
        """What is finished, once there is something, or after this time."""

    def cancel(self) -> None:
        """Break off all that is under way; `poll` reports it as cancelled."""

    def close(self) -> None:
        """Break off what is under way and let go of everything."""
