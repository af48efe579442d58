"""Text analysis: tokens of a text in lower case, stemmed by language, without accents.

A word is a run of letters and digits, or a character of a script without spaces (see `scripts`). It is stemmed by the
language of its page ("ponies" equals "pony"), if there is a stemmer for it, and then stripped of accents.
"""

from __future__ import annotations

from functools import lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from orienteer.search.scripts import TURKISH, normalized

MAX_WORD_BYTES = 60  # longer tokens are dropped
PLAIN = "plain"  # no stemming

# The names of tantivy's stemmers by language code.
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
STEMMER_NAMES = (PLAIN, *STEMMERS)
_SAME_STEMMER = {"nb": "no", "nn": "no"}
_TURKISH_ROUNDS = 3  # kütüphanede, kütüphane: the stemmer removes one suffix at a time


def stemmer_of(language: str) -> str:
    """Return the code of the stemmer for a language, or `plain`.

    >>> stemmer_of("en"), stemmer_of("nb"), stemmer_of("xx"), stemmer_of("")
    ('en', 'no', 'plain', 'plain')
    """
    code = _SAME_STEMMER.get(language, language)
    return code if code in STEMMERS else PLAIN


@lru_cache(maxsize=len(STEMMER_NAMES))
def analyzer(stemmer: str) -> TextAnalyzer:
    """Return the analyzer that splits a normalized text into words."""
    made = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(MAX_WORD_BYTES)).filter(Filter.lowercase())
    if stemmer != PLAIN:
        for _ in range(_TURKISH_ROUNDS if stemmer == TURKISH else 1):
            made = made.filter(Filter.stemmer(STEMMERS[stemmer]))
    return made.filter(Filter.ascii_fold()).build()


@lru_cache(maxsize=1 << 14)
def words_of(text: str, stemmer: str) -> tuple[str, ...]:
    """Return the words of a short text; results are cached.

    >>> words_of("Running e-mails", "en"), words_of("Café 東京", "plain")
    (('run', 'e', 'mail'), ('cafe', '東', '京'))
    """
    return tuple(analyzer(stemmer).analyze(normalized(text, stemmer)))
