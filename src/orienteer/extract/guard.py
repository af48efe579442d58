"""A linear check of a page before its tree is built: markup that would cost far more than its size is refused.

The HTML library builds the tree of the standard in C, nested at most 512 deep. Three kinds of markup make it large or
slow:

- Formatting elements (`b`, `font` …) that are left open. Each is opened again, as a copy, in every block that follows:
  69 kB make 480 MB. The standard opens at most three with the same attributes again.
- `html` or `body` again and again, each with another attribute, which is added to a growing list: 249 kB make 4.6 GB.
- End tags that end nothing, in a deep nest: each looks through all elements that are open. So do some start tags.

An accepted page takes at most 20 times its size plus 16 MB, and 50 ns a byte plus 10 ms. Most pages are accepted by
counting tags (`_count_tags`). For the others `_measure` matches start tags with end tags, and finds upper bounds of
what is left open, for any page: a start tag counts as closed only if all markup from it to its end tag is well-formed,
so that the standard closes it there, too. Where this is not certain, such as in a script that contains tags, all tags
around it count as left open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.kernel import inner, kernel

_ELEMENT_BYTES, _TEXT_BYTES, _ZERO_BYTES, _AMPERSAND_BYTES = 100, 90, 30, 15  # in the tree
_MAX_TREE_BYTES, _TREE_BYTES_A_BYTE = 14_000_000, 15
_MAX_WALK_NS, _WALK_NS_A_BYTE = 8_000_000, 25
_ENTRY_NS = 2  # of one open element that is looked at
_FOREIGN_ENTRY_NS, _FOREIGN_END_NS = 10, 4  # for an end tag within SVG or MathML that ends nothing, and for any other
_MAX_DEPTH = 512  # the library does not nest deeper
_MAX_ROOT_ATTRIBUTES = 400  # of all `html` or of all `body` tags, where there are several
_MAX_ATTRIBUTES = 20_000  # of one tag of a large page
_COPIES_A_PAIR = 16  # most copies that one misnested pair makes
_MAX_SAME = 3  # formatting elements with the same attributes that are opened again
_LARGE = 500_000  # bytes; in larger pages bytes that take a node each may be too many
_SMALL = 2_000  # bytes; whatever smaller pages have, their trees take 8 MB and 4 ms at most

_VOID, _FORMATTING, _RAW, _CLOSING, _OPTIONAL_END = (1 << bit for bit in range(5))
_FOREIGN, _HTML_POINT, _LOOKING, _HTML, _BODY = (1 << bit for bit in range(5, 10))
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
    _LOOKING: "body dd dt form html li option table",  # start tags that look through open elements
    _HTML: "html",
    _BODY: "body",
}
_FACTOR, _MASK = 131, 0x7FFFFFFF  # of hashes
_MAX_NAME = 8  # bytes of a name that is compared as a number

_OTHERS, _END_TAGS, _FORMATTING_TAGS, _FOREIGN_TAGS, _HTML_TAGS, _BODY_TAGS, _N_COUNTS = range(7)
_LEFT_OPEN, _MISNESTED, _LOST_ENDS, _DEPTH, _FOREIGN_OPEN, _HTML_ATTRIBUTES, _BODY_ATTRIBUTES = range(7)
_FOREIGN_ENDS, _LOOKING_STARTS, _A_OPEN, _MOST_OPEN, _N_OPEN, _N_FORMATTING, _OPENED_AGAIN, _N_FOUND = range(7, 15)
_NONE = 256  # no byte
_KEY, _KIND, _START, _END = range(4)  # columns of open tags
_MAX_OPEN, _N_DISTINCT, _N_PLACES = 1024, 256, 512
_A, _I, _Z, _SLASH, _LESS, _EQUALS, _GREATER, _DASH, _QUOTE, _APOSTROPHE, _BANG, _QUESTION, _BRACKET = b"aiz/<=>-\"'!?["


def _hash(name: str) -> int:
    number = 0
    for byte in name.encode():
        number = (number * _FACTOR + byte) & _MASK
    return number


def _kinds() -> tuple[Any, Any]:
    """Return a hash table of names as numbers and their kinds, and what to count for the first two bytes of a tag."""
    kinds: dict[str, int] = {}
    counted = np.zeros(1 << 16, np.uint8)
    places = {_FORMATTING: _FORMATTING_TAGS, _FOREIGN: _FOREIGN_TAGS, _HTML: _HTML_TAGS, _BODY: _BODY_TAGS}
    for kind, names in _NAMES_OF_KINDS.items():
        for name in names.split():
            kinds[name] = kinds.get(name, 0) | kind
            for pair in _first_pairs(name) if kind in places and name != "a" else ():
                counted[pair] = places[kind]
    for letter in range(256):
        counted[_SLASH | letter << 8] = _END_TAGS
    table = np.zeros((_N_PLACES, 2), np.int64)
    for name, kind in kinds.items():
        key, place = int.from_bytes(name.encode(), "big"), _hash(name) % _N_PLACES
        while table[place, 0]:
            place = (place + 1) % _N_PLACES
        table[place] = key, kind
    return table, counted


def _first_pairs(name: str) -> list[int]:
    """Return the first two bytes of a start tag, as numbers, in all forms."""
    seconds = (
        (name[1].encode(), name[1].upper().encode())
        if len(name) > 1
        else (b" ", b"\t", b"\n", b"\f", b"\r", b"/", b">")
    )
    return [ord(first) | second[0] << 8 for first in (name[0], name[0].upper()) for second in seconds]


_KINDS, _COUNTED = _kinds()


def refusal(html: bytes) -> str | None:
    """Return why no tree may be built of a page, in a few words; None where it may.

    The page is UTF-8 (`parser.utf8_and_text`). The answer depends on its bytes alone.

    >>> refusal(b"<p>See <b>here</b>.") is None
    True
    >>> refusal(b"".join(b"<p><b id=%d>" % k for k in range(2000)))
    'formatting elements left open'
    """
    if len(html) < _SMALL:
        return None
    page = np.frombuffer(html, np.uint8)
    found_counts = np.zeros(_N_COUNTS, np.int64)
    tags = np.flatnonzero(page[:-2] == _LESS)
    n_different = _count_tags(page, tags, _COUNTED, np.zeros((_N_DISTINCT, 3), np.int64), found_counts)
    counts = found_counts.tolist()
    n_formatting, n_roots = counts[_FORMATTING_TAGS], max(counts[_HTML_TAGS], counts[_BODY_TAGS])
    n_tags, n_ends = sum(counts), counts[_END_TAGS]
    n_elements = n_tags - n_ends
    max_copies, max_walk_ns = _max_copies(page, n_tags, n_elements), _MAX_WALK_NS + _WALK_NS_A_BYTE * len(page)
    if max_copies < 0:
        return "too much markup"
    if len(page) > _LARGE and _most_attributes(page, tags, _LARGE // 10) > _MAX_ATTRIBUTES:
        return "too many attributes"
    n_copies = _n_copies(n_tags * min(n_different, n_tags // 2), n_elements, True, n_formatting)
    walk_ns = _walk_ns(n_elements, n_ends, n_ends if counts[_FOREIGN_TAGS] else 0, n_elements)
    if n_roots <= 1 and n_copies <= max_copies and walk_ns <= max_walk_ns:
        return None
    found = np.zeros(_N_FOUND, np.int64)
    _measure(page, tags, _KINDS, np.empty((_MAX_OPEN, 4), np.int64), np.zeros((_N_DISTINCT, 3), np.int64), found)
    if n_roots > 1 and max(found[_HTML_ATTRIBUTES], found[_BODY_ATTRIBUTES]) > _MAX_ROOT_ATTRIBUTES:
        return "html or body elements repeated"
    if _n_copies(found[_OPENED_AGAIN], n_elements, found[_A_OPEN], found[_MISNESTED]) > max_copies:
        return "formatting elements left open"
    n_foreign_ends = n_ends if found[_FOREIGN_OPEN] else found[_FOREIGN_ENDS]
    depth = found[_DEPTH] + found[_MOST_OPEN]
    if _walk_ns(found[_LOOKING_STARTS], found[_LOST_ENDS], n_foreign_ends, depth) > max_walk_ns:
        return "end tags without start tags"
    return None


def _max_copies(page: Any, n_tags: int, n_elements: int) -> int:
    """Return how many elements may be opened again; negative where the page is too large without."""
    n_bytes = _MAX_TREE_BYTES + _TREE_BYTES_A_BYTE * len(page) - _ELEMENT_BYTES * n_elements - _TEXT_BYTES * n_tags
    if len(page) > _LARGE:
        n_bytes -= _ZERO_BYTES * int(np.count_nonzero(page == 0))
        n_bytes -= _AMPERSAND_BYTES * int(np.count_nonzero(page == ord("&")))
    return n_bytes // _ELEMENT_BYTES


def _n_copies(n_opened_again: Any, n_elements: int, has_a: Any, n_misnested: Any) -> int:
    """Return an upper bound of the elements that are opened again: at every tag, all that are left open until then.

    An `a` that is left open is one at most, and copied by the next `a` into each block since then.
    """
    return int(n_opened_again) + 2 * n_elements * int(has_a) + _COPIES_A_PAIR * int(n_misnested)


def _walk_ns(n_starts: Any, n_lost_ends: Any, n_foreign_ends: Any, depth: Any) -> int:
    """Return the longest time for looking through open elements."""
    ns = int(n_starts) * _ENTRY_NS + int(n_foreign_ends) * _FOREIGN_END_NS
    ns += int(n_lost_ends) * (_FOREIGN_ENTRY_NS if n_foreign_ends else _ENTRY_NS)
    return min(int(depth), _MAX_DEPTH) * ns


@kernel
def _count_tags(page: Any, tags: Any, counted: Any, distinct: Any, counts: Any) -> Any:
    """Count the < at `tags`, and tags by the two bytes that follow: perhaps too many of a kind, but never too few.

    Formatting elements that contain only text are closed by the tag that follows, so they count as others. Return the
    number of the remaining ones without those that are like `_MAX_SAME` others.
    """
    n_different = 0
    for i in tags:
        kind = counted[page[i + 1] | np.int64(page[i + 2]) << 8]
        if kind == _FOREIGN_TAGS and i + 3 < len(page) and page[i + 3] | 32 == _I:
            kind = _OTHERS  # main
        if kind == _FORMATTING_TAGS:
            end = _usual_tag_end(page, i)
            if end > 0 and _contains_text(page, i, end):
                kind = _OTHERS
            else:
                n_different += end < 0 or not _is_known(page, i, end, distinct)
        counts[kind] += 1
    return n_different


@inner
def _usual_tag_end(page: Any, start: Any) -> Any:
    """Return the end of a tag, or -1 if it has quotes at unusual places, or a < within.

    A quote begins a value only behind the first = of an attribute: behind another one it belongs to the value.
    """
    is_quoted, n_equals = False, 0  # since the last space
    for i in range(start + 2, len(page)):
        byte = page[i]
        if byte == _LESS:
            return -1
        if byte == _QUOTE:
            if not is_quoted and (n_equals != 1 or page[i - 1] != _EQUALS or not _is_letter(page[i - 2])):
                return -1
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif byte == _GREATER:
            return i + 1
        elif byte == _EQUALS:
            n_equals += 1
        elif _is_space(byte):
            if page[i - 1] == _EQUALS:
                return -1
            n_equals = 0
        elif byte == _APOSTROPHE:
            return -1
    return -1


@inner
def _contains_text(page: Any, start: Any, end: Any) -> Any:
    """Whether nothing but text is between a start tag and its end tag."""
    while end < len(page) and page[end] != _LESS:
        end += 1
    name_end = start + 1
    while _is_letter(page[name_end]):
        name_end += 1
    return _is_end_tag_of(page, end, start + 1, name_end)


@kernel
def _most_attributes(page: Any, tags: Any, min_bytes: Any) -> Any:
    """Return the most attributes of one of these tags of `min_bytes` or more that contains no <."""
    most = 0
    for k in range(len(tags)):
        start, end = tags[k], tags[k + 1] if k + 1 < len(tags) else len(page)
        if end - start >= min_bytes and _is_letter(page[start + 1]):
            most = max(most, _attributes_end(page, start + 1, _LESS)[1])
    return most


@kernel
def _measure(page: Any, tags: Any, kinds: Any, open_tags: Any, distinct: Any, found: Any) -> None:
    """Find upper bounds of what the page leaves open.

    Around markup that contains a <, no tag is certain to be closed where it seems to be, nor is one that seems to begin
    in such markup and ends behind it (`doubt` is its end): all that are open then count as left open.
    """
    following, doubt = 0, 0
    for i in tags:
        if i < following:
            continue
        if 0 < doubt <= i:
            doubt = -1
        is_end = page[i + 1] == _SLASH
        is_tag = _is_letter(page[i + 1 + is_end])
        if is_tag:
            key, behind, kind = _name(page, i + 1 + is_end, kinds)
            end, n_attributes, is_plain, is_empty = _tag_end(page, behind, doubt <= 0)
            following = end
            if is_plain and kind & _RAW and not is_end and not _is_in_foreign(open_tags, found):
                end, is_plain = _raw_end(page, i + 1, behind, end, doubt <= 0)
        else:
            key, kind, behind, n_attributes, is_empty = -1, 0, i + 1, 0, False
            end, is_plain = _declaration_end(page, i, doubt <= 0)
            following = end
        leaves_open = doubt < 0 or not is_plain or found[_N_OPEN] == _MAX_OPEN
        doubt = max(doubt, 0)
        if not is_plain:
            doubt, following = doubt or end, behind
        if is_tag and is_end:
            leaves_open |= _close(key, kind, is_plain, not leaves_open, open_tags, found)
        elif is_tag:
            leaves_open |= _begin(key, kind, n_attributes, is_plain, open_tags, found)
        if leaves_open or (is_tag and not is_end and kind & _CLOSING):
            _leave_formatting_open(page, open_tags, distinct, found)
        if leaves_open:
            _leave_open(open_tags, found)
        if is_tag and is_plain and not is_end:
            _open(key, kind, i, following, is_empty, open_tags, found)
        found[_OPENED_AGAIN] += found[_LEFT_OPEN]
    _leave_formatting_open(page, open_tags, distinct, found)
    _leave_open(open_tags, found)


@inner
def _is_in_foreign(open_tags: Any, found: Any) -> Any:
    """Whether the innermost open tag is one of SVG or MathML that contains no HTML."""
    return found[_N_OPEN] > 0 and (open_tags[found[_N_OPEN] - 1, _KIND] & _FOREIGN) != 0


@inner
def _begin(key: Any, kind: Any, n_attributes: Any, is_plain: Any, open_tags: Any, found: Any) -> Any:
    """Count a start tag; return whether it may close tags that are open, other than formatting elements."""
    if kind & (_HTML | _BODY):
        n_attributes = n_attributes if is_plain else _MAX_ROOT_ATTRIBUTES
        found[_HTML_ATTRIBUTES if kind & _HTML else _BODY_ATTRIBUTES] += n_attributes
    if kind & _LOOKING:
        found[_LOOKING_STARTS] += 1
    if not is_plain:
        found[_DEPTH] += 1
        found[_FOREIGN_OPEN] |= kind & _FOREIGN
        if key == _A:
            found[_A_OPEN] = 1
        elif kind & _FORMATTING:
            found[_LEFT_OPEN] += 1
            found[_MISNESTED] += 1
    ends_foreign = kind & _CLOSING and not kind & _HTML_POINT and key != _A
    return ends_foreign and _is_in_foreign(open_tags, found)


@inner
def _open(key: Any, kind: Any, start: Any, end: Any, is_empty: Any, open_tags: Any, found: Any) -> None:
    """Open a tag, unless it is empty."""
    if _is_in_foreign(open_tags, found):
        kind = kind & _HTML_POINT or (_FOREIGN if key > 0 else 0)
        is_void = is_empty
    else:
        is_void = (kind & _VOID) != 0 or (is_empty and (kind & _FOREIGN) != 0)
    if is_void:
        return
    n_open = found[_N_OPEN]
    open_tags[n_open, _KEY], open_tags[n_open, _KIND] = key, kind
    open_tags[n_open, _START], open_tags[n_open, _END] = start, end
    found[_N_OPEN] = n_open + 1
    found[_MOST_OPEN] = max(found[_MOST_OPEN], n_open + 1)
    if kind & _FORMATTING:
        found[_N_FORMATTING] += 1


@inner
def _close(key: Any, kind: Any, is_plain: Any, is_certain: Any, open_tags: Any, found: Any) -> Any:
    """Close the tag that an end tag certainly closes; return whether it may close others instead."""
    last = found[_N_OPEN] - 1
    k = last
    while k > 0 and open_tags[k, _KEY] != key and open_tags[k, _KIND] & _OPTIONAL_END and last - k < 8:
        k -= 1
    is_closed = is_certain and k >= 0 and open_tags[k, _KEY] == key
    if not is_closed or (k < last and not open_tags[k, _KIND] & _CLOSING):
        found[_LOST_ENDS] += 1
        return not (is_plain and kind & _VOID) or _is_in_foreign(open_tags, found)
    if open_tags[k, _KIND] & _FORMATTING:
        found[_N_FORMATTING] -= 1
    if (open_tags[k, _KIND] | open_tags[max(k - 1, 0), _KIND]) & _FOREIGN:
        found[_FOREIGN_ENDS] += 1
    found[_N_OPEN] = k
    return False


@inner
def _leave_open(open_tags: Any, found: Any) -> None:
    """Count all open tags as left open."""
    for k in range(found[_N_OPEN]):
        found[_FOREIGN_OPEN] |= open_tags[k, _KIND] & _FOREIGN
    found[_DEPTH] += found[_N_OPEN]
    found[_N_OPEN] = 0


@inner
def _leave_formatting_open(page: Any, open_tags: Any, distinct: Any, found: Any) -> None:
    """Count formatting elements as left open, except those with the same tag as `_MAX_SAME` others."""
    for k in range(found[_N_OPEN] - 1, -1, -1):
        if found[_N_FORMATTING] == 0:
            break
        if open_tags[k, _KIND] & _FORMATTING:
            open_tags[k, _KIND] &= ~_FORMATTING
            found[_N_FORMATTING] -= 1
            if open_tags[k, _KEY] == _A:
                found[_A_OPEN] = 1
                continue
            found[_MISNESTED] += 1
            if not _is_known(page, open_tags[k, _START], open_tags[k, _END], distinct):
                found[_LEFT_OPEN] += 1


@inner
def _declaration_end(page: Any, i: Any, to_end: Any) -> Any:
    """Return the end of a comment, a doctype and the like, or of a < that is text, and whether no < is within."""
    first, second, n = page[i + 1], page[i + 2], len(page)
    if first != _BANG and first != _SLASH and first != _QUESTION:
        return i + 1, True
    is_comment = first == _BANG and second == _DASH and i + 3 < n and page[i + 3] == _DASH
    is_plain = first != _BANG or second != _BRACKET  # CDATA
    j = i + 4 if is_comment else i + 2
    while j < n and (page[j] != _GREATER or (is_comment and not _ends_comment(page, i, j))):
        if page[j] == _LESS:
            is_plain = False
            if not to_end:
                break
        j += 1
    return j + 1, is_plain


@inner
def _ends_comment(page: Any, start: Any, j: Any) -> Any:
    """Whether a > ends the comment that begins at `start`."""
    if page[j - 1] == _BANG and j >= start + 7:
        j -= 1
    return page[j - 1] == _DASH and page[j - 2] == _DASH


@inner
def _is_known(page: Any, start: Any, end: Any, distinct: Any) -> Any:
    """Whether as many tags as are opened again are the same as this one."""
    place = (end - start + _FACTOR * np.int64(page[end - 2]) + 7 * np.int64(page[(start + end) // 2])) % _N_DISTINCT
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
def _name(page: Any, start: Any, kinds: Any) -> Any:
    """Return the number of a name, which is negative for a long one, its end, and its kind."""
    number, key, i = np.int64(0), np.int64(0), start
    for i in range(start, len(page)):
        byte = np.int64(page[i])
        if byte == _GREATER or byte == _SLASH or byte == _LESS or _is_space(byte):
            break
        if 65 <= byte <= 90:
            byte += 32
        number = (number * _FACTOR + byte) & _MASK
        key = (key << 8 | byte) if i - start < _MAX_NAME and key >= 0 and byte < 128 else np.int64(-1)
    if key < 0:
        return -1 - number, i, _CLOSING
    place = number % _N_PLACES
    while kinds[place, 0] != key and kinds[place, 0] != 0:
        place = (place + 1) % _N_PLACES
    return key, i, kinds[place, 1]


@inner
def _tag_end(page: Any, i: Any, to_end: Any) -> Any:
    """Read a tag behind its name: its end, its number of attributes, whether no < is within, and whether /> ends it.

    A tag with a < within ends there, unless `to_end`.
    """
    end, n_attributes, is_empty = _attributes_end(page, i, _LESS)
    is_plain = end < len(page) and page[end] == _GREATER
    if not is_plain and to_end:
        end, n_attributes, is_empty = _attributes_end(page, i, _NONE)
    return end + 1, n_attributes, is_plain, is_empty


@inner
def _attributes_end(page: Any, i: Any, stop: Any) -> Any:
    """Return where the > of a tag is, or the first `stop` or the end of the page; the number of attributes before; and
    whether it follows a /.
    """
    n, n_attributes, is_empty = len(page), 0, False
    while i < n and page[i] != _GREATER and page[i] != stop:
        is_empty = page[i] == _SLASH
        if is_empty or _is_space(page[i]):
            i += 1
            continue
        n_attributes += 1
        i = _name_end(page, i + 1, stop)
        value = _spaces_end(page, i)
        if value < n and page[value] == _EQUALS:
            i = _value_end(page, _spaces_end(page, value + 1), stop)
    return i, n_attributes, is_empty


@inner
def _name_end(page: Any, start: Any, stop: Any) -> Any:
    for i in range(start, len(page)):
        byte = page[i]
        if byte == _EQUALS or byte == _GREATER or byte == _SLASH or byte == stop or _is_space(byte):
            return i
    return len(page)


@inner
def _spaces_end(page: Any, start: Any) -> Any:
    for i in range(start, len(page)):
        if not _is_space(page[i]):
            return i
    return len(page)


@inner
def _value_end(page: Any, start: Any, stop: Any) -> Any:
    """Return the end of the value of an attribute, behind its quote, or the first `stop`."""
    n = len(page)
    if start < n and (page[start] == _QUOTE or page[start] == _APOSTROPHE):
        for i in range(start + 1, n):
            if page[i] == page[start] or page[i] == stop:
                return i + (page[i] == page[start])
        return n
    for i in range(start, n):
        if page[i] == _GREATER or page[i] == stop or _is_space(page[i]):
            return i
    return n


@inner
def _raw_end(page: Any, name: Any, name_end: Any, i: Any, to_end: Any) -> Any:
    """Return the end of the text at i of an element, before its end tag, and whether no < is within."""
    n = len(page)
    while i < n and page[i] != _LESS:
        i += 1
    is_plain = i == n or _is_end_tag_of(page, i, name, name_end)
    while to_end and i < n and not (page[i] == _LESS and _is_end_tag_of(page, i, name, name_end)):
        i += 1
    return i, is_plain


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
