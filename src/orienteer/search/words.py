"""How a text becomes words that can be looked up: in its language, in any case, with accents or without.

A word is a run of letters and digits, or a sign of a script without spaces (see `scripts`). It is stemmed by the
language of its page ("ponies" and "pony" are the same), where there is a stemmer for it, and then loses its accents.
"""

from __future__ import annotations

from functools import lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from orienteer.search.scripts import TURKISH, prepared

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
    "tr": "turkish",
}
WAYS = (PLAIN, *STEMMERS)  # of reading a text
_SAME_STEMMER = {"nb": "no", "nn": "no"}
_TURKISH_ROUNDS = 3  # kütüphanede, kütüphane: one ending is taken off at a time


def way_of(language: str) -> str:
    """How texts of a language are read: the code of its stemmer, or `plain`.

    >>> way_of("en"), way_of("nb"), way_of("xx"), way_of("")
    ('en', 'no', 'plain', 'plain')
    """
    code = _SAME_STEMMER.get(language, language)
    return code if code in STEMMERS else PLAIN


@lru_cache(maxsize=len(WAYS))
def analyzer(way: str) -> TextAnalyzer:
    """What turns a prepared text into words."""
    made = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(MAX_WORD_BYTES)).filter(Filter.lowercase())
    if way != PLAIN:
        for _ in range(_TURKISH_ROUNDS if way == TURKISH else 1):
            made = made.filter(Filter.stemmer(STEMMERS[way]))
    return made.filter(Filter.ascii_fold()).build()


@lru_cache(maxsize=1 << 14)
def words_of(text: str, way: str) -> tuple[str, ...]:
    """The words of a short text.

    >>> words_of("Running e-mails", "en"), words_of("Café 東京", "plain")
    (('run', 'e', 'mail'), ('cafe', '東', '京'))
    """
    return tuple(analyzer(way).analyze(prepared(text, way)))
