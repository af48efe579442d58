"""An exact priority queue of pages for kernels: buckets on the bits of the priority, and a heap for the hottest bucket.

The bits of a positive float64 are ordered like its value. The exponent and the first 6 bits of the mantissa are the
bucket (64 buckets per doubling). A page whose priority moves to another bucket is appended there and leaves a *stale*
entry behind, recognised later because it does not match the page's priority. Only the pages of the best bucket are
ordered, in a binary heap. So a change of priority costs an append, mostly to cached memory, instead of a walk through a
heap of all pages. In the heap, too, a change is a new entry; when two in three may be stale, all stale ones are
dropped. The order is exact: higher priority first, ties by the lowest page id.

A queue is two arrays:

    pool (uint32)    [the five numbers below][newest chunk of each bucket][chunk 0][chunk 1]...
                     a chunk: [previous chunk][number of pages][up to 62 pages]; free chunks form a list
    heap (float64)   [priority, page, priority, page, ...]

Priorities are above 0; 0 or less means "not in the queue". The caller stores them in an array indexed by page; kernels
also take it viewed as int64 (`bits`). Kernels cannot enlarge the arrays: they check `lacks_room` before a step and
return LACKS_ROOM; Python then enlarges the queue with `with_room` and calls them again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import zeros
from orienteer.kernel import inlined, kernel

_SHIFT = 52 - 6
_N_BUCKETS = (1023 + 64) << 6  # priorities from 0 up to 2^64; greater ones share the last bucket

# Header of the pool: chunks ever used (chunk 0 means "none"), the first free chunk, the number of free chunks, entries
# in the heap, the lowest bucket that is in the heap, 1 + the highest bucket in use, the number of entries in the heap
# from which stale ones are dropped.
_USED, _FREE, _N_FREE, _HEAP, _HOT, _TOP, _LIMIT = range(7)
_HEADS = 64
_CHUNKS = _HEADS + _N_BUCKETS
_CHUNK = 64
_FIRST = 2  # index of the first page in a chunk
_LEAST_LIMIT = 1 << 10  # entries in the heap: stale ones in a smaller heap are dropped only when they are the best

NONE = -1  # `best` found the queue empty
LACKS_ROOM = -2  # `best` needs a larger heap


class PriorityQueue(NamedTuple):
    pool: NDArray[np.uint32]
    heap: NDArray[np.float64]


def new_queue(n_pages: int) -> PriorityQueue:
    """Return an empty queue with room for most crawls of a graph of `n_pages` pages.

    Checkpoints contain the whole arrays, so unused memory is zeroed: uninitialised memory may hold private data.
    """
    pool = zeros(_CHUNKS + _CHUNK * (256 + n_pages // 100), np.uint32)
    pool[_USED] = 1
    pool[_HOT] = _N_BUCKETS
    return PriorityQueue(pool, zeros(2 * 1024, np.float64))


def with_room(queue: PriorityQueue, n_entries: int) -> PriorityQueue:
    """Return the queue with room for `n_entries` more in any bucket."""
    pool, heap = queue
    n_chunks = (len(pool) - _CHUNKS) // _CHUNK
    if int(pool[_USED]) + n_entries >= n_chunks + int(pool[_N_FREE]):
        pool = _enlarged(
            pool, _CHUNKS + _CHUNK * int(pool[_USED]), _CHUNKS + _CHUNK * (n_chunks * 3 // 2 + n_entries + 1)
        )
    if 2 * (int(pool[_HEAP]) + n_entries + _CHUNK) >= len(heap):
        heap = _enlarged(heap, 2 * int(pool[_HEAP]), 2 * (len(heap) + n_entries + _CHUNK))
    return PriorityQueue(pool, heap)


def _enlarged(array: NDArray[Any], n_used: int, room: int) -> NDArray[Any]:
    """Copy only the used part: untouched pages of memory are never allocated."""
    larger = zeros(room, array.dtype)
    larger[:n_used] = array[:n_used]
    return larger


@inlined
def lacks_room(pool: Any, heap: Any, n_entries: int) -> Any:
    """Return whether `n_entries` more might not fit."""
    chunks_needed = pool[_USED] + n_entries - pool[_N_FREE]
    return (
        _CHUNKS + _CHUNK * (chunks_needed + 1) > len(pool) or 2 * (pool[_HEAP] + n_entries + _CHUNK) > len(heap)
    )  # fmt: skip


@inlined
def _bucket_of(bits: Any) -> Any:
    return min(bits >> _SHIFT, _N_BUCKETS - 1)


@inlined
def raise_priority(pool: Any, heap: Any, page: int, old: int, new: int, key: float) -> None:
    """Update the queue after a page's priority rose to `key`; `old` and `new` are its bits. There must be room."""
    bucket = _bucket_of(new)
    if bucket >= pool[_HOT]:
        _heap_push(pool, heap, key, page)
    elif old <= 0 or _bucket_of(old) != bucket:
        _append(pool, bucket, page)


@kernel
def _drop_stale(pool: Any, heap: Any, priority: Any) -> None:
    """Drop all stale entries of the heap, in linear time: to remove one at the top takes far longer."""
    n = 0
    for k in range(np.int64(pool[_HEAP])):
        key, page = heap[2 * k], heap[2 * k + 1]
        if priority[np.int64(page)] == key:
            heap[2 * n], heap[2 * n + 1] = key, page
            n += 1
    pool[_HEAP] = n
    pool[_LIMIT] = max(_LEAST_LIMIT, 3 * n)
    for at in range(n // 2 - 1, -1, -1):
        _sift_down(heap, n, at, heap[2 * at], heap[2 * at + 1])


@kernel
def best(pool: Any, heap: Any, priority: Any, bits: Any) -> Any:
    """Return the page of the highest priority without removing it, or NONE, or LACKS_ROOM."""
    if pool[_HEAP] > pool[_LIMIT]:
        _drop_stale(pool, heap, priority)
    while True:
        while pool[_HEAP] > 0:
            page = np.int64(heap[1])
            if priority[page] == heap[0]:
                return page
            drop_best(pool, heap)
        # The heap is empty: the best non-empty bucket becomes the hot one.
        top = pool[_TOP]
        while top > 0 and pool[_HEADS - 1 + top] == 0:
            top -= np.uint32(1)
        pool[_TOP] = top
        if top == 0:
            pool[_HOT] = _N_BUCKETS
            return np.int64(NONE)
        bucket = np.int64(top) - 1
        pool[_HOT] = bucket
        while pool[_HEADS + bucket] != 0:
            if 2 * (pool[_HEAP] + _CHUNK) > len(heap):
                return np.int64(LACKS_ROOM)
            chunk = pool[_HEADS + bucket]
            at = _CHUNKS + _CHUNK * np.int64(chunk)
            for k in range(at + _FIRST, at + _FIRST + pool[at + 1]):
                page = np.int64(pool[k])
                if priority[page] > 0.0 and _bucket_of(bits[page]) == bucket:
                    _heap_push(pool, heap, priority[page], page)
            pool[_HEADS + bucket] = pool[at]
            pool[at] = pool[_FREE]
            pool[_FREE] = chunk
            pool[_N_FREE] += np.uint32(1)


@kernel
def drop_best(pool: Any, heap: Any) -> None:
    """Remove the page that `best` has just returned."""
    size = np.int64(pool[_HEAP]) - 1
    pool[_HEAP] = size
    _sift_down(heap, size, 0, heap[2 * size], heap[2 * size + 1])


@inlined
def _sift_down(heap: Any, size: Any, at: Any, key: float, page: Any) -> None:
    """Write an entry into the heap of `size` entries, at `at` or below."""
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size:
            left, right = heap[2 * below], heap[2 * below + 2]
            if right > left or (right == left and heap[2 * below + 3] < heap[2 * below + 1]):
                below += 1
        if heap[2 * below] < key or (heap[2 * below] == key and heap[2 * below + 1] >= page):
            break
        heap[2 * at] = heap[2 * below]
        heap[2 * at + 1] = heap[2 * below + 1]
        at = below
    heap[2 * at] = key
    heap[2 * at + 1] = page


@inlined
def _heap_push(pool: Any, heap: Any, key: float, page: Any) -> None:
    at = np.int64(pool[_HEAP])
    pool[_HEAP] = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if heap[2 * above] > key or (heap[2 * above] == key and heap[2 * above + 1] <= page):
            break
        heap[2 * at] = heap[2 * above]
        heap[2 * at + 1] = heap[2 * above + 1]
        at = above
    heap[2 * at] = key
    heap[2 * at + 1] = page


@inlined
def _append(pool: Any, bucket: int, page: int) -> None:
    chunk = pool[_HEADS + bucket]
    at = _CHUNKS + _CHUNK * np.int64(chunk)
    if chunk == 0 or pool[at + 1] == _CHUNK - _FIRST:
        if pool[_N_FREE] > 0:
            new = pool[_FREE]
            at = _CHUNKS + _CHUNK * np.int64(new)
            pool[_FREE] = pool[at]
            pool[_N_FREE] -= np.uint32(1)
        else:
            new = pool[_USED]
            at = _CHUNKS + _CHUNK * np.int64(new)
            pool[_USED] = new + np.uint32(1)
        pool[at] = chunk
        pool[at + 1] = 0
        pool[_HEADS + bucket] = new
    n = pool[at + 1]
    pool[at + _FIRST + n] = page
    pool[at + 1] = n + np.uint32(1)
    if bucket >= pool[_TOP]:
        pool[_TOP] = bucket + 1
