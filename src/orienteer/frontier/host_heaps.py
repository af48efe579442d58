"""The frontier's heaps in flat arrays: for every host one of its pages, then the ready hosts, and the resting ones.

A page costs 24 bytes, a host 64; nothing is allocated while pages come and go. Three layers, each built on the one
before it:

    pages of a host   a pairing heap (Fredman, Sedgewick, Sleator & Tarjan 1986): each page knows its first child, the
                      page after it and the one before it, so any page can be cut out without a search. Adding costs
                      O(1), taking, removing and changing O(log n) amortised. No kernel recurses, however deep a heap is
    hosts             binary heaps that know where each host stands: the ready ones by their best page, the resting ones
                      by the end of their rest
    batches           what the frontier calls, one kernel for each of its methods

In the arrays everything stands one place up: place 0 is no page, no host, no entry. It may be written to (it saves
asking whether there is a neighbour), but what is written there means nothing.

The order is total: the higher priority first, and of equals the lower page id.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.kernel import kernel

PAGE = np.dtype(
    [("priority", np.float64), ("child", np.uint32), ("after", np.uint32), ("before", np.uint32), ("host", np.uint32)],
    align=True,
)  # `before` is the parent for a first child, `host` is 0 for a page that is not here
HOST = np.dtype(
    [("rests_until", np.float64), ("delay_s", np.float64), ("best", np.uint32), ("place", np.uint32),
     ("n_open", np.uint32), ("heap", np.uint8), ("has_delay", np.bool_)],
    align=True,
)  # fmt: skip
ENTRY = np.dtype([("key", np.float64), ("tie", np.uint32), ("host", np.uint32)], align=True)

# In which heap a host is: in none while it has no page or no free connection. The same places of `counts` say how many
# hosts each heap has; the others how many pages there are, and how much room a batch that did not fit wants.
NOWHERE, READY, RESTING, PAGES, ROOM_FOR_PAGES, ROOM_FOR_HOSTS = range(6)

LAST = -np.inf  # the priority of a page that comes after all others, until somebody links to it

ANY_NUMBER = 0  # of connections: hosts are not looked at, all pages count as host 0's

DONE, LACKS_ROOM, NOT_ORDERED, NOT_AN_ID = range(4)  # what comes of a batch


# Pages of a host ------------------------------------------------------------------------------------------------------


@kernel
def _melded(pages: Any, a: Any, b: Any) -> Any:
    """The top of the heap that two heaps make together. What a top's `before` and `after` say means nothing."""
    if a == 0:
        return b
    if b == 0:
        return a
    if pages[b].priority > pages[a].priority or (pages[b].priority == pages[a].priority and b < a):
        a, b = b, a
    first = pages[a].child
    pages[b].after = first
    pages[b].before = a
    pages[first].before = b
    pages[a].child = b
    return a


@kernel
def _without_top(pages: Any, top: int) -> Any:
    """The top of what is left: children are melded in pairs from the left, then the pairs from the right."""
    pairs: Any = 0  # the latest pair; the one made before it comes `after` it
    page = np.int64(pages[top].child)
    while page != 0:
        partner = np.int64(pages[page].after)
        following = np.int64(pages[partner].after if partner != 0 else 0)
        pair = _melded(pages, page, partner)
        pages[pair].after = pairs
        pairs = pair
        page = following
    left: Any = 0
    while pairs != 0:
        following = np.int64(pages[pairs].after)
        left = _melded(pages, left, pairs)
        pairs = following
    return left


@kernel
def _cut_out(pages: Any, page: int) -> None:
    """Take a page that is not the top, with all below it, out of its heap."""
    before, after = pages[page].before, pages[page].after
    if pages[before].child == page:
        pages[before].child = after
    else:
        pages[before].after = after
    pages[after].before = before


@kernel
def _enter(pages: Any, hosts: Any, counts: Any, page: int, priority: float, host: int) -> None:
    pages[page].priority = priority
    pages[page].child = 0
    pages[page].host = host
    hosts[host].best = _melded(pages, np.int64(hosts[host].best), page)
    counts[PAGES] += 1


@kernel
def _leave(pages: Any, hosts: Any, counts: Any, page: int) -> None:
    host = pages[page].host
    pages[page].host = 0
    counts[PAGES] -= 1
    best = np.int64(hosts[host].best)
    if page == best:
        hosts[host].best = _without_top(pages, page)
    else:
        _cut_out(pages, page)
        hosts[host].best = _melded(pages, best, _without_top(pages, page))


@kernel
def _reprioritise(pages: Any, hosts: Any, counts: Any, page: int, priority: float) -> None:
    host = np.int64(pages[page].host)
    best = np.int64(hosts[host].best)
    if priority > pages[page].priority:
        pages[page].priority = priority
        if page != best:
            _cut_out(pages, page)
            hosts[host].best = _melded(pages, best, page)
    elif pages[page].child == 0:
        pages[page].priority = priority
    else:
        _leave(pages, hosts, counts, page)
        _enter(pages, hosts, counts, page, priority, host)


# Hosts ----------------------------------------------------------------------------------------------------------------


@kernel
def _goes_first(key: float, tie: int, other: Any) -> Any:
    return key > other.key or (key == other.key and tie < other.tie)


@kernel
def _stand(heap: Any, n: int, hosts: Any, place: int, key: float, tie: int, host: int) -> None:
    """Let a host into a heap of n entries, from a free place up or down to where its key belongs."""
    while place > 1 and _goes_first(key, tie, heap[place >> 1]):
        above = place >> 1
        heap[place] = heap[above]
        hosts[heap[place].host].place = place
        place = above
    while 2 * place <= n:
        below = 2 * place
        if below < n and _goes_first(heap[below + 1].key, heap[below + 1].tie, heap[below]):
            below += 1
        if _goes_first(key, tie, heap[below]):
            break
        heap[place] = heap[below]
        hosts[heap[place].host].place = place
        place = below
    heap[place].key = key
    heap[place].tie = tie
    heap[place].host = host
    hosts[host].place = place


@kernel
def _step_out(heap: Any, n: int, hosts: Any, place: int) -> None:
    """Take the entry at a place out of a heap of n entries: the last one fills the gap."""
    last = heap[n]
    if place < n:
        _stand(heap, n - 1, hosts, place, last.key, np.int64(last.tie), np.int64(last.host))


@kernel
def _settle(
    pages: Any, hosts: Any, ready: Any, resting: Any, counts: Any, host: int, connections: int, now: float
) -> None:
    """Bring a host to where it belongs, after anything about it has changed."""
    best = np.int64(hosts[host].best)
    there = NOWHERE
    if best != 0 and (connections == ANY_NUMBER or hosts[host].n_open < connections):
        there = RESTING if connections != ANY_NUMBER and hosts[host].rests_until > now else READY
    here = np.int64(hosts[host].heap)
    if here != there:
        if here != NOWHERE:
            _step_out(ready if here == READY else resting, counts[here], hosts, np.int64(hosts[host].place))
            counts[here] -= 1
        if there != NOWHERE:
            counts[there] += 1
            hosts[host].place = counts[there]
        hosts[host].heap = there
    if there == READY:
        place = np.int64(hosts[host].place)
        _stand(ready, counts[READY], hosts, place, pages[best].priority, best, host)
    elif there == RESTING:
        place = np.int64(hosts[host].place)
        _stand(resting, counts[RESTING], hosts, place, -hosts[host].rests_until, host, host)


# Batches --------------------------------------------------------------------------------------------------------------


@kernel
def _seen_to_fit(pages: Any, hosts: Any, counts: Any, new_pages: Any, new_hosts: Any, connections: int) -> Any:
    """Whether all these pages and hosts are ids, and have their places."""
    last_page, last_host = np.int64(0), np.int64(0)
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k])
        host = np.int64(new_hosts[k] if connections != ANY_NUMBER else 0)
        if min(page, host) < 0 or max(page, host) >= 2**32 - 1:
            return NOT_AN_ID
        last_page, last_host = max(last_page, page), max(last_host, host)
    counts[ROOM_FOR_PAGES], counts[ROOM_FOR_HOSTS] = last_page + 2, last_host + 2
    return DONE if last_page + 2 <= len(pages) and last_host + 2 <= len(hosts) else LACKS_ROOM


@kernel
def put(
    pages: Any, hosts: Any, ready: Any, resting: Any, counts: Any,
    new_pages: Any, priorities: Any, new_hosts: Any, connections: int, now: float,
) -> Any:  # fmt: skip
    """Add pages, or change those that are here. Nothing has happened unless it answers DONE."""
    for k in range(len(priorities)):
        if priorities[k] != priorities[k]:
            return NOT_ORDERED
    fit = _seen_to_fit(pages, hosts, counts, new_pages, new_hosts, connections)
    if fit != DONE:
        return fit
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k]) + 1
        host = np.int64(new_hosts[k]) + 1 if connections != ANY_NUMBER else 1
        if pages[page].host != 0 and pages[page].host != host:
            old_host = np.int64(pages[page].host)
            _leave(pages, hosts, counts, page)
            _settle(pages, hosts, ready, resting, counts, old_host, connections, now)
        best = np.int64(hosts[host].best)
        if pages[page].host == 0:
            _enter(pages, hosts, counts, page, priorities[k], host)
        elif pages[page].priority != priorities[k]:
            _reprioritise(pages, hosts, counts, page, priorities[k])
        else:
            continue
        if page == best or hosts[host].best != best:
            _settle(pages, hosts, ready, resting, counts, host, connections, now)
    return DONE


@kernel
def add(
    pages: Any, hosts: Any, ready: Any, resting: Any, counts: Any,
    new_pages: Any, new_hosts: Any, connections: int, now: float,
) -> Any:  # fmt: skip
    """Pages that are not here, or here only as LAST, have priority 0 now. Nothing has happened unless it is DONE."""
    fit = _seen_to_fit(pages, hosts, counts, new_pages, new_hosts, connections)
    if fit != DONE:
        return fit
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k]) + 1
        if pages[page].host == 0:
            host = np.int64(new_hosts[k]) + 1 if connections != ANY_NUMBER else 1
            best = hosts[host].best
            _enter(pages, hosts, counts, page, 0.0, host)
            if hosts[host].best != best:
                _settle(pages, hosts, ready, resting, counts, host, connections, now)
        elif pages[page].priority == LAST:
            _reprioritise(pages, hosts, counts, page, 0.0)
            _settle(pages, hosts, ready, resting, counts, np.int64(pages[page].host), connections, now)
    return DONE


@kernel
def remove(
    pages: Any, hosts: Any, ready: Any, resting: Any, counts: Any, page: int, connections: int, now: float
) -> None:
    """Forget a page that is here."""
    host = np.int64(pages[page + 1].host)
    best = hosts[host].best
    _leave(pages, hosts, counts, page + 1)
    if hosts[host].best != best:
        _settle(pages, hosts, ready, resting, counts, host, connections, now)


@kernel
def take(pages: Any, hosts: Any, ready: Any, resting: Any, counts: Any, connections: int, now: float) -> Any:
    """(the best page whose host may be asked, its priority); (-1, 0) if there is none."""
    while counts[RESTING] > 0 and -resting[1].key <= now:
        _settle(pages, hosts, ready, resting, counts, np.int64(resting[1].host), connections, now)
    while counts[READY] > 0:
        host = np.int64(ready[1].host)
        if connections != ANY_NUMBER and hosts[host].rests_until > now:  # the time given has gone back
            _settle(pages, hosts, ready, resting, counts, host, connections, now)
            continue
        page = np.int64(hosts[host].best)
        priority = pages[page].priority
        _leave(pages, hosts, counts, page)
        hosts[host].n_open += np.uint32(1)
        _settle(pages, hosts, ready, resting, counts, host, connections, now)
        return page - 1, priority
    return np.int64(-1), 0.0


@kernel
def rest(
    pages: Any, hosts: Any, ready: Any, resting: Any, counts: Any,
    host: int, until: float, connections: int, now: float,
) -> None:  # fmt: skip
    """The host rests until then, or longer where it does so already."""
    hosts[host + 1].rests_until = max(hosts[host + 1].rests_until, until)
    _settle(pages, hosts, ready, resting, counts, host + 1, connections, now)


@kernel
def wake(
    pages: Any, hosts: Any, ready: Any, resting: Any, counts: Any, host: int, connections: int, now: float
) -> None:
    """The host rests no longer."""
    hosts[host + 1].rests_until = -np.inf
    _settle(pages, hosts, ready, resting, counts, host + 1, connections, now)


@kernel
def release(
    pages: Any, hosts: Any, ready: Any, resting: Any, counts: Any,
    host: int, ended: float, delay_s: float, is_asked_for: bool, connections: int, now: float,
) -> None:  # fmt: skip
    """A request ended: the host has a connection more, and rests for its own delay, or else for this one."""
    host += 1
    if hosts[host].n_open > 0:
        hosts[host].n_open -= np.uint32(1)
    if hosts[host].has_delay and not is_asked_for:
        delay_s = hosts[host].delay_s
    if delay_s > 0.0:
        hosts[host].rests_until = max(hosts[host].rests_until, ended + delay_s)
    _settle(pages, hosts, ready, resting, counts, host, connections, now)
