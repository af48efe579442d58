"""The frontier's heaps in flat arrays: for every turn one of its pages, then the ready turns, and the resting ones.

A *turn* is what a page waits for: usually that of its host. Hosts may share one; `turn_of` says whose turn the pages of
each host wait for. A page that was taken remembers the turn it took (in `after`) until it is released.

A page costs 24 bytes, a host with a turn of its own 84; nothing is allocated while pages come and go. Three layers,
each built on the one before it:

    pages of a turn   a pairing heap (Fredman, Sedgewick, Sleator & Tarjan 1986): each page knows its first child, the
                      page after it and the one before it, so any page can be cut out without a search. Adding costs
                      O(1), taking, removing and changing O(log n) amortised. No kernel recurses, however deep a heap is
    turns             binary heaps that know where each turn stands: the ready ones by their best page, in two heaps,
                      one for quick hosts; the resting ones by the end of their rest
    batches           what the frontier calls, one kernel for each of its methods

In the arrays everything stands one place up: place 0 is no page, no turn, no entry. It may be written to (it saves
asking whether there is a neighbour), but what is written there means nothing.

The order is total: the higher priority first, and of equals the lower page id.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.kernel import kernel

PAGE = np.dtype(
    [("priority", np.float64), ("child", np.uint32), ("after", np.uint32), ("before", np.uint32), ("turn", np.uint32)],
    align=True,
)  # `before` is the parent for a first child, `turn` is 0 for a page that is not here
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


# Pages of a turn ------------------------------------------------------------------------------------------------------


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
def _enter(pages: Any, turns: Any, counts: Any, page: int, priority: float, turn: int) -> None:
    pages[page].priority = priority
    pages[page].child = 0
    pages[page].turn = turn
    turns[turn].best = _melded(pages, np.int64(turns[turn].best), page)
    counts[PAGES] += 1


@kernel
def _leave(pages: Any, turns: Any, counts: Any, page: int) -> None:
    turn = pages[page].turn
    pages[page].turn = 0
    counts[PAGES] -= 1
    best = np.int64(turns[turn].best)
    if page == best:
        turns[turn].best = _without_top(pages, page)
    else:
        _cut_out(pages, page)
        turns[turn].best = _melded(pages, best, _without_top(pages, page))
    pages[page].after = 0  # it has taken no turn


@kernel
def _reprioritise(pages: Any, turns: Any, counts: Any, page: int, priority: float) -> None:
    turn = np.int64(pages[page].turn)
    best = np.int64(turns[turn].best)
    if priority > pages[page].priority:
        pages[page].priority = priority
        if page != best:
            _cut_out(pages, page)
            turns[turn].best = _melded(pages, best, page)
    elif pages[page].child == 0:
        pages[page].priority = priority
    else:
        _leave(pages, turns, counts, page)
        _enter(pages, turns, counts, page, priority, turn)


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
    pages: Any, turns: Any, ready: Any, quick: Any, resting: Any, counts: Any, turn: int, connections: int, now: float
) -> None:
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
        _stand(ready, counts[READY], turns, place, pages[best].priority, best, turn)
    elif there == QUICK:
        _stand(quick, counts[QUICK], turns, place, pages[best].priority, best, turn)


# Batches --------------------------------------------------------------------------------------------------------------


@kernel
def _seen_to_fit(pages: Any, counts: Any, new_pages: Any, new_hosts: Any, connections: int) -> Any:
    """Whether all these pages and hosts are ids, and have their places."""
    last_page, last_host = np.int64(0), np.int64(0)
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k])
        host = np.int64(new_hosts[k] if connections != ANY_NUMBER else 0)
        if min(page, host) < 0 or max(page, host) >= 2**32 - 1:
            return NOT_AN_ID
        last_page, last_host = max(last_page, page), max(last_host, host)
    counts[ROOM_FOR_PAGES], counts[ROOM_FOR_HOSTS] = last_page + 2, last_host + 1
    return DONE if last_page + 2 <= len(pages) and last_host < counts[HOSTS] else LACKS_ROOM


@kernel
def put(
    pages: Any, turns: Any, ready: Any, quick: Any, resting: Any, counts: Any, turn_of: Any,
    new_pages: Any, priorities: Any, new_hosts: Any, connections: int, now: float,
) -> Any:  # fmt: skip
    """Add pages, or change those that are here. Nothing has happened unless it answers DONE."""
    for k in range(len(priorities)):
        if priorities[k] != priorities[k]:
            return NOT_ORDERED
    fit = _seen_to_fit(pages, counts, new_pages, new_hosts, connections)
    if fit != DONE:
        return fit
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k]) + 1
        turn = np.int64(turn_of[new_hosts[k]]) if connections != ANY_NUMBER else 1
        if pages[page].turn != 0 and pages[page].turn != turn:
            old_turn = np.int64(pages[page].turn)
            _leave(pages, turns, counts, page)
            _settle(pages, turns, ready, quick, resting, counts, old_turn, connections, now)
        best = np.int64(turns[turn].best)
        if pages[page].turn == 0:
            _enter(pages, turns, counts, page, priorities[k], turn)
        elif pages[page].priority != priorities[k]:
            _reprioritise(pages, turns, counts, page, priorities[k])
        else:
            continue
        if page == best or turns[turn].best != best:
            _settle(pages, turns, ready, quick, resting, counts, turn, connections, now)
    return DONE


@kernel
def add(
    pages: Any, turns: Any, ready: Any, quick: Any, resting: Any, counts: Any, turn_of: Any,
    new_pages: Any, new_hosts: Any, connections: int, now: float,
) -> Any:  # fmt: skip
    """Pages that are not here, or here only as LAST, have priority 0 now. Nothing has happened unless it is DONE."""
    fit = _seen_to_fit(pages, counts, new_pages, new_hosts, connections)
    if fit != DONE:
        return fit
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k]) + 1
        if pages[page].turn == 0:
            turn = np.int64(turn_of[new_hosts[k]]) if connections != ANY_NUMBER else 1
            best = turns[turn].best
            _enter(pages, turns, counts, page, 0.0, turn)
            if turns[turn].best != best:
                _settle(pages, turns, ready, quick, resting, counts, turn, connections, now)
        elif pages[page].priority == LAST:
            _reprioritise(pages, turns, counts, page, 0.0)
            _settle(pages, turns, ready, quick, resting, counts, np.int64(pages[page].turn), connections, now)
    return DONE


@kernel
def remove(
    pages: Any, turns: Any, ready: Any, quick: Any, resting: Any, counts: Any, page: int, connections: int, now: float
) -> None:
    """Forget a page that is here."""
    turn = np.int64(pages[page + 1].turn)
    best = turns[turn].best
    _leave(pages, turns, counts, page + 1)
    if turns[turn].best != best:
        _settle(pages, turns, ready, quick, resting, counts, turn, connections, now)


@kernel
def take(
    pages: Any, turns: Any, ready: Any, quick: Any, resting: Any, counts: Any,
    only_quick: bool, connections: int, now: float,
) -> Any:  # fmt: skip
    """(the best page whose turn it may be, its priority); (-1, 0) if there is none."""
    while counts[RESTING] > 0 and -resting[1].key <= now:
        _settle(pages, turns, ready, quick, resting, counts, np.int64(resting[1].turn), connections, now)
    while True:
        from_ready = counts[READY] > 0 and not only_quick
        if from_ready and counts[QUICK] > 0:
            from_ready = _goes_first(ready[1].key, np.int64(ready[1].tie), quick[1])
        if not from_ready and counts[QUICK] == 0:
            return np.int64(-1), 0.0
        turn = np.int64(ready[1].turn if from_ready else quick[1].turn)
        if connections != ANY_NUMBER and turns[turn].rests_until > now:  # the time given has gone back
            _settle(pages, turns, ready, quick, resting, counts, turn, connections, now)
            continue
        page = np.int64(turns[turn].best)
        priority = pages[page].priority
        _leave(pages, turns, counts, page)
        pages[page].after = turn
        turns[turn].n_open += np.uint32(1)
        _settle(pages, turns, ready, quick, resting, counts, turn, connections, now)
        return page - 1, priority


@kernel
def rest(
    pages: Any, turns: Any, ready: Any, quick: Any, resting: Any, counts: Any,
    turn: int, until: float, connections: int, now: float,
) -> None:  # fmt: skip
    """The turn rests until then, or longer where it does so already."""
    turns[turn].rests_until = max(turns[turn].rests_until, until)
    _settle(pages, turns, ready, quick, resting, counts, turn, connections, now)


@kernel
def wake(
    pages: Any, turns: Any, ready: Any, quick: Any, resting: Any, counts: Any, turn: int, connections: int, now: float
) -> None:
    """The turn rests no longer."""
    turns[turn].rests_until = -np.inf
    _settle(pages, turns, ready, quick, resting, counts, turn, connections, now)


@kernel
def set_quick(
    pages: Any, turns: Any, ready: Any, quick: Any, resting: Any, counts: Any,
    turn: int, is_quick: bool, connections: int, now: float,
) -> None:  # fmt: skip
    """The turn is one of a quick host, or not."""
    turns[turn].is_quick = is_quick
    _settle(pages, turns, ready, quick, resting, counts, turn, connections, now)


@kernel
def release(
    pages: Any, turns: Any, ready: Any, quick: Any, resting: Any, counts: Any,
    turn: int, ended: float, delay_s: float, is_asked_for: bool, connections: int, now: float,
) -> None:  # fmt: skip
    """A request ended: the turn has a connection more, and rests for its own delay, or else for this one."""
    if turns[turn].n_open > 0:
        turns[turn].n_open -= np.uint32(1)
    if turns[turn].has_delay and not is_asked_for:
        delay_s = turns[turn].delay_s
    if delay_s > 0.0:
        turns[turn].rests_until = max(turns[turn].rests_until, ended + delay_s)
    _settle(pages, turns, ready, quick, resting, counts, turn, connections, now)
