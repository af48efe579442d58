"""How a text becomes words that can be looked up: in its language, in any case, with accents or without.

A word is a run of letters and digits. It is stemmed by the language of its page ("ponies" and "pony" are the same),
where there is a stemmer for it, and then loses its accents. Scripts without spaces become one word per sign; what
stands together in a query is then looked for in a row.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

MAX_WORD_BYTES = 60  # longer ones are no words
PLAIN = "plain"  # no stemming

# By the code of a language, the name that tantivy has for its stemmer.
STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
WAYS = (PLAIN, *STEMMERS)  # of reading a text
_SAME_STEMMER = {"nb": "no", "nn": "no"}
_SIGN = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f]")

_FIRST_BYTES = bytes((0xE0, 0xE1, *range(0xE3, 0xEA), 0xEF))  # of signs in UTF-8, and of few others


def way_of(language: str) -> str:
    """How texts of a language are read: the code of its stemmer, or `plain`.

    >>> way_of("en"), way_of("nb"), way_of("xx"), way_of("")
    ('en', 'no', 'plain', 'plain')
    """
    code = _SAME_STEMMER.get(language, language)
    return code if code in STEMMERS else PLAIN


@lru_cache(maxsize=len(WAYS))
def analyzer(way: str) -> TextAnalyzer:
    """What turns a text into words."""
    made = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(MAX_WORD_BYTES)).filter(Filter.lowercase())
    if way != PLAIN:
        made = made.filter(Filter.stemmer(STEMMERS[way]))
    return made.filter(Filter.ascii_fold()).build()


def is_sign(text: str) -> bool:
    """Whether it is a sign that is a word of its own."""
    return _SIGN.fullmatch(text) is not None


def spaced(text: str) -> str:
    """The text with room around signs that are words of their own, and without what is no character.

    >>> spaced("in 東京 today").split()
    ['in', '東', '京', 'today']
    """
    if text.isascii():
        return text
    encoded = text.encode(errors="replace")
    if len(encoded.translate(None, _FIRST_BYTES)) == len(encoded):  # ten times as fast as to look for signs
        return encoded.decode()
    return _SIGN.sub(r" \g<0> ", encoded.decode())


@lru_cache(maxsize=1 << 14)
def words_of(text: str, way: str) -> tuple[str, ...]:
    """The words of a short text.

    >>> words_of("Running e-mails", "en"), words_of("Café 東京", "plain")
    (('run', 'e', 'mail'), ('cafe', '東', '京'))
    """
    return tuple(analyzer(way).analyze(spaced(text)))
