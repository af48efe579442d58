"""A linear check of a page before its tree is built: markup that would cost far more than its size is refused.

The HTML library builds the tree of the standard in C, nested at most 512 deep. Three kinds of markup make it large or
slow:

- Formatting elements (`b`, `font` …) that are left open. Each is opened again, as a copy, in every block that follows:
  69 kB make 480 MB. The standard opens at most three with the same attributes again.
- `html` or `body` again and again, each with another attribute, which is added to a growing list: 249 kB make 4.6 GB.
- End tags that end nothing, in a deep nest: each looks through all elements that are open.

An accepted page takes at most 20 times its size plus 16 MB, and 50 ns a byte plus 5 ms. Most pages are accepted by
counting tags (`_count_tags`). For the others `_measure` matches start tags with end tags, and finds upper bounds of
what is left open, for any page: a start tag counts as closed only if all markup from it to its end tag is well-formed,
so that the standard closes it there, too. Where this is not certain, such as in a script that contains tags, all tags
around it count as left open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.kernel import inner, kernel

_MAX_NODES, _BYTES_A_NODE = 75_000, 20  # nodes that every page may have, and bytes of the page for each one more
_MAX_WALK_NS, _WALK_NS_A_BYTE = 5_000_000, 20
_ENTRY_NS, _FOREIGN_ENTRY_NS = 2, 10  # of one open element where an end tag is looked up, and within SVG or MathML
_MAX_DEPTH = 512  # the library does not nest deeper
_MAX_ROOT_ATTRIBUTES = 400  # of all `html` or of all `body` tags, where there are several
_COPIES_A_PAIR = 16  # most copies that one misnested pair makes
_MAX_SAME = 3  # formatting elements with the same attributes that are opened again
_LARGE = 500_000  # bytes; in larger pages bytes that take a node each may be too many

_VOID, _FORMATTING, _RAW, _CLOSING, _OPTIONAL_END, _FOREIGN, _HTML_POINT, _HTML, _BODY = (1 << bit for bit in range(9))
_NAMES_OF_KINDS = {
    _VOID: "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr",
    _FORMATTING: "a b big code em font i nobr s small strike strong tt u",
    _RAW: "iframe noembed noframes script style textarea title xmp",
    # Start tags that may end other elements; so may all names of more than eight letters, to be on the safe side.
    _CLOSING: "a address article aside body button caption center col colgroup dd details dialog dir div dl dt fieldset"
    " figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html input keygen li listing main menu"
    " nav nobr ol optgroup option p pre rb rp rt rtc search section select summary table tbody td textarea tfoot th"
    " thead title tr ul xmp",
    _OPTIONAL_END: "dd dt li optgroup option p rb rp rt rtc tbody td tfoot th thead tr",
    _FOREIGN: "math svg",
    _HTML_POINT: "desc mi mn mo ms mtext title",  # within SVG and MathML they contain HTML
    _HTML: "html",
    _BODY: "body",
}
_MAX_NAME = 8  # bytes of a name that is compared as a number

_TAGS, _END_TAGS, _FORMATTING_TAGS, _FOREIGN_TAGS, _HTML_TAGS, _BODY_TAGS, _OTHERS, _N_COUNTS = range(8)
_LEFT_OPEN, _MISNESTED, _LOST_ENDS, _DEPTH, _FOREIGN_OPEN, _HTML_ATTRIBUTES, _BODY_ATTRIBUTES = range(7)
_A_OPEN, _MOST_OPEN, _N_OPEN, _N_FORMATTING, _DOUBT, _N_FOUND = range(7, 13)
_KEY, _KIND, _START, _END = range(4)  # columns of open tags
_MAX_OPEN, _N_DISTINCT = 1024, 256
_PRIME = 0x100000001B3
_A, _Z, _SLASH, _LESS, _EQUALS, _GREATER, _DASH, _QUOTE, _APOSTROPHE, _BANG = b"az/<=>-\"'!"


def _key(name: str) -> int:
    return int.from_bytes(name.encode(), "big")


def _kinds() -> tuple[Any, Any, Any]:
    """Return names as numbers in order, their kinds, and what to count for the first two bytes of a tag."""
    kinds: dict[int, int] = {}
    counted = np.full(1 << 16, _OTHERS, np.uint8)
    places = {_FORMATTING: _FORMATTING_TAGS, _FOREIGN: _FOREIGN_TAGS, _HTML: _HTML_TAGS, _BODY: _BODY_TAGS}
    for kind, names in _NAMES_OF_KINDS.items():
        for name in names.split():
            kinds[_key(name)] = kinds.get(_key(name), 0) | kind
            for pair in _first_pairs(name) if kind in places and name != "a" else ():
                counted[pair] = places[kind]
    for letter in range(256):
        counted[_SLASH | letter << 8] = _END_TAGS
    keys = sorted(kinds)
    return np.array(keys, np.int64), np.array([kinds[key] for key in keys], np.int64), counted


def _first_pairs(name: str) -> list[int]:
    """Return the first two bytes of a start tag, as numbers, in all forms."""
    seconds = (
        (name[1].encode(), name[1].upper().encode())
        if len(name) > 1
        else (b" ", b"\t", b"\n", b"\f", b"\r", b"/", b">")
    )
    return [ord(first) | second[0] << 8 for first in (name[0], name[0].upper()) for second in seconds]


_KEYS, _KINDS, _COUNTED = _kinds()


def refusal(html: bytes) -> str | None:
    """Return why no tree may be built of a page, in a few words; None where it may.

    The page is UTF-8 (`parser.as_utf8`). The answer depends on its bytes alone.

    >>> refusal(b"<p>See <b>here</b>.") is None
    True
    >>> refusal(b"".join(b"<p><b id=%d>" % k for k in range(2000)))
    'formatting elements left open'
    """
    page = np.frombuffer(html, np.uint8)
    counts = np.zeros(_N_COUNTS, np.int64)
    _count_tags(page, _COUNTED, counts)
    n_tags, n_formatting, max_walk_ns = int(counts[_TAGS]), int(counts[_FORMATTING_TAGS]), _max_walk_ns(page)
    max_nodes = _MAX_NODES + len(page) // _BYTES_A_NODE - (_n_bare(page) if len(page) > _LARGE else 0)
    if n_tags > max_nodes:
        return "too much markup"
    n_reopened = min(n_formatting, n_tags // 2) * n_tags + _COPIES_A_PAIR * n_formatting
    n_roots = max(counts[_HTML_TAGS], counts[_BODY_TAGS])
    walk_ns = _walk_ns(counts[_END_TAGS], n_tags, counts[_FOREIGN_TAGS])
    if n_roots <= 1 and n_tags + n_reopened <= max_nodes and walk_ns <= max_walk_ns:
        return None
    found = np.zeros(_N_FOUND, np.int64)
    _measure(page, _KEYS, _KINDS, np.empty((_MAX_OPEN, 4), np.int64), np.zeros((_N_DISTINCT, 3), np.int64), found)
    if n_roots > 1 and max(found[_HTML_ATTRIBUTES], found[_BODY_ATTRIBUTES]) > _MAX_ROOT_ATTRIBUTES:
        return "html or body elements repeated"
    n_reopened = int(found[_LEFT_OPEN] + found[_A_OPEN]) * n_tags + _COPIES_A_PAIR * int(found[_MISNESTED])
    if n_tags + n_reopened > max_nodes:
        return "formatting elements left open"
    if _walk_ns(found[_LOST_ENDS], found[_DEPTH] + found[_MOST_OPEN], found[_FOREIGN_OPEN]) > max_walk_ns:
        return "end tags without start tags"
    return None


def _max_walk_ns(page: Any) -> int:
    return _MAX_WALK_NS + _WALK_NS_A_BYTE * len(page)


def _walk_ns(n_ends: Any, depth: Any, n_foreign: Any) -> int:
    """Return the longest time for looking up end tags that end nothing."""
    return int(n_ends) * min(int(depth), _MAX_DEPTH) * (_FOREIGN_ENTRY_NS if n_foreign else _ENTRY_NS)


def _n_bare(page: Any) -> int:
    """Return how many nodes bytes outside tags may be worth."""
    return int(np.count_nonzero(page == 0)) // 2 + int(np.count_nonzero(page == ord("&"))) // 8


@kernel
def _count_tags(page: Any, counted: Any, counts: Any) -> None:
    """Count <, and tags by the two bytes that follow: perhaps too many of a kind, but never too few."""
    n = len(page)
    for i in range(n - 2):
        if page[i] == _LESS:
            counts[counted[page[i + 1] | np.int64(page[i + 2]) << 8]] += 1
            counts[_TAGS] += 1


@kernel
def _measure(page: Any, keys: Any, kinds: Any, open_tags: Any, distinct: Any, found: Any) -> None:
    """Find upper bounds of what the page leaves open."""
    i = 0
    while i < len(page) - 2:
        if page[i] != _LESS:
            i += 1
            continue
        if 0 < found[_DOUBT] <= i:
            _give_up(page, open_tags, distinct, found)
            found[_DOUBT] = 0
        if _is_letter(page[i + 1]):
            i = _start_tag(page, i, keys, kinds, open_tags, distinct, found)
        elif page[i + 1] == _SLASH and _is_letter(page[i + 2]):
            i = _end_tag(page, i, keys, kinds, open_tags, distinct, found)
        else:
            i = _declaration(page, i, open_tags, distinct, found)
    _give_up(page, open_tags, distinct, found)


@inner
def _start_tag(page: Any, i: Any, keys: Any, kinds: Any, open_tags: Any, distinct: Any, found: Any) -> Any:
    """Open a tag; return where to go on."""
    key, after_name, kind = _name(page, i + 1, keys, kinds)
    n_open = found[_N_OPEN]
    is_foreign = n_open > 0 and (open_tags[n_open - 1, _KIND] & _FOREIGN) != 0
    end, n_attributes, is_plain, is_empty = _tag_end(page, after_name, found[_DOUBT] == 0)
    if kind & (_HTML | _BODY):
        n_attributes = n_attributes if is_plain else _MAX_ROOT_ATTRIBUTES
        found[_HTML_ATTRIBUTES if kind & _HTML else _BODY_ATTRIBUTES] += n_attributes
    if is_plain and kind & _RAW and not is_foreign:
        raw_end = _raw_end(page, end, i + 1, after_name, found[_DOUBT] == 0)
        is_plain, end = raw_end < 0, max(end, raw_end)
    if not is_plain:
        _doubt(page, end, open_tags, distinct, found)
        found[_DEPTH] += 1
        if kind & _FORMATTING:
            found[_LEFT_OPEN] += 1
            found[_MISNESTED] += 1
        return after_name
    if is_foreign and kind & _CLOSING and key != _A:
        _give_up(page, open_tags, distinct, found)
        is_foreign = False
    if is_foreign:
        kind = kind & _HTML_POINT or (_FOREIGN if key > 0 else 0)
        is_void = is_empty
    else:
        if kind & _CLOSING and found[_N_FORMATTING] > 0:
            _formatting_may_end(page, open_tags, distinct, found)
        is_void = kind & _VOID or (is_empty and kind & _FOREIGN)
    if not is_void:
        _push(page, key, kind, i, end, open_tags, distinct, found)
    return end


@inner
def _push(page: Any, key: Any, kind: Any, start: Any, end: Any, open_tags: Any, distinct: Any, found: Any) -> None:
    if found[_N_OPEN] == _MAX_OPEN:
        _give_up(page, open_tags, distinct, found)
    n_open = found[_N_OPEN]
    open_tags[n_open, _KEY], open_tags[n_open, _KIND] = key, kind
    open_tags[n_open, _START], open_tags[n_open, _END] = start, end
    found[_N_OPEN] = n_open + 1
    found[_MOST_OPEN] = max(found[_MOST_OPEN], n_open + 1)
    if kind & _FORMATTING:
        found[_N_FORMATTING] += 1
    if kind & _FOREIGN:
        found[_FOREIGN_OPEN] += 1


@inner
def _end_tag(page: Any, i: Any, keys: Any, kinds: Any, open_tags: Any, distinct: Any, found: Any) -> Any:
    """Close the tag that an end tag closes for certain; otherwise nothing around it is certain. Return where to go on."""
    key, after_name, kind = _name(page, i + 2, keys, kinds)
    end, _, is_plain, _ = _tag_end(page, after_name, found[_DOUBT] == 0)
    if not is_plain:
        _doubt(page, end, open_tags, distinct, found)
        found[_LOST_ENDS] += 1
        return after_name
    last = found[_N_OPEN] - 1
    k = last
    while k > 0 and open_tags[k, _KEY] != key and open_tags[k, _KIND] & _OPTIONAL_END and last - k < 8:
        k -= 1
    if k < 0 or open_tags[k, _KEY] != key or (k < last and not open_tags[k, _KIND] & _CLOSING):
        found[_LOST_ENDS] += 1
        if not kind & _VOID or (last >= 0 and open_tags[last, _KIND] & _FOREIGN):
            _give_up(page, open_tags, distinct, found)
        return end
    if open_tags[k, _KIND] & _FORMATTING:
        found[_N_FORMATTING] -= 1
    if kind & _RAW and k > 0 and open_tags[k - 1, _KIND] & _FOREIGN:
        found[_LOST_ENDS] += 1  # the library looks it up
    found[_N_OPEN] = k
    return end


@inner
def _declaration(page: Any, i: Any, open_tags: Any, distinct: Any, found: Any) -> Any:
    """Return the end of a comment, a doctype and the like, or of a < that is text."""
    first = page[i + 1]
    if first != _BANG and first != _SLASH and first != 63:
        return i + 1
    is_comment = page[i + 2] == _DASH and i + 3 < len(page) and page[i + 3] == _DASH and first == _BANG
    is_plain = not (first == _BANG and page[i + 2] == 91)  # CDATA
    j = i + 4 if is_comment else i + 2
    while j < len(page):
        if page[j] == _LESS:
            is_plain = False
            if found[_DOUBT] > 0:
                break
        if page[j] == _GREATER and (not is_comment or _ends_comment(page, i, j)):
            break
        j += 1
    if is_plain:
        return j + 1
    _doubt(page, j, open_tags, distinct, found)
    return i + 2


@inner
def _ends_comment(page: Any, start: Any, j: Any) -> Any:
    """Whether a > ends the comment that begins at `start`."""
    if page[j - 1] == _BANG:
        j -= 1
    return page[j - 1] == _DASH and page[j - 2] == _DASH and j >= start + 4


@inner
def _doubt(page: Any, end: Any, open_tags: Any, distinct: Any, found: Any) -> None:
    """Be certain of nothing around markup that contains a <, nor of what seems to begin in it and ends behind it."""
    _give_up(page, open_tags, distinct, found)
    if found[_DOUBT] == 0:
        found[_DOUBT] = end


@inner
def _give_up(page: Any, open_tags: Any, distinct: Any, found: Any) -> None:
    """Count all open tags as left open."""
    if found[_N_FORMATTING] > 0:
        _formatting_may_end(page, open_tags, distinct, found)
    found[_DEPTH] += found[_N_OPEN]
    found[_N_OPEN] = 0


@inner
def _formatting_may_end(page: Any, open_tags: Any, distinct: Any, found: Any) -> None:
    """Count formatting elements as left open, except those with the same tag as `_MAX_SAME` others."""
    for k in range(found[_N_OPEN]):
        if open_tags[k, _KIND] & _FORMATTING:
            open_tags[k, _KIND] &= ~_FORMATTING
            found[_MISNESTED] += 1
            if open_tags[k, _KEY] == _A:  # the next one closes it
                found[_A_OPEN] = 1
            elif not _is_known(page, open_tags[k, _START], open_tags[k, _END], distinct):
                found[_LEFT_OPEN] += 1
    found[_N_FORMATTING] = 0


@inner
def _is_known(page: Any, start: Any, end: Any, distinct: Any) -> Any:
    """Whether as many tags as are opened again are the same as this one."""
    number = np.uint64(0)
    for i in range(start, end):
        number = (number ^ np.uint64(page[i])) * np.uint64(_PRIME)
    place = np.int64(number >> np.uint64(56))
    for _ in range(4):
        first = distinct[place, 0]
        if distinct[place, 2] == 0:
            distinct[place, 0], distinct[place, 1] = start, end
            break
        if _is_same(page, first, distinct[place, 1], start, end):
            break
        place = (place + 1) % _N_DISTINCT
    else:
        return False
    distinct[place, 2] += 1
    return distinct[place, 2] > _MAX_SAME


@inner
def _is_same(page: Any, first: Any, last: Any, start: Any, end: Any) -> Any:
    if last - first != end - start:
        return False
    for k in range(end - start):
        if page[first + k] != page[start + k]:
            return False
    return True


@inner
def _name(page: Any, i: Any, keys: Any, kinds: Any) -> Any:
    """Return the number of a name, which is negative for a long one, its end, and its kind."""
    start = i
    key = np.int64(0)
    number = np.int64(1)
    while i < len(page) and page[i] != _GREATER and page[i] != _SLASH and not _is_space(page[i]):
        byte = np.int64(page[i])
        if 65 <= byte <= 90:
            byte += 32
        if i - start < _MAX_NAME:
            key = key << 8 | byte
        number = (number ^ byte) * _PRIME
        i += 1
    if i - start > _MAX_NAME or key < 0:
        return -np.int64(abs(number) | 1), i, np.int64(_CLOSING)
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return key, i, kinds[low] if low < len(keys) and keys[low] == key else np.int64(0)


@inner
def _tag_end(page: Any, i: Any, to_end: Any) -> Any:
    """Return the end of a tag behind its name, the number of attributes, whether it has no < within, and whether it ends in />.

    With a < within it, the end is that place unless `to_end`.
    """
    n, n_attributes, is_plain, is_empty = len(page), 0, True, False
    while i < n and page[i] != _GREATER:
        is_empty = page[i] == _SLASH
        if is_empty or _is_space(page[i]):
            i += 1
            continue
        n_attributes += 1
        start = i
        i += 1
        while i < n and page[i] != _EQUALS and page[i] != _GREATER and page[i] != _SLASH and not _is_space(page[i]):
            i += 1
        k = i
        while k < n and _is_space(page[k]):
            k += 1
        if k < n and page[k] == _EQUALS:
            i = _value_end(page, k + 1)
        for k in range(start, min(i, n)):
            if page[k] == _LESS:
                is_plain = False
        if not is_plain and not to_end:
            break
    return min(i + 1, n), n_attributes, is_plain and i < n, is_empty


@inner
def _value_end(page: Any, i: Any) -> Any:
    """Return the end of the value of an attribute that begins at i, behind its quote."""
    n = len(page)
    while i < n and _is_space(page[i]):
        i += 1
    if i < n and (page[i] == _QUOTE or page[i] == _APOSTROPHE):
        quote = page[i]
        i += 1
        while i < n and page[i] != quote:
            i += 1
        return i + 1
    while i < n and page[i] != _GREATER and not _is_space(page[i]):
        i += 1
    return i


@inner
def _raw_end(page: Any, i: Any, name: Any, name_end: Any, to_end: Any) -> Any:
    """Return the end of text up to the end tag of a name if it contains a <; -1 if not. Without `to_end` any place."""
    n, has_less = len(page), False
    while i < n:
        if page[i] == _LESS:
            if _is_end_tag_of(page, i, name, name_end):
                return i if has_less else -1
            has_less = True
            if not to_end:
                break
        i += 1
    return i


@inner
def _is_end_tag_of(page: Any, i: Any, name: Any, name_end: Any) -> Any:
    size = name_end - name
    if i + 2 + size >= len(page) or page[i + 1] != _SLASH:
        return False
    for k in range(size):
        if page[i + 2 + k] | 32 != page[name + k] | 32:
            return False
    after = page[i + 2 + size]
    return after == _GREATER or after == _SLASH or _is_space(after)


@inner
def _is_letter(byte: Any) -> Any:
    return _A <= byte | 32 <= _Z


@inner
def _is_space(byte: Any) -> Any:
    return byte == 32 or 9 <= byte <= 10 or 12 <= byte <= 13
