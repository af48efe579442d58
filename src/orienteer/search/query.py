"""What a person types.

    words                 all of them stand on the page, in any form and place (if no page has all: some of them)
    "two words"           in a row
    +word  -word          must stand there; must not
    title:word url:word   in the title, in the address; with "..." several in a row
    site:example.org      pages of a site; site:example.org/docs of a part of it
    host:www.example.org  pages of one host
    lang:de               pages in a language
    type:pdf              files of a type: html, pdf, text, docx, odt, pptx, xlsx, epub, feed, or a media type
    before:2025           published before 2025, or changed, where nothing is said of when it was published
    after:2024-06         in June 2024 or later
    topic:on              of a crawl with a topic, the pages that are on it; topic:off the others
    tag:shop              pages that a page hook gave this tag
    price:12              pages with this value, or this word, in a field of this name that a page hook added

Anything may be typed: what makes no sense as a rule is looked for as words, and what holds no word is left out. Eight
words or more are a sentence that somebody has pasted: there + and - are no rules, but text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from orienteer.extract.language import primary_language
from orienteer.search.added_terms import tag_term
from orienteer.search.page_facts import TOPIC_VALUES, TYPES, date_number, type_term
from orienteer.search.words import PLAIN, words_of
from orienteer.url import host_of

MAX_QUERY_CHARS = 1000  # what follows is not looked at
SENTENCE_WORDS = 8
FIELDS = ("site", "host", "lang", "type", "before", "after", "topic", "title", "url", "tag")
# They decide which pages are found, not how good they are.
FILTERS = ("site", "host", "lang", "type", "before", "after", "topic", "tag")
_MAX_CLAUSES = 32  # of words, and of filters
_FIELD_LIKE = re.compile(r"(?<!\S)[+-]?([^\W\d]\w{0,40}):(?=[^\s:/])")
_GERSHAYIM = re.compile('(?<=[א-ת])"(?=[א-ת])')  # a quote inside a Hebrew word is no quote


class Clause(NamedTuple):
    """One thing that was typed; `field` is "" where the words may stand anywhere."""

    text: str
    sign: str = ""
    field: str = ""
    is_phrase: bool = False

    @property
    def is_word(self) -> bool:
        """Whether the page may do without it, if it has the others."""
        return self.sign == "" and self.field == ""

    def __str__(self) -> str:
        text = f'"{self.text}"' if self.is_phrase else self.text
        return f"{self.sign}{self.field}{':' if self.field else ''}{text}"


class Ask(NamedTuple):
    """A query, taken apart; `left_out` are filters with values that nothing can be made of."""

    clauses: tuple[Clause, ...]
    left_out: tuple[Clause, ...] = ()

    @property
    def sought(self) -> list[Clause]:
        """What the page is to say."""
        return [clause for clause in self.clauses if clause.sign != "-" and clause.field in ("", "title", "url")]

    @property
    def texts(self) -> list[str]:
        """What may stand anywhere on the page."""
        return [clause.text for clause in self.clauses if clause.sign != "-" and clause.field == ""]

    def __str__(self) -> str:
        return " ".join(map(str, self.clauses))


def parse(text: str, field_names: frozenset[str] = frozenset()) -> Ask:
    """What was typed; `field_names` are those of fields that hooks added.

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
        (clauses if _holds_something(clause) else left_out).append(clause)
    clauses = _the_first(clauses)
    if sum(clause.field == "" for clause in clauses) >= SENTENCE_WORDS:
        clauses = [_without_sign(clause) for clause in clauses]
    return Ask(tuple(clauses), tuple(clause for clause in left_out if clause.field in FILTERS))


def _the_first(clauses: list[Clause]) -> list[Clause]:
    """As many as are looked at; a filter counts however many words there are."""
    n_seen = {True: 0, False: 0}
    kept = []
    for clause in clauses:
        n_seen[is_filter := clause.field in FILTERS] += 1
        if n_seen[is_filter] <= _MAX_CLAUSES:
            kept.append(clause)
    return kept


def hints(text: str, field_names: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """What may be wrong with a query that finds nothing, a sentence each.

    >>> hints('price:12 "red apple')
    ('The quote before “red apple” is not closed.', 'There is no field “price”: it is looked for as a word.')
    """
    typed = _GERSHAYIM.sub("״", text[:MAX_QUERY_CHARS])
    ask = parse(typed, field_names)
    found = list(wrong_values(ask))
    if not found and not ask.clauses:
        found.append("There is no word to look for." if typed.strip() else "The query is empty: type some words.")
    if typed.count('"') % 2:
        after = typed.rpartition('"')[2].strip()[:60]
        found.append(f"The quote before “{after}” is not closed." if after else "The last quote is not closed.")
    known = {*FIELDS, *field_names}
    unknown = [name for name in _FIELD_LIKE.findall(typed) if name.lower() not in known]
    found += [f"There is no field “{name}”: it is looked for as a word." for name in dict.fromkeys(unknown)]
    return tuple(found)


def wrong_values(ask: Ask) -> tuple[str, ...]:
    """What is said of filters that are left out, a sentence each.

    >>> wrong_values(parse("before:20x5"))
    ('“before:20x5” is no date, such as 2025, 2025-03 or 2025-03-01: it is left out.',)
    """
    return tuple(dict.fromkeys(map(_wrong_value, ask.left_out)))


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
def place_of(text: str) -> tuple[str, str]:
    """The host that a text names, as URLs have it, and what follows."""
    name, _, path = text.rpartition("://")[2].partition("/")
    return host_of(f"http://{name}/"), path


def _holds_something(clause: Clause) -> bool:
    """Whether anything can be looked for by it."""
    if clause.field in ("site", "host"):
        return bool(place_of(clause.text)[0])
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
