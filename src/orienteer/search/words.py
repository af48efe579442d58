"""Text analysis: tokens of a text in lower case, stemmed by language, without accents.

A word is a run of letters and digits, or a character of a script without spaces. It is stemmed by the language of its
page ("ponies" equals "pony"), if there is a stemmer for it, and then stripped of accents.

Texts of all scripts are normalized before they are split at non-letters, so that a word has one spelling:

    accents, points     of Greek, Hebrew, Arabic and the scripts of India are dropped, as those of Latin are later
    Arabic              variants of a letter become one; the article is dropped with its prefixes (`wal-`, `bil-`,
                        `lil-`)
    Turkish             I is the capital of ı, and İ that of i
    no spaces           in Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese each character, with its
                        combining marks, is a word. Adjacent characters of a query are then a phrase. Korean has
                        spaces, but attaches particles to words, so it is treated like the others
    marks of direction  and other invisible characters are dropped

Texts in Latin or Cyrillic letters are cheap: scripts are detected by the first bytes of the UTF-8 characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

TURKISH = "tr"

# Soft hyphen, joiners, marks of direction.
_INVISIBLE = "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_BREAK = "\u200b"  # the zero-width space separates words
# The first bytes of each script in UTF-8; E0 and E1 are shared by scripts of India and Thai.
_MARKS, _GREEK, _CYRILLIC, _HEBREW = bytes((0xCC, 0xCD)), bytes((0xCE, 0xCF)), bytes((0xD0, 0xD1)), bytes((0xD6, 0xD7))
_ARABIC, _INDIA, _UNSPACED_LEADS = (
    bytes(range(0xD8, 0xDC)),
    bytes((0xE0,)),
    bytes((0xE0, 0xE1, *range(0xE3, 0xEE), 0xF0)),
)
_LEADS = frozenset((*_MARKS, *_GREEK, *_CYRILLIC, *_HEBREW, *_ARABIC, *_UNSPACED_LEADS, 0xEF))
_NOT_LEADS = bytes(byte for byte in range(256) if byte not in _LEADS)

_POINTS = re.compile(
    "[\u0300-\u036f"  # combining marks without a composed letter
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"  # Arabic
    # India: marks that tokenizers take for separators, above all the virama (no vowel)
    "\u093c\u094d\u0951-\u0954\u09bc\u09cd\u0a3c\u0a4d\u0abc\u0acd\u0b3c\u0b4d\u0bcd\u0c3c\u0c4d\u0cbc\u0ccd"
    "\u0d3b\u0d3c\u0d4d\u0dca"
    "\u0e47-\u0e4c\u0e4e\u0ec8-\u0ecc"  # tones of Thai and Lao
    "\u1037\u1039\u103a\u17c9-\u17d3\u17dd]+"  # Burmese, Khmer
)
_HALF_NASAL = re.compile("न्|ँ")  # Hindi: हिन्दी and हिंदी are the same word
_ANUSVARA = "ं"
_GERSHAYIM = re.compile("(?<=[א-ת])[\"'״׳](?=[א-ת])")  # in abbreviations
_ARABIC_LETTERS = tuple(zip("أإآٱىیکةۀەۂ", "اااايي\u0643هههه", strict=True))
_GREEK_LETTERS = tuple(zip("άέήίόύώΆΈΉΊΌΎΏϊϋΐΰΪΫς", "αεηιουωΑΕΗΙΟΥΩιυιυΙΥσ", strict=True))
_OLD_GREEK = re.compile("[\u1f00-\u1fff]")
_ARTICLE = re.compile(r"(?<!\w)(?:[وف]?(?:[بك]?ال|لل))(?=\w{3})")
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


def _without_spaces() -> tuple[str, str]:
    """Return two classes of a regular expression: letters of scripts without spaces, and their combining marks."""
    letters: list[str] = []
    marks: list[str] = []
    for first, last in ((0x0E01, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)):
        for character in map(chr, range(first, last + 1)):
            kind = unicodedata.category(character)[0]
            if kind in "LNM":
                (marks if kind == "M" else letters).append(character)
    east = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
    hangul = "\uac00-\ud7a3"
    return "".join(letters) + east + hangul, "".join(marks)


_UNSPACED_CLASS, _MARK_CLASS = _without_spaces()
# Combining marks inside words, which are not `\w` in Python.
WORD_MARKS = "".join(c for c in map(chr, (*range(0x300, 0x370), *range(0x590, 0x700), *range(0x900, 0xE00)))
                     if unicodedata.category(c)[0] == "M")  # fmt: skip
_UNSPACED = re.compile(f"[{_UNSPACED_CLASS}][{_MARK_CLASS}]*")
_PIECE = re.compile(f"[{_UNSPACED_CLASS}][{_MARK_CLASS}]*|[^{_UNSPACED_CLASS}]+")


def has_unspaced_script(text: str) -> bool:
    """Whether a text has a character of a script without spaces, which is indexed as a word."""
    return _UNSPACED.search(text) is not None


@lru_cache(maxsize=1)
def _old_greek_letters() -> dict[int, str]:
    """Return the letters of ancient Greek without their diacritics, by code point."""
    return {code: unicodedata.normalize("NFD", chr(code))[0] for code in range(0x1F00, 0x2000)}


def normalized(text: str, stemmer: str = "") -> str:
    """Return a text with one spelling for each word, spaces between characters that are words, and no invisible ones.

    `stemmer` is the code of a language with a stemmer, or anything else; only Turkish has a rule of its own.

    >>> normalized("in 東京 today").split(), normalized("הַסֵּפֶר"), normalized("Ὀδυσσεύς")
    (['in', '東', '京', 'today'], 'הספר', 'Οδυσσευσ')
    """
    if stemmer == TURKISH:
        text = text.replace("I", "ı").replace("İ", "i")
    if text.isascii():
        return text
    encoded = text.encode(errors="replace")
    leads = set(encoded.translate(None, _NOT_LEADS))  # ten times as fast as a search for each character
    text = encoded.decode()
    for character in _INVISIBLE:
        if character in text:
            text = text.replace(character, "")
    text = text.replace(_BREAK, " ").replace("İ", "I")
    return _in_scripts(text, leads) if leads else text


def _in_scripts(text: str, leads: set[int]) -> str:
    """Apply the rules of the scripts with these first bytes."""
    if not leads.isdisjoint((*_MARKS, *_GREEK, *_ARABIC, *_UNSPACED_LEADS, 0xEF)):
        text = unicodedata.normalize("NFKC", text)
    if not leads.isdisjoint(_CYRILLIC):
        text = text.replace("ё", "е").replace("Ё", "Е")
    if not leads.isdisjoint(_INDIA):
        text = _HALF_NASAL.sub(_ANUSVARA, text)
    if not leads.isdisjoint((*_MARKS, *_HEBREW, *_ARABIC, *_INDIA, 0xE1)):
        text = _POINTS.sub("", text)
    if not leads.isdisjoint(_HEBREW):
        text = _GERSHAYIM.sub("", text)
    if not leads.isdisjoint(_ARABIC):
        text = _ARTICLE.sub("", _replaced(text, _ARABIC_LETTERS))
    if 0xE1 in leads and _OLD_GREEK.search(text):
        text = text.translate(_old_greek_letters())
    if not leads.isdisjoint(_GREEK):
        text = _replaced(text, _GREEK_LETTERS)
    if not leads.isdisjoint(_UNSPACED_LEADS):
        text = " ".join(_PIECE.findall(text))
    return text


def _replaced(text: str, letters: tuple[tuple[str, str], ...]) -> str:
    for letter, other in letters:  # 20 times as fast as `translate`
        text = text.replace(letter, other)
    return text


def folded(text: str) -> str:
    """Apply those rules of `normalized` that replace one letter by one, so that the length does not change."""
    return text if text.isascii() else _replaced(text, (*_GREEK_LETTERS, *_ARABIC_LETTERS, ("ё", "е")))


# -- other forms of a word --------------------------------------------------------------------------------------

# Korean particles, longer ones first; without its particle, a word of a query matches with any other.
_PARTICLES = re.compile(
    "^([가-힣]{2,}?)(?:에서부터|으로부터|에서는|에서도|까지도|에게서|이라는|이라고|입니다|에서|에게|한테|으로|까지|부터|처럼|"
    "보다|마다|조차|이나|이랑|하고|라는|라고|이란|은|는|이|가|을|를|의|에|로|와|과|도|만|나|랑|란)$"
)
_HEBREW_WORD = re.compile("[א-ת]{2,}")
_PREFIXES = "הובכלמש"  # the, and, in, as, to, from, that
_MIN_HEBREW = 3
_ARABIC_WORD = re.compile("[\u0620-\u06ff]{2,}")
_WITH_ARTICLE = ("ال", "وال", "بال", "كال", "فال", "لل")


def other_forms(word: str) -> tuple[str, ...]:
    """Return forms of a word of a query that pages may have: with another particle, or another prefix.

    Forms that the index unifies itself (endings, articles) are not among them: see `words`.

    >>> other_forms("도서관에서"), other_forms("library")
    (('도서관',), ())
    >>> other_forms("ספר")[:3]
    ('הספר', 'וספר', 'בספר')
    """
    if word.isascii():
        return ()
    if particle := _PARTICLES.match(word):
        return (particle[1],)
    bare = normalized(word)
    if not _HEBREW_WORD.fullmatch(bare):
        return ()
    shorter = bare[1:] if bare[0] in _PREFIXES and len(bare) > _MIN_HEBREW else ""
    forms = [prefix + bare for prefix in _PREFIXES]
    forms += [shorter, *(prefix + shorter for prefix in _PREFIXES)] if shorter else []
    return tuple(form for form in forms if form != bare)


def written_forms(word: str) -> tuple[str, ...]:
    """Return the forms to mark in texts: `other_forms`, or Arabic forms with an article, which the index unifies.

    >>> written_forms("كتاب")[0]
    'الكتاب'
    """
    if word.isascii():
        return ()
    bare = normalized(word)
    if _ARABIC_WORD.fullmatch(bare):
        return tuple(article + bare for article in _WITH_ARTICLE)
    return other_forms(word)


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
