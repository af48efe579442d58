"""The query language.

    words                 all of them occur on the page, in any form and order (if no page has all: some of them)
    "two words"           a phrase
    +word  -word          required; excluded
    title:word url:word   in the title, in the URL; with "..." a phrase
    site:example.org      pages of a site; site:example.org/docs: below a path
    host:www.example.org  pages of one host
    lang:de               pages in a language
    type:pdf              files of a type: html, pdf, text, docx, odt, pptx, xlsx, epub, feed, or a media type
    before:2025           published before 2025, or changed, if no date of publication is known
    after:2024-06         in June 2024 or later
    topic:on              of a crawl with a topic, the pages that are on it; topic:off the others
    tag:shop              pages that a page hook gave this tag
    price:12              pages with this value, or this word, in a field of this name that a page hook added

Every text is a valid query: text that is not an operator is searched as words, and text without words is ignored. Eight
words or more are taken for a pasted sentence, in which + and - are text, not operators.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from orienteer.extract.language import primary_language
from orienteer.search.page_facts import TOPIC_VALUES, TYPES, date_number, tag_term, type_term
from orienteer.search.words import PLAIN, words_of
from orienteer.url import host_of

MAX_QUERY_CHARS = 1000  # the rest is ignored
SENTENCE_WORDS = 8
FIELDS = ("site", "host", "lang", "type", "before", "after", "topic", "title", "url", "tag")
# Filters decide which pages match, but add no score.
FILTERS = ("site", "host", "lang", "type", "before", "after", "topic", "tag")
_MAX_CLAUSES = 32  # with words, and as many filters
_FIELD_LIKE = re.compile(r"(?<!\S)[+-]?([^\W\d]\w{0,40}):(?=[^\s:/])")
_GERSHAYIM = re.compile('(?<=[א-ת])"(?=[א-ת])')  # a quote inside a Hebrew word is no quote


class Clause(NamedTuple):
    """A word, phrase or filter of a query; `field` is "" for words anywhere on the page."""

    text: str
    sign: str = ""
    field: str = ""
    is_phrase: bool = False

    @property
    def is_word(self) -> bool:
        """Whether a page may match without it in a relaxed query."""
        return self.sign == "" and self.field == ""

    def __str__(self) -> str:
        text = f'"{self.text}"' if self.is_phrase else self.text
        return f"{self.sign}{self.field}{':' if self.field else ''}{text}"


class ParsedQuery(NamedTuple):
    """A parsed query; `left_out` are the filters with invalid values."""

    clauses: tuple[Clause, ...]
    left_out: tuple[Clause, ...] = ()

    @property
    def scored_clauses(self) -> list[Clause]:
        """The clauses that add to the score of a page."""
        return [clause for clause in self.clauses if clause.sign != "-" and clause.field in ("", "title", "url")]

    @property
    def texts(self) -> list[str]:
        """The texts that may occur anywhere on the page."""
        return [clause.text for clause in self.clauses if clause.sign != "-" and clause.field == ""]

    def __str__(self) -> str:
        return " ".join(map(str, self.clauses))


def parse(text: str, field_names: frozenset[str] = frozenset()) -> ParsedQuery:
    """Parse a query; `field_names` are the names of fields that hooks added.

    >>> [str(clause) for clause in parse('big "red apple" -site:A.org +title:pie foo:bar "" -').clauses]
    ['big', '"red apple"', '-site:A.org', '+title:pie', 'foo:bar']
    >>> [clause.field for clause in parse("price:12 foo:bar", frozenset(["price"])).clauses]
    ['price', '']
    """
    clauses: list[Clause] = []
    left_out: list[Clause] = []
    typed = _GERSHAYIM.sub("״", text[:MAX_QUERY_CHARS])
    for sign, name, phrase, word in _clause(field_names).findall(typed):
        clause = Clause(phrase or word, sign, name.lower(), bool(phrase))
        (clauses if _is_valid(clause) else left_out).append(clause)
    clauses = _limited(clauses)
    if sum(clause.field == "" for clause in clauses) >= SENTENCE_WORDS:
        clauses = [_without_sign(clause) for clause in clauses]
    return ParsedQuery(tuple(clauses), tuple(clause for clause in left_out if clause.field in FILTERS))


def _limited(clauses: list[Clause]) -> list[Clause]:
    """Return the first clauses, up to the limits for words and for filters."""
    n_seen = {True: 0, False: 0}
    first = []
    for clause in clauses:
        n_seen[is_filter := clause.field in FILTERS] += 1
        if n_seen[is_filter] <= _MAX_CLAUSES:
            first.append(clause)
    return first


def hints(text: str, field_names: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return what may be wrong with a query without results, a sentence each.

    >>> hints('price:12 "red apple')
    ('The quote before “red apple” is not closed.', 'There is no field “price”: it is looked for as a word.')
    """
    typed = _GERSHAYIM.sub("״", text[:MAX_QUERY_CHARS])
    parsed = parse(typed, field_names)
    found = list(wrong_values(parsed))
    if not found and not parsed.clauses:
        found.append("There is no word to look for." if typed.strip() else "The query is empty: type some words.")
    if typed.count('"') % 2:
        after = typed.rpartition('"')[2].strip()[:60]
        found.append(f"The quote before “{after}” is not closed." if after else "The last quote is not closed.")
    known = {*FIELDS, *field_names}
    unknown = [name for name in _FIELD_LIKE.findall(typed) if name.lower() not in known]
    found += [f"There is no field “{name}”: it is looked for as a word." for name in dict.fromkeys(unknown)]
    return tuple(found)


def wrong_values(parsed: ParsedQuery) -> tuple[str, ...]:
    """Return a sentence for each filter with an invalid value.

    >>> wrong_values(parse("before:20x5"))
    ('“before:20x5” is no date, such as 2025, 2025-03 or 2025-03-01: it is left out.',)
    """
    return tuple(dict.fromkeys(map(_wrong_value, parsed.left_out)))


def _wrong_value(clause: Clause) -> str:
    if clause.field in ("before", "after"):
        return f"“{clause}” is no date, such as 2025, 2025-03 or 2025-03-01: it is left out."
    if clause.field == "type":
        return f"There is no type “{clause.text}”: it is left out. Types are {', '.join(TYPES)}."
    if clause.field == "topic":
        return f"“{clause}” is neither topic:on nor topic:off: it is left out."
    kind = {"lang": "language, such as en or de", "tag": "tag"}.get(clause.field, "name of a host")
    return f"“{clause}” is no {kind}: it is left out."


@lru_cache(maxsize=256)
def host_and_path(text: str) -> tuple[str, str]:
    """Split a URL prefix into its normalized host and its path."""
    name, _, path = text.rpartition("://")[2].partition("/")
    return host_of(f"http://{name}/"), path


def _is_valid(clause: Clause) -> bool:
    """Whether the clause has a word or a valid value."""
    if clause.field in ("site", "host"):
        return bool(host_and_path(clause.text)[0])
    if clause.field == "lang":
        return bool(primary_language(clause.text))
    if clause.field == "type":
        return bool(type_term(clause.text))
    if clause.field in ("before", "after"):
        return date_number(clause.text) is not None
    if clause.field == "topic":
        return clause.text.lower() in TOPIC_VALUES
    if clause.field == "tag":
        return bool(tag_term(clause.text))
    return bool(words_of(clause.text, PLAIN))


def _without_sign(clause: Clause) -> Clause:
    return clause if clause.field or clause.is_phrase else clause._replace(sign="")


@lru_cache(maxsize=8)
def _clause(field_names: frozenset[str]) -> re.Pattern[str]:
    names = "|".join((*FIELDS, *map(re.escape, sorted(field_names))))
    return re.compile(rf'([+-]?)(?:({names}):)?(?:"([^"]*)"?|([^\s"]+))', re.IGNORECASE)
