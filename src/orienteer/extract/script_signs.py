"""Detect pages that are made by scripts: little is visible without them, and there is code that may add content.

A page is *suspect* if its links, or nearly all of its content, may be made by scripts:

    it has no link that can be clicked, and any code: a little code is enough for a link
    it has fewer than FEW_WORDS words and FEW_LINKS links, and much code
    it has fewer than HARDLY_WORDS words, more links, and very much code

Code is every script that a browser runs, by the types of the HTML standard; JSON, templates and others are data. Code
in files is not read; each file counts as SOURCE_CHARS. The content of `noscript` counts if it has more words than the
remainder of the page and at least MIN_NOSCRIPT_WORDS words: some forums put the whole page there. A short page without
code is not suspect.

Measured: of 310 real pages with their scripts (WCXB, development) it detects the one that is empty without them, and no
other; of 7,085 pages of documentation 22: two search forms whose results scripts make, and 20 texts of AsciiDoc without
a link, whose script makes the table of contents; of 5,814 pages of universities of 1997 three. Four applications made
with React, Vue, Svelte and Lit are detected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum

from orienteer.extract.parser import Tag

FEW_WORDS = 50
HARDLY_WORDS = 20
MIN_NOSCRIPT_WORDS = 20
FEW_LINKS = 3
SOURCE_CHARS = 10_000
LITTLE_PROSE = 50
_PROSE_WORDS = 12  # in a line of prose
_MUCH_DATA = 30  # times the text
_DATA = re.compile(rb"<script[^>]{0,200}application/(?:ld\+)?json[^>]{0,200}>", re.IGNORECASE)
_MUCH_CODE, _VERY_MUCH_CODE = SOURCE_CHARS, 5 * SOURCE_CHARS

_WORD = re.compile(r"[^\W_]+")
_SIGN = re.compile("[\u3000-\u9fff]")  # of Chinese and Japanese
_WORD_CHARS = 24  # of text without spaces count as a word
_ENOUGH_CHARS = 10_000  # of a text

# Types of scripts that a browser runs: `module`, and the JavaScript MIME type essence strings of the MIME Sniffing
# standard. It runs no script of any other type.
_LANGUAGES = (
    "javascript", "ecmascript", "x-javascript", "x-ecmascript", "javascript1.0", "javascript1.1", "javascript1.2",
    "javascript1.3", "javascript1.4", "javascript1.5", "jscript", "livescript",
)  # fmt: skip
_CODE_TYPES = frozenset(
    ("module", *(f"text/{name}" for name in _LANGUAGES), *(f"application/{name}" for name in _LANGUAGES[:4]))
)
_SPACES = " \t\n\f\r"


class ScriptKind(Enum):
    """What a script is."""

    CODE = "code"
    DATA = "data"
    LINKED_DATA = "linked data"
    TEX = "TeX"  # a formula


def kind_of_script(script: Tag) -> ScriptKind:
    """Return the kind of a script.

    As the HTML standard says, a script is code if its `type` is one of code, empty, or missing; where it is missing,
    a `language` counts.
    """
    stated = script.attr("type")
    if stated is None:
        language = script.attr("language")
        return ScriptKind.CODE if not language or language.lower() in _LANGUAGES else ScriptKind.DATA
    stated = stated.lower()
    if not stated or stated.strip(_SPACES) in _CODE_TYPES:
        return ScriptKind.CODE
    if stated.startswith("math/tex"):
        return ScriptKind.TEX
    return ScriptKind.LINKED_DATA if "ld+json" in stated else ScriptKind.DATA


class ScriptSigns:
    """The code of a page: characters, and files."""

    def __init__(self) -> None:
        self.n_chars = self.n_files = 0

    def add_code(self, script: Tag, code: Callable[[], str]) -> None:
        """Count a script of code."""
        if script.attr("src") is not None:
            self.n_files += 1
        elif self.n_chars < _VERY_MUCH_CODE:
            self.n_chars += len(code().lstrip(_SPACES))

    @property
    def has_code(self) -> bool:
        """Whether scripts may change the page at all."""
        return self.n_files > 0 or self.n_chars > 0

    def is_suspect(self, n_links: int, n_scripted: int, n_words: Callable[[], tuple[int, int]]) -> bool:
        """Whether scripts may make the page, with `n_links` links to click and `n_scripted` links that run a script.

        `n_words` are the words outside of `noscript` and in it; links in `noscript` count if its content is read.
        """
        n_chars = self.n_chars + SOURCE_CHARS * self.n_files
        if n_links == 0 and (n_scripted > 0 or n_chars > 0):
            return True
        has_few = n_links < FEW_LINKS
        if n_chars < (_MUCH_CODE if has_few else _VERY_MUCH_CODE):
            return False
        n_visible, n_noscript = n_words()
        if reads_noscript(n_visible, n_noscript):
            n_visible += n_noscript
        return n_visible < (FEW_WORDS if has_few else HARDLY_WORDS)


def is_sparse(text: str, html: bytes) -> bool:
    """Whether a page with code has little text: less than LITTLE_PROSE words in lines as long as those of paragraphs,
    or far more data for scripts than text. Scripts may add to it.

    Of 307 real pages with scripts (WCXB, development) this is true of 10, among them the two that lack most of their
    text without scripts; of 4,693 pages of documentation with scripts of 734, mostly lists and tables.
    """
    n_prose = sum(n for line in text.split("\n") if (n := _n_words(line)) >= _PROSE_WORDS)
    if n_prose < LITTLE_PROSE:
        return True
    return _n_data_bytes(html) > _MUCH_DATA * len(text)


def _n_data_bytes(html: bytes) -> int:
    """Return the size of the JSON in scripts."""
    n_bytes = end = 0
    for opening in _DATA.finditer(html) if b"json" in html else ():
        if opening.start() >= end:
            end = html.find(b"</script", opening.end())
            end = len(html) if end < 0 else end
            n_bytes += end - opening.end()
    return n_bytes


def _n_words(line: str) -> int:
    n_words = len(line.split())
    return n_words if line.isascii() else max(n_words, len(_SIGN.findall(line)) // 2)


def reads_noscript(n_words: int, n_noscript_words: int) -> bool:
    """Whether the content of `noscript` is the page, by the numbers of words outside of it and in it."""
    return n_words < FEW_WORDS and n_noscript_words >= max(MIN_NOSCRIPT_WORDS, n_words)


def count_words(texts: Iterable[str]) -> int:
    """Count the words of texts; from FEW_WORDS on the number does not matter, and may be too small."""
    n_words = 0
    for text in texts:
        for word in _WORD.findall(text[:_ENOUGH_CHARS]):
            n_words += 1
            if len(word) > 1 and not word.isascii():
                n_words += max(len(_SIGN.findall(word)) // 2, len(word) // _WORD_CHARS)
            elif len(word) >= _WORD_CHARS:
                n_words += len(word) // _WORD_CHARS
        if n_words >= FEW_WORDS:
            break
    return n_words
