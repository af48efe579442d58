"""The heaps of the frontier in flat arrays: a heap of pages for each slot, and heaps of ready and of snoozed slots.

A page waits for a *slot*, usually that of its host. Hosts may share one: `slot_of` maps each host to its slot. A page
that was taken stores the slot it was taken from (in `after`) until it is released.

A page costs 12 bytes, without its priority and its host; a host with its own slot costs 84. Nothing is allocated while
pages are added and removed. There are three layers, each built on the one before it:

    pages of a slot   a pairing heap (Fredman, Sedgewick, Sleator & Tarjan 1986): each page has its first child, the
                      page after it and the one before it, so any page can be cut out without a search. Adding costs
                      O(1), taking, removing and changing O(log n) amortised. No kernel recurses, however deep a heap is
    slots             binary heaps, with the index of each slot in its heap: the ready ones by their best page, in two
                      heaps, one for quick hosts; the snoozed ones by the time of their next request
    batches           what the frontier calls, one kernel for each of its methods

Priorities are in an array by page. It may belong to a policy, which raises priorities and then names the pages
(`follow`): between the two, the heaps are out of order, and no page may be taken. A page may be *set apart*: then its
priority is not in that array, but in the sparse array `apart`, or LAST if it has no entry there.

Indexes of pages, slots and entries are one higher than their ids, except in the arrays of priorities and hosts: index 0
is no page, slot or entry. It may be written to, which saves a test whether a neighbour exists, but is never read.

The order is total: the higher priority first, and of equals the lower page id.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.graph.sparse import number_of
from orienteer.kernel import kernel

PAGE = np.dtype([("child", np.uint32), ("after", np.uint32), ("before", np.uint32)], align=True)
# `before` is the parent for a first child, the page itself for a top, and 0 for a page that is not in the frontier.
# Its highest bit marks a page that is set apart.
APART = 1 << 31
MAX_PAGES = APART - 1
SLOT = np.dtype(
    [("free_at", np.float64), ("delay_s", np.float64), ("best", np.uint32), ("place", np.uint32),
     ("n_open", np.uint32), ("heap", np.uint8), ("has_delay", np.bool_), ("is_quick", np.bool_),
     ("is_counted", np.bool_)],
    align=True,
)  # fmt: skip
ENTRY = np.dtype([("key", np.float64), ("tie", np.uint32), ("slot", np.uint32)], align=True)

# The heap of a slot: NOWHERE while it has no page or no free connection. `counts` has the size of each heap at the same
# index; then the numbers of pages, of slots of quick hosts with pages, of hosts and of slots; and the sizes of the
# arrays that a batch needs, if it returned LACKS_ROOM.
NOWHERE, READY, QUICK, SNOOZED, PAGES, QUICK_WAITING, HOSTS, SLOTS, ROOM_FOR_PAGES, ROOM_FOR_HOSTS = range(10)

LAST = -np.inf  # the priority of a page that comes after all others, until a fetched page links to it

ANY_NUMBER = 0  # of connections: hosts are ignored, all pages wait for one slot

DONE, LACKS_ROOM, NOT_ORDERED, NOT_AN_ID = range(4)  # results of a batch

KNOWN = 0  # the state of a page that may be in the frontier


# Pages of a slot ------------------------------------------------------------------------------------------------------


@kernel
def priority_of(pages: Any, priority: Any, apart_pages: Any, apart: Any, page: Any) -> Any:
    """Return the priority of a page in the frontier."""
    if np.int64(pages[page].before) & APART:
        return number_of(apart_pages, apart, np.int64(page) - 1, LAST)
    return priority[page - 1]


@kernel
def _set_before(pages: Any, page: Any, before: Any) -> None:
    pages[page].before = (np.int64(pages[page].before) & APART) | np.int64(before)


@kernel
def _melded(pages: Any, priority: Any, apart_pages: Any, apart: Any, a: Any, b: Any) -> Any:
    """Meld two heaps and return the top. The `after` of a top has no meaning."""
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
    """Return the heap without its top: children are melded in pairs from the left, then the pairs from the right."""
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
    """Cut a page that is not the top out of its heap, with its subtree."""
    before, after = np.int64(pages[page].before) & MAX_PAGES, pages[page].after
    if pages[before].child == page:
        pages[before].child = after
    else:
        pages[before].after = after
    _set_before(pages, after, before)


@kernel
def _set_best(pages: Any, slots: Any, slot: Any, top: Any) -> None:
    slots[slot].best = top
    _set_before(pages, top, top)


@kernel
def _enter(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, slots: Any, counts: Any, page: int, slot: int, flag: int
) -> None:
    """Insert a page that is not in the frontier; the flag is APART or 0."""
    pages[page].child = 0
    pages[page].before = page | flag
    top = _melded(pages, priority, apart_pages, apart, np.int64(slots[slot].best), page)
    _set_best(pages, slots, slot, top)
    counts[PAGES] += 1


@kernel
def _leave(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, slots: Any, counts: Any, page: int, slot: int
) -> None:
    counts[PAGES] -= 1
    best = np.int64(slots[slot].best)
    left = _without_top(pages, priority, apart_pages, apart, page)
    if page != best:
        _cut_out(pages, page)
        left = _melded(pages, priority, apart_pages, apart, best, left)
    _set_best(pages, slots, slot, left)
    pages[page].before = 0
    pages[page].after = 0  # it has taken no slot


@kernel
def _rise(pages: Any, priority: Any, apart_pages: Any, apart: Any, slots: Any, page: int, slot: int) -> None:
    """Move a page up whose priority has grown."""
    best = np.int64(slots[slot].best)
    if page != best:
        _cut_out(pages, page)
        _set_best(pages, slots, slot, _melded(pages, priority, apart_pages, apart, best, page))


# Slots ----------------------------------------------------------------------------------------------------------------


@kernel
def _goes_first(key: float, tie: int, other: Any) -> Any:
    return key > other.key or (key == other.key and tie < other.tie)


@kernel
def _sift(heap: Any, n: int, slots: Any, place: int, key: float, tie: int, slot: int) -> None:
    """Sift a slot into a heap of n entries, from a free place up or down to where its key belongs."""
    while place > 1 and _goes_first(key, tie, heap[place >> 1]):
        above = place >> 1
        heap[place] = heap[above]
        slots[heap[place].slot].place = place
        place = above
    while 2 * place <= n:
        below = 2 * place
        if below < n and _goes_first(heap[below + 1].key, heap[below + 1].tie, heap[below]):
            below += 1
        if _goes_first(key, tie, heap[below]):
            break
        heap[place] = heap[below]
        slots[heap[place].slot].place = place
        place = below
    heap[place].key = key
    heap[place].tie = tie
    heap[place].slot = slot
    slots[slot].place = place


@kernel
def _remove_entry(heap: Any, n: int, slots: Any, place: int) -> None:
    """Remove the entry at a place from a heap of n entries: the last one fills the gap."""
    last = heap[n]
    if place < n:
        _sift(heap, n - 1, slots, place, last.key, np.int64(last.tie), np.int64(last.slot))


@kernel
def _settle(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, slots: Any, ready: Any, quick: Any, snoozed: Any,
    counts: Any, slot: int, connections: int, now: float,
) -> None:  # fmt: skip
    """Move a slot to the heap and the place where it belongs, after any change of it."""
    best = np.int64(slots[slot].best)
    new_heap = NOWHERE
    if best != 0 and (connections == ANY_NUMBER or slots[slot].n_open < connections):
        new_heap = QUICK if slots[slot].is_quick else READY
        if connections != ANY_NUMBER and slots[slot].free_at > now:
            new_heap = SNOOZED
    is_counted = best != 0 and slots[slot].is_quick
    if is_counted != slots[slot].is_counted:
        counts[QUICK_WAITING] += 1 if is_counted else -1
        slots[slot].is_counted = is_counted
    old_heap = np.int64(slots[slot].heap)
    if old_heap != new_heap:
        if old_heap != NOWHERE:
            heap = ready if old_heap == READY else quick if old_heap == QUICK else snoozed
            _remove_entry(heap, counts[old_heap], slots, np.int64(slots[slot].place))
            counts[old_heap] -= 1
        if new_heap != NOWHERE:
            counts[new_heap] += 1
            slots[slot].place = counts[new_heap]
        slots[slot].heap = new_heap
    place = np.int64(slots[slot].place)
    if new_heap == SNOOZED:
        _sift(snoozed, counts[SNOOZED], slots, place, -slots[slot].free_at, slot, slot)
    elif new_heap == READY:
        key = priority_of(pages, priority, apart_pages, apart, best)
        _sift(ready, counts[READY], slots, place, key, best, slot)
    elif new_heap == QUICK:
        key = priority_of(pages, priority, apart_pages, apart, best)
        _sift(quick, counts[QUICK], slots, place, key, best, slot)


# Batches --------------------------------------------------------------------------------------------------------------


@kernel
def _slot(hosts: Any, slot_of: Any, page: int, connections: int) -> Any:
    """Return the slot that a page waits for."""
    return np.int64(slot_of[hosts[page - 1]]) if connections != ANY_NUMBER else 1


@kernel
def _check_room(pages: Any, priority: Any, hosts: Any, counts: Any, new_pages: Any, connections: int) -> Any:
    """Check that all these pages are ids, and that the arrays have room for them and their hosts."""
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
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, slot_of: Any, slots: Any, ready: Any,
    quick: Any, snoozed: Any, counts: Any,
    new_pages: Any, values: Any, connections: int, now: float,
) -> Any:  # fmt: skip
    """Add pages, or change those in the frontier; none is set apart. Nothing has changed unless it returns DONE."""
    for k in range(len(values)):
        if values[k] != values[k]:
            return NOT_ORDERED
    room_check = _check_room(pages, priority, hosts, counts, new_pages, connections)
    if room_check != DONE:
        return room_check
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k]) + 1
        slot = _slot(hosts, slot_of, page, connections)
        best = np.int64(slots[slot].best)
        is_here, old = pages[page].before != 0, priority[page - 1]
        if is_here and values[k] == old:
            continue
        if is_here and values[k] < old and pages[page].child != 0:
            _leave(pages, priority, apart_pages, apart, slots, counts, page, slot)
            is_here = False
        priority[page - 1] = values[k]
        if not is_here:
            _enter(pages, priority, apart_pages, apart, slots, counts, page, slot, 0)
        elif values[k] > old:
            _rise(pages, priority, apart_pages, apart, slots, page, slot)
        if page == best or slots[slot].best != best:
            _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)
    return DONE


@kernel
def enter(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, slot_of: Any, slots: Any, ready: Any,
    quick: Any, snoozed: Any, counts: Any,
    new_pages: Any, is_apart: bool, connections: int, now: float,
) -> Any:  # fmt: skip
    """Add pages that are not in the frontier, by their priorities. Nothing has changed unless it returns DONE."""
    room_check = _check_room(pages, priority, hosts, counts, new_pages, connections)
    if room_check != DONE:
        return room_check
    for k in range(len(new_pages)):
        page = np.int64(new_pages[k]) + 1
        if pages[page].before == 0:
            slot = _slot(hosts, slot_of, page, connections)
            _enter(pages, priority, apart_pages, apart, slots, counts, page, slot, APART if is_apart else 0)
            if slots[slot].best == page:
                _settle(
                    pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now
                )
    return DONE


@kernel
def follow(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, slot_of: Any, slots: Any, ready: Any,
    quick: Any, snoozed: Any, counts: Any,
    changed: Any, links: Any, states: Any, is_shared: bool, connections: int, now: float,
) -> Any:  # fmt: skip
    """Reorder after a fetch: shared priorities of `changed` pages have grown, and the page has these `links`.

    Only pages that are KNOWN by their `states` enter. Targets of links are added where they are missing, and are no
    longer LAST. Nothing has changed unless it returns DONE.
    """
    room_check = _check_room(pages, priority, hosts, counts, links, connections)
    if room_check == DONE and len(changed) > 0:
        n_pages, n_hosts = counts[ROOM_FOR_PAGES], counts[ROOM_FOR_HOSTS]
        room_check = _check_room(pages, priority, hosts, counts, changed, connections)
        counts[ROOM_FOR_PAGES] = max(n_pages, counts[ROOM_FOR_PAGES])
        counts[ROOM_FOR_HOSTS] = max(n_hosts, counts[ROOM_FOR_HOSTS])
    if room_check != DONE:
        return room_check
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
        slot = _slot(hosts, slot_of, page, connections)
        best = np.int64(slots[slot].best)
        if is_here and np.int64(pages[page].before) & APART:
            _leave(pages, priority, apart_pages, apart, slots, counts, page, slot)
            is_here = False
        if not is_shared:
            priority[page - 1] = 0.0
        if is_here:
            _rise(pages, priority, apart_pages, apart, slots, page, slot)
        else:
            _enter(pages, priority, apart_pages, apart, slots, counts, page, slot, 0)
        if page == best or slots[slot].best != best:
            _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)
    return DONE


@kernel
def remove(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, slot_of: Any, slots: Any, ready: Any,
    quick: Any, snoozed: Any, counts: Any,
    page: int, connections: int, now: float,
) -> None:  # fmt: skip
    """Remove a page that is in the frontier."""
    slot = _slot(hosts, slot_of, page + 1, connections)
    best = slots[slot].best
    _leave(pages, priority, apart_pages, apart, slots, counts, page + 1, slot)
    if slots[slot].best != best:
        _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)


@kernel
def take(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, slot_of: Any, slots: Any, ready: Any,
    quick: Any, snoozed: Any, counts: Any,
    only_quick: bool, connections: int, now: float,
) -> Any:  # fmt: skip
    """Take the best page of the ready slots: (page, priority, whether it is set apart); (-1, 0, False) if none."""
    while counts[SNOOZED] > 0 and -snoozed[1].key <= now:
        slot = np.int64(snoozed[1].slot)
        _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)
    while True:
        from_ready = counts[READY] > 0 and not only_quick
        if from_ready and counts[QUICK] > 0:
            from_ready = _goes_first(ready[1].key, np.int64(ready[1].tie), quick[1])
        if not from_ready and counts[QUICK] == 0:
            return np.int64(-1), 0.0, False
        slot = np.int64(ready[1].slot if from_ready else quick[1].slot)
        if connections != ANY_NUMBER and slots[slot].free_at > now:  # `now` is earlier than in the last call
            _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)
            continue
        page = np.int64(slots[slot].best)
        value = priority_of(pages, priority, apart_pages, apart, page)
        is_apart = (np.int64(pages[page].before) & APART) != 0
        _leave(pages, priority, apart_pages, apart, slots, counts, page, slot)
        pages[page].after = slot
        slots[slot].n_open += np.uint32(1)
        _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)
        return page - 1, value, is_apart


@kernel
def snooze(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, slot_of: Any, slots: Any, ready: Any,
    quick: Any, snoozed: Any, counts: Any,
    slot: int, until: float, connections: int, now: float,
) -> None:  # fmt: skip
    """Snooze the slot until this time; a longer snooze stays."""
    slots[slot].free_at = max(slots[slot].free_at, until)
    _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)


@kernel
def wake(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, slot_of: Any, slots: Any, ready: Any,
    quick: Any, snoozed: Any, counts: Any,
    slot: int, connections: int, now: float,
) -> None:  # fmt: skip
    """End the snooze of the slot."""
    slots[slot].free_at = -np.inf
    _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)


@kernel
def set_quick(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, slot_of: Any, slots: Any, ready: Any,
    quick: Any, snoozed: Any, counts: Any,
    slot: int, is_quick: bool, connections: int, now: float,
) -> None:  # fmt: skip
    """Mark the slot as one of a quick host, or not."""
    slots[slot].is_quick = is_quick
    _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)


@kernel
def release(
    pages: Any, priority: Any, apart_pages: Any, apart: Any, hosts: Any, slot_of: Any, slots: Any, ready: Any,
    quick: Any, snoozed: Any, counts: Any,
    slot: int, ended: float, delay_s: float, is_asked_for: bool, connections: int, now: float,
) -> None:  # fmt: skip
    """End a request: free a connection and snooze the slot for its own delay, or else for this one."""
    if slots[slot].n_open > 0:
        slots[slot].n_open -= np.uint32(1)
    if slots[slot].has_delay and not is_asked_for:
        delay_s = slots[slot].delay_s
    if delay_s > 0.0:
        slots[slot].free_at = max(slots[slot].free_at, ended + delay_s)
    _settle(pages, priority, apart_pages, apart, slots, ready, quick, snoozed, counts, slot, connections, now)
