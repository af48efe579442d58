"""The elements of the HTML standard as numbers, with the flags that tree construction needs.

The number of a standard name is its index in `NAMES`; other names have hashes above them, so equal numbers mean
equal names. An element of a page is a name and a namespace in one number (`element`).
"""

from __future__ import annotations

import numpy as np

# Namespaces of elements. An `annotation-xml` with HTML content is a namespace of its own here.
HTML, SVG, MATH, MATH_WITH_HTML = range(4)

SPECIAL = 1 << 0  # an end tag of another name does not look beyond it
BARRIER = 1 << 1  # nothing beyond it is "in scope"
FORMATTING = 1 << 2  # it is opened again in the next block if it was not closed
BLOCK = 1 << 3  # its start tag ends a paragraph
ENDS_SCOPED = 1 << 4  # its end tag ends whatever is open in it
EMPTY = 1 << 5  # it has no content and no end tag
BREAKS_OUT = 1 << 6  # its start tag ends foreign content
IN_HEAD = 1 << 7  # it does not begin the body
SHOWS = 1 << 8  # a frameset cannot take the place of a body that holds it
TABLE_PART = 1 << 9
RAW_TEXT = 1 << 10  # its content is text up to its end tag
HOLDS_HTML = 1 << 11  # foreign, but start tags and text within it are HTML
HOSTS_SHADOW = 1 << 12
HIDDEN_FOREIGN = 1 << 13  # its text is not displayed

_FLAGS = {
    SPECIAL: "address applet area article aside base basefont bgsound blockquote body br button caption center col"
    " colgroup dd details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6"
    " head header hgroup hr html iframe img input keygen li link listing main marquee menu meta nav noembed noframes"
    " noscript object ol p param plaintext pre script search section select source style summary table tbody td"
    " template textarea tfoot th thead title tr track ul wbr xmp",
    BARRIER: "applet caption html table td th marquee object select template",
    FORMATTING: "a b big code em font i nobr s small strike strong tt u",
    BLOCK: "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header"
    " hgroup main menu nav ol p search section summary ul pre listing h1 h2 h3 h4 h5 h6 form plaintext xmp hr li dd dt",
    ENDS_SCOPED: "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure"
    " footer header hgroup listing main menu nav ol pre search section summary ul select dd dt applet marquee object",
    EMPTY: "area base basefont bgsound br embed hr img image input keygen link meta param source track wbr",
    BREAKS_OUT: "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing"
    " menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var",
    IN_HEAD: "html head base basefont bgsound link meta noframes noscript script style template title",
    SHOWS: "pre listing li dd dt button applet marquee object table area br embed img image keygen wbr hr textarea xmp"
    " iframe select body template",
    TABLE_PART: "caption col colgroup tbody td tfoot th thead tr",
    RAW_TEXT: "script style title textarea xmp iframe noembed noframes",
    HOSTS_SHADOW: "article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span",
}  # fmt: skip
_SVG_FLAGS = {
    SPECIAL | BARRIER | HOLDS_HTML: "foreignobject desc title",
    HIDDEN_FOREIGN: "desc title style script metadata",
}
_MATH_FLAGS = {SPECIAL | BARRIER: "mi mo mn ms mtext annotation-xml", HOLDS_HTML: "mi mo mn ms mtext"}
_MORE = "frame html kbd legend optgroup option rb rp rt rtc ruby samp svg time math mglyph malignmark unscript"

NAMES = [""]  # no name is 0
NAMES += sorted({name for names in (*_FLAGS.values(), *_SVG_FLAGS.values(), *_MATH_FLAGS.values(), _MORE)
                 for name in names.split()})  # fmt: skip
NUMBERS = {name: number for number, name in enumerate(NAMES)}
N_NAMES = 256  # numbers from here on are names that the standard does not know
assert len(NAMES) <= N_NAMES

FLAGS = np.zeros((4, N_NAMES), np.int64)
for _space, _table in ((HTML, _FLAGS), (SVG, _SVG_FLAGS), (MATH, _MATH_FLAGS), (MATH_WITH_HTML, _MATH_FLAGS)):
    for _flag, _names in _table.items():
        for _name in _names.split():
            FLAGS[_space, NUMBERS[_name]] |= _flag
FLAGS[MATH_WITH_HTML, NUMBERS["annotation-xml"]] |= HOLDS_HTML

_TABLE_BITS = 10
_FNV_PRIME = 0x100000001B3


def _name_table() -> tuple[np.ndarray, np.ndarray]:
    """Build a hash table with open addressing, indexed by the top bits of hashes."""
    hashes, numbers = np.zeros(1 << _TABLE_BITS, np.uint64), np.zeros(1 << _TABLE_BITS, np.int64)
    for name, number in NUMBERS.items():
        key = 0
        for byte in name.encode():
            key = ((key ^ byte) * _FNV_PRIME) % (1 << 64)
        place = key >> (64 - _TABLE_BITS)
        while hashes[place]:
            place = (place + 1) % len(hashes)
        hashes[place], numbers[place] = key, number
    return hashes, numbers


HASHES, HASHED_NUMBERS = _name_table()
TABLE_SHIFT, FNV_PRIME = 64 - _TABLE_BITS, _FNV_PRIME


def numbers(*names: str) -> list[int]:
    """The numbers of names, to be constants of kernels."""
    return [NUMBERS[name] for name in names]
