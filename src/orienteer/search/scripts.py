"""Texts of all scripts, made ready to be split at what is no letter: the same word is then written in one way.

    accents, points     of Greek, Hebrew, Arabic and the scripts of India are dropped, as those of Latin are later
    Arabic              letters that are written in several ways become one; the article goes, and what is written with
                        it (`wal-`, `bil-`, `lil-`)
    Turkish             I is the capital of ı, and İ that of i
    no spaces           of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese each sign is a word: a letter with
                        the marks on it. What stands together in a query is then looked for in a row. Korean has spaces,
                        but particles are written together with words, so it is read like the others
    marks of direction  and other characters that nobody sees are dropped

A text in Latin or Cyrillic letters costs next to nothing: it is looked at by the bytes that its characters begin with.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

TURKISH = "tr"

# Soft hyphen, joiners, marks of direction.
_UNSEEN = "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_BREAK = "\u200b"  # a place between two words that nobody sees
# By script, the bytes that its characters begin with in UTF-8; among E0 and E1 are those of India and of Thai.
_MARKS, _GREEK, _CYRILLIC, _HEBREW = bytes((0xCC, 0xCD)), bytes((0xCE, 0xCF)), bytes((0xD0, 0xD1)), bytes((0xD6, 0xD7))
_ARABIC, _INDIA, _SIGNS = bytes(range(0xD8, 0xDC)), bytes((0xE0,)), bytes((0xE0, 0xE1, *range(0xE3, 0xEE), 0xF0))
_LEADS = frozenset((*_MARKS, *_GREEK, *_CYRILLIC, *_HEBREW, *_ARABIC, *_SIGNS, 0xEF))
_NOT_LEADS = bytes(byte for byte in range(256) if byte not in _LEADS)

_POINTS = re.compile(
    "[\u0300-\u036f"  # what could not be joined with its letter
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"  # Arabic
    # India: what is no letter to others and would split a word, above all the sign that there is no vowel
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


def _without_spaces() -> tuple[str, str]:
    """Classes of a regular expression: signs of scripts without spaces, and marks on them."""
    signs: list[str] = []
    marks: list[str] = []
    for first, last in ((0x0E01, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)):
        for character in map(chr, range(first, last + 1)):
            kind = unicodedata.category(character)[0]
            if kind in "LNM":
                (marks if kind == "M" else signs).append(character)
    east = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
    hangul = "\uac00-\ud7a3"
    return "".join(signs) + east + hangul, "".join(marks)


_SIGN_CLASS, _MARK_CLASS = _without_spaces()
# Marks that stand inside words, which Python does not take for parts of them.
WORD_MARKS = "".join(c for c in map(chr, (*range(0x300, 0x370), *range(0x590, 0x700), *range(0x900, 0xE00)))
                     if unicodedata.category(c)[0] == "M")  # fmt: skip
_SIGN = re.compile(f"[{_SIGN_CLASS}][{_MARK_CLASS}]*")
_PIECE = re.compile(f"[{_SIGN_CLASS}][{_MARK_CLASS}]*|[^{_SIGN_CLASS}]+")


def has_signs(text: str) -> bool:
    """Whether it holds a sign that is a word of its own."""
    return _SIGN.search(text) is not None


@lru_cache(maxsize=1)
def _old_greek_letters() -> dict[int, str]:
    """Letters of ancient Greek, by their codes, without what stands on them."""
    return {code: unicodedata.normalize("NFD", chr(code))[0] for code in range(0x1F00, 0x2000)}


def prepared(text: str, way: str = "") -> str:
    """A text with each word written in one way, room around signs that are words, and nothing that is no character.

    `way` is that of reading it: the code of a language with a stemmer, or anything else.

    >>> prepared("in 東京 today").split(), prepared("הַסֵּפֶר"), prepared("Ὀδυσσεύς")
    (['in', '東', '京', 'today'], 'הספר', 'Οδυσσευσ')
    """
    if way == TURKISH:
        text = text.replace("I", "ı").replace("İ", "i")
    if text.isascii():
        return text
    encoded = text.encode(errors="replace")
    leads = set(encoded.translate(None, _NOT_LEADS))  # ten times as fast as to look for signs
    text = encoded.decode()
    for unseen in _UNSEEN:
        if unseen in text:
            text = text.replace(unseen, "")
    text = text.replace(_BREAK, " ").replace("İ", "I")
    return _in_scripts(text, leads) if leads else text


def _in_scripts(text: str, leads: set[int]) -> str:
    """The same for a text with characters that begin with these bytes."""
    if not leads.isdisjoint((*_MARKS, *_GREEK, *_ARABIC, *_SIGNS, 0xEF)):
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
    if not leads.isdisjoint(_SIGNS):
        text = " ".join(_PIECE.findall(text))
    return text


def _replaced(text: str, letters: tuple[tuple[str, str], ...]) -> str:
    for letter, other in letters:  # 20 times as fast as `translate`
        text = text.replace(letter, other)
    return text


def folded(text: str) -> str:
    """A text whose letters are those of `prepared`, as far as each is one letter there, too: it stays as long."""
    return text if text.isascii() else _replaced(text, (*_GREEK_LETTERS, *_ARABIC_LETTERS, ("ё", "е")))


# -- other forms of a word --------------------------------------------------------------------------------------

# Korean particles, longer ones first; they are taken off a word in a query, and it is found with any other.
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
    """Other forms under which a word that was typed may stand on a page: with another particle, or another prefix.

    What is told by an index alone (endings, articles) is not among them: see `words`.

    >>> other_forms("도서관에서"), other_forms("library")
    (('도서관',), ())
    >>> other_forms("ספר")[:3]
    ('הספר', 'וספר', 'בספר')
    """
    if word.isascii():
        return ()
    if particle := _PARTICLES.match(word):
        return (particle[1],)
    bare = prepared(word)
    if not _HEBREW_WORD.fullmatch(bare):
        return ()
    shorter = bare[1:] if bare[0] in _PREFIXES and len(bare) > _MIN_HEBREW else ""
    forms = [prefix + bare for prefix in _PREFIXES]
    forms += [shorter, *(prefix + shorter for prefix in _PREFIXES)] if shorter else []
    return tuple(form for form in forms if form != bare)


def written_forms(word: str) -> tuple[str, ...]:
    """The same, and those that an index does not tell apart though they begin otherwise: Arabic ones with an article.

    >>> written_forms("كتاب")[0]
    'الكتاب'
    """
    if word.isascii():
        return ()
    bare = prepared(word)
    if _ARABIC_WORD.fullmatch(bare):
        return tuple(article + bare for article in _WITH_ARTICLE)
    return other_forms(word)
