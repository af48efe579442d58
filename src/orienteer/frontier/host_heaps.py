"""The frontier's heaps in flat arrays: for every turn one of its pages, then the ready turns, and the resting ones.

A *turn* is what a page waits for: usually that of its host. Hosts may share one; `turn_of` says whose turn the pages of
each host wait for. A page that was taken remembers the turn it took (in `after`) until it is released.

A page costs 12 bytes besides its priority and its host, a host with a turn of its own 84; nothing is allocated while
pages come and go. Three layers, each built on the one before it:

    pages of a turn   a pairing heap (Fredman, Sedgewick, Sleator & Tarjan 1986): each page knows its first child, the
                      page after it and the one before it, so any page can be cut out without a search. Adding costs
                      O(1), taking, removing and changing O(log n) amortised. No kernel recurses, however deep a heap is
    turns             binary heaps that know where each turn stands: the ready ones by their best page, in two heaps,
                      one for quick hosts; the resting ones by the end of their rest
    batches           what the frontier calls, one kernel for each of its methods

Priorities are in an array by page. It may belong to somebody else, a policy, who raises priorities and then names the
pages (`follow`): in between the heaps are out of order, and nothing may be taken. A page may be *set apart* from it:
its priority is among the `apart` numbers then, LAST if it is not there.

In the arrays everything stands one place up, but for priorities and hosts: place 0 is no page, no turn, no entry. It
may be written to (it saves asking whether there is a neighbour), but what is written there means nothing.

The order is total: the higher priority first, and of equals the lower page id.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.graph.sparse import number_of
from orienteer.kernel import kernel

PAGE = np.dtype([("child", np.uint32), ("after", np.uint32), ("before", np.uint32)], align=True)
# `before` is the parent for a first child, the page itself for a top, and 0 for a page that is not here. Its highest
# bit says that the page is set apart.
APART = 1 << 31
MAX_PAGES = APART - 1
TURN = np.dtype(
    [("rests_until", np.float64), ("delay_s", np.float64), ("best", np.uint32), ("place", np.uint32),
     ("n_open", np.uint32), ("heap", np.uint8), ("has_delay", np.bool_), ("is_quick", np.bool_),
     ("is_counted", np.bool_)],
    align=True,
)  # fmt: skip
ENTRY = np.dtype([("key", np.float64), ("tie", np.uint32), ("turn", np.uint32)], align=True)

# In which heap a turn is: in none while it has no page or no free connection. The same places of `counts` say how many
# each heap has; the others how many pages there are, how many turns are of quick hosts and have pages, how many hosts
# and turns are known, and how much room a batch that did not fit wants.
NOWHERE, READY, QUICK, RESTING, PAGES, QUICK_WAITING, HOSTS, TURNS, ROOM_FOR_PAGES, ROOM_FOR_HOSTS = range(10)

LAST = -np.inf  # the priority of a page that comes after all others, until somebody links to it

ANY_NUMBER = 0  # of connections: hosts are not looked at, all pages wait for one turn

DONE, LACKS_ROOM, NOT_ORDERED, NOT_AN_ID = range(4)  # what comes of a batch

KNOWN = 0  # the state of a page that may wait here


# Pages of a turn ------------------------------------------------------------------------------------------------------


@kernel
def priority_of(pages: Any, priority: Any, apart_pages: Any, apart: Any, page: Any) -> Any:
    """The priority of a page that is here."""
    if np.int64(pages[page].before) & APART:
        return number_of(apart_pages, apart, np.int64(page) - 1, LAST)
    return priority[page - 1]


@kernel
def _set_before(pages: Any, page: Any, before: Any) -> None:
    pages[page].before = (np.int64(pages[page].before) & APART) | np.int64(before)


@kernel
def _melded(pages: Any, priority: Any, apart_pages: Any, apart: Any, a: Any, b: Any) -> Any:
    """The top of the heap that two heaps make together. What a top's `after` says means nothing."""
    if a == 0:
        return b
    if b == 0:
        return a
    of_a = priority_of(pages, priority, apart_pages, apart, a)
    of_b = priority_of(pages, priority, apart_pages, apart, b)
    if of_b > of_a or (of_b == of_a and b < a):
        a, b = b, a
    first = pages[a].child
    pages[b].after = first
    _set_before(pages, b, a)
    _set_before(pages, first, b)
    pages[a].child = b
    return a


@kernel
def _without_top(pages: Any, priority: Any, apart_pages: Any, apart: Any, top: int) -> Any:
    """The top of what is left: children are melded in pairs from the left, then the pairs from the right."""
    pairs: Any = 0  # the latest pair; the one made before it comes `after` it
    page = np.int64(pages[top].child)
    while page != 0:
        partner = np.int64(pages[page].after)
        following = np.int64(pages[partner].after if partner != 0 else 0)
        pair = _melded(pages, priority, apart_pages, apart, page, partner)
        pages[pair].after = pairs
        pairs = pair
        page = following
    left: Any = 0
    while pairs != 0:
        following = np.int64(pages[pairs].after)
        left = _melded(pages, priority, apart_pages, apart, left, pairs)
        pairs = following
    return left


@kernel
def _cut_out(pages: Any, page: int) -> None:
    """Take a page that is not the top, with all below it, out of its heap."""
    before, after = np.int64(pages[page].before) & MAX_PAGES, pages[page].after
    if pages[before].child == page:
        pages[before].child = after
    else:
        pages[before].after = after
    _set_before(pages, after, before)


@kernel
def _set_best(pages: Any, turns: Any, turn: Any, top: Any) -> None:
    turns[turn].best = top
    _set_before(pages, top, top)


@kernel
def _enter(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, turns: Any, counts: Any, page: int, turn: int, flag: int
) -> None:
    """A page that is not here comes in, set apart or not."""
    pages[page].child = 0
    pages[page].before = page | flag
    top = _melded(pages, priority, apart_pages, apart, np.int64(turns[turn].best), page)
    _set_best(pages, turns, turn, top)
    counts[PAGES] += 1


@kernel
def _leave(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, turns: Any, counts: Any, page: int, turn: int
) -> None:
    counts[PAGES] -= 1
    best = np.int64(turns[turn].best)
    left = _without_top(pages, priority, apart_pages, apart, page)
    if page != best:
        _cut_out(pages, page)
        left = _melded(pages, priority, apart_pages, apart, best, left)
    _set_best(pages, turns, turn, left)
    pages[page].before = 0
    pages[page].after = 0  # it has taken no turn


@kernel
def _rise(pages: Any, priority: Any, apart_pages: Any, apart: Any, turns: Any, page: int, turn: int) -> None:
    """The priority of a page has grown."""
    best = np.int64(turns[turn].best)
    if page != best:
        _cut_out(pages, page)
        _set_best(pages, turns, turn, _melded(pages, priority, apart_pages, apart, best, page))


# Turns ----------------------------------------------------------------------------------------------------------------


@kernel
def _goes_first(key: float, tie: int, other: Any) -> Any:
    return key > other.key or (key == other.key and tie < other.tie)


@kernel
def _stand(heap: Any, n: int, turns: Any, place: int, key: float, tie: int, turn: int) -> None:
    """Let a turn into a heap of n entries, from a free place up or down to where its key belongs."""
    while place > 1 and _goes_first(key, tie, heap[place >> 1]):
        above = place >> 1
        heap[place] = heap[above]
        turns[heap[place].turn].place = place
        place = above
    while 2 * place <= n:
        below = 2 * place
        if below < n and _goes_first(heap[below + 1].key, heap[below + 1].tie, heap[below]):
            below += 1
        if _goes_first(key, tie, heap[below]):
            break
        heap[place] = heap[below]
        turns[heap[place].turn].place = place
        place = below
    heap[place].key = key
    heap[place].tie = tie
    heap[place].turn = turn
    turns[turn].place = place


@kernel
def _step_out(heap: Any, n: int, turns: Any, place: int) -> None:
    """Take the entry at a place out of a heap of n entries: the last one fills the gap."""
    last = heap[n]
    if place < n:
        _stand(heap, n - 1, turns, place, last.key, np.int64(last.tie), np.int64(last.turn))


@kernel
def _settle(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, turns: Any, ready: Any, quick: Any, resting: Any,
    counts: Any, turn: int, connections: int, now: float,
) -> None:  # fmt: skip
    """Bring a turn to where it belongs, after anything about it has changed."""
    best = np.int64(turns[turn].best)
    there = NOWHERE
    if best != 0 and (connections == ANY_NUMBER or turns[turn].n_open < connections):
        there = QUICK if turns[turn].is_quick else READY
        if connections != ANY_NUMBER and turns[turn].rests_until > now:
            there = RESTING
    is_counted = best != 0 and turns[turn].is_quick
    if is_counted != turns[turn].is_counted:
        counts[QUICK_WAITING] += 1 if is_counted else -1
        turns[turn].is_counted = is_counted
    here = np.int64(turns[turn].heap)
    if here != there:
        if here != NOWHERE:
            heap = ready if here == READY else quick if here == QUICK else resting
            _step_out(heap, counts[here], turns, np.int64(turns[turn].place))
            counts[here] -= 1
        if there != NOWHERE:
            counts[there] += 1
            turns[turn].place = counts[there]
        turns[turn].heap = there
    place = np.int64(turns[turn].place)
    if there == RESTING:
        _stand(resting, counts[RESTING], turns, place, -turns[turn].rests_until, turn, turn)
    elif there == READY:
        key = priority_of(pages, priority, apart_pages, apart, best)
        _stand(ready, counts[READY], turns, place, key, best, turn)
    elif there == QUICK:
        key = priority_of(pages, priority, apart_pages, apart, best)
        _stand(quick, counts[QUICK], turns, place, key, best, turn)


# Batches --------------------------------------------------------------------------------------------------------------


@kernel
def _turn(hosts: Any, turn_of: Any, page: int, connections: int) -> Any:
    """The turn that a page waits for."""
    return np.int64(turn_of[hosts[page - 1]]) if connections != ANY_NUMBER else 1


@kernel
def _seen_to_fit(pages: Any, priority: Any, hosts: Any, counts: Any, new_pages: Any, connections: int) -> Any:
    """Whether all these pages are ids, and they and their hosts have their places."""
    last_page, last_host = np.int64(0), np.int64(0)
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k])
        if page < 0 or page >= MAX_PAGES:
            return NOT_AN_ID
        last_page = max(last_page, page)
        if connections != ANY_NUMBER and page < len(hosts):
            last_host = max(last_host, np.int64(hosts[page]))
    counts[ROOM_FOR_PAGES], counts[ROOM_FOR_HOSTS] = last_page + 2, last_host + 1
    has_room = last_page + 2 <= len(pages) and last_page < len(priority) and last_page < len(hosts)
    return DONE if has_room and last_host < counts[HOSTS] else LACKS_ROOM


@kernel
def put(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, turn_of: Any, turns: Any, ready: Any,
    quick: Any, resting: Any, counts: Any,
    new_pages: Any, values: Any, connections: int, now: float,
) -> Any:  # fmt: skip
    """Add pages, or change those that are here; none is set apart. Nothing has happened unless it answers DONE."""
    for k in range(len(values)):
        if values[k] != values[k]:
            return NOT_ORDERED
    fit = _seen_to_fit(pages, priority, hosts, counts, new_pages, connections)
    if fit != DONE:
        return fit
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k]) + 1
        turn = _turn(hosts, turn_of, page, connections)
        best = np.int64(turns[turn].best)
        is_here, old = pages[page].before != 0, priority[page - 1]
        if is_here and values[k] == old:
            continue
        if is_here and values[k] < old and pages[page].child != 0:
            _leave(pages, priority, apart_pages, apart, turns, counts, page, turn)
            is_here = False
        priority[page - 1] = values[k]
        if not is_here:
            _enter(pages, priority, apart_pages, apart, turns, counts, page, turn, 0)
        elif values[k] > old:
            _rise(pages, priority, apart_pages, apart, turns, page, turn)
        if page == best or turns[turn].best != best:
            _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)
    return DONE


@kernel
def enter(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, turn_of: Any, turns: Any, ready: Any,
    quick: Any, resting: Any, counts: Any,
    new_pages: Any, is_apart: bool, connections: int, now: float,
) -> Any:  # fmt: skip
    """Add pages that are not here, by the priorities that they have. Nothing has happened unless it answers DONE."""
    fit = _seen_to_fit(pages, priority, hosts, counts, new_pages, connections)
    if fit != DONE:
        return fit
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k]) + 1
        if pages[page].before == 0:
            turn = _turn(hosts, turn_of, page, connections)
            _enter(pages, priority, apart_pages, apart, turns, counts, page, turn, APART if is_apart else 0)
            if turns[turn].best == page:
                _settle(
                    pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now
                )
    return DONE


@kernel
def follow(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, turn_of: Any, turns: Any, ready: Any,
    quick: Any, resting: Any, counts: Any,
    changed: Any, links: Any, states: Any, is_shared: bool, connections: int, now: float,
) -> Any:  # fmt: skip
    """A page was fetched: priorities of `changed` pages have grown, if they are shared, and it has these `links`.

    Only pages that are KNOWN by their `states` may wait. Those linked to come in where they are not here, and are LAST
    no more. Nothing has happened unless it answers DONE.
    """
    fit = _seen_to_fit(pages, priority, hosts, counts, links, connections)
    if fit == DONE and len(changed) > 0:
        n_pages, n_hosts = counts[ROOM_FOR_PAGES], counts[ROOM_FOR_HOSTS]
        fit = _seen_to_fit(pages, priority, hosts, counts, changed, connections)
        counts[ROOM_FOR_PAGES] = max(n_pages, counts[ROOM_FOR_PAGES])
        counts[ROOM_FOR_HOSTS] = max(n_hosts, counts[ROOM_FOR_HOSTS])
    if fit != DONE:
        return fit
    for k in range(len(changed) + len(links)):
        is_link = k >= len(changed)
        page = np.int64(links[k - len(changed)] if is_link else changed[k]) + 1
        if states[page - 1] != KNOWN:
            continue
        is_here = pages[page].before != 0
        if is_here and is_link:
            is_apart = np.int64(pages[page].before) & APART
            if not (is_apart or not is_shared) or priority_of(pages, priority, apart_pages, apart, page) != LAST:
                continue
        turn = _turn(hosts, turn_of, page, connections)
        best = np.int64(turns[turn].best)
        if is_here and np.int64(pages[page].before) & APART:
            _leave(pages, priority, apart_pages, apart, turns, counts, page, turn)
            is_here = False
        if not is_shared:
            priority[page - 1] = 0.0
        if is_here:
            _rise(pages, priority, apart_pages, apart, turns, page, turn)
        else:
            _enter(pages, priority, apart_pages, apart, turns, counts, page, turn, 0)
        if page == best or turns[turn].best != best:
            _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)
    return DONE


@kernel
def remove(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, turn_of: Any, turns: Any, ready: Any,
    quick: Any, resting: Any, counts: Any,
    page: int, connections: int, now: float,
) -> None:  # fmt: skip
    """Forget a page that is here."""
    turn = _turn(hosts, turn_of, page + 1, connections)
    best = turns[turn].best
    _leave(pages, priority, apart_pages, apart, turns, counts, page + 1, turn)
    if turns[turn].best != best:
        _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)


@kernel
def take(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, turn_of: Any, turns: Any, ready: Any,
    quick: Any, resting: Any, counts: Any,
    only_quick: bool, connections: int, now: float,
) -> Any:  # fmt: skip
    """(the best page whose turn it may be, its priority, whether it is set apart); (-1, 0, False) if there is none."""
    while counts[RESTING] > 0 and -resting[1].key <= now:
        turn = np.int64(resting[1].turn)
        _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)
    while True:
        from_ready = counts[READY] > 0 and not only_quick
        if from_ready and counts[QUICK] > 0:
            from_ready = _goes_first(ready[1].key, np.int64(ready[1].tie), quick[1])
        if not from_ready and counts[QUICK] == 0:
            return np.int64(-1), 0.0, False
        turn = np.int64(ready[1].turn if from_ready else quick[1].turn)
        if connections != ANY_NUMBER and turns[turn].rests_until > now:  # the time given has gone back
            _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)
            continue
        page = np.int64(turns[turn].best)
        value = priority_of(pages, priority, apart_pages, apart, page)
        is_apart = (np.int64(pages[page].before) & APART) != 0
        _leave(pages, priority, apart_pages, apart, turns, counts, page, turn)
        pages[page].after = turn
        turns[turn].n_open += np.uint32(1)
        _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)
        return page - 1, value, is_apart


@kernel
def rest(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, turn_of: Any, turns: Any, ready: Any,
    quick: Any, resting: Any, counts: Any,
    turn: int, until: float, connections: int, now: float,
) -> None:  # fmt: skip
    """The turn rests until then, or longer where it does so already."""
    turns[turn].rests_until = max(turns[turn].rests_until, until)
    _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)


@kernel
def wake(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, turn_of: Any, turns: Any, ready: Any,
    quick: Any, resting: Any, counts: Any,
    turn: int, connections: int, now: float,
) -> None:  # fmt: skip
    """The turn rests no longer."""
    turns[turn].rests_until = -np.inf
    _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)


@kernel
def set_quick(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, turn_of: Any, turns: Any, ready: Any,
    quick: Any, resting: Any, counts: Any,
    turn: int, is_quick: bool, connections: int, now: float,
) -> None:  # fmt: skip
    """The turn is one of a quick host, or not."""
    turns[turn].is_quick = is_quick
    _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)


@kernel
def release(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, turn_of: Any, turns: Any, ready: Any,
    quick: Any, resting: Any, counts: Any,
    turn: int, ended: float, delay_s: float, is_asked_for: bool, connections: int, now: float,
) -> None:  # fmt: skip
    """A request ended: the turn has a connection more, and rests for its own delay, or else for this one."""
    if turns[turn].n_open > 0:
        turns[turn].n_open -= np.uint32(1)
    if turns[turn].has_delay and not is_asked_for:
        delay_s = turns[turn].delay_s
    if delay_s > 0.0:
        turns[turn].rests_until = max(turns[turn].rests_until, ended + delay_s)
    _settle(pages, priority, apart_pages, apart, turns, ready, quick, resting, counts, turn, connections, now)
