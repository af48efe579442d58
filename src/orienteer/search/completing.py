"""Completes what is being typed: its last word, as it goes on in the index, and titles that begin like all of it.

Of the forms of a word (index, indexes), which find the same, the most frequent is offered; of words that could follow
others, those that stand on a page together with them, the most frequent first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tantivy import Occur, Query

from orienteer.search.completion import MAX_TYPED_CHARS, Suggestion
from orienteer.search.index_view import View
from orienteer.search.lookup import built, n_found
from orienteer.search.query import FIELDS, Ask, parse
from orienteer.search.text_index import WRITTEN, schema, written_words
from orienteer.search.words import words_of

_N_TRIED = 12  # words after others
_LAST = re.compile(r"(?:^|(?<=\s))[^\s\"]+$")  # the word that is being typed
_RULE = re.compile(r"[+-]|(?:" + "|".join(FIELDS) + "):", re.IGNORECASE)


def completed(view: View, typed: str, n: int) -> tuple[Suggestion, ...]:
    """The n best, words first: at most half of them."""
    text = typed.lstrip()
    if not text.strip() or len(text) > MAX_TYPED_CHARS or n < 1:
        return ()
    words = _words(view, text, (n + 1) // 2)
    typed_so_far = " ".join(text.split()).casefold()
    titles = [title for title in view.completions.titles(text, n + 1) if title.casefold() != typed_so_far]
    titles = [title for title in titles if title.casefold() not in {word.casefold() for word in words}]
    chosen = [Suggestion(word, "word") for word in words]
    return (*chosen, *(Suggestion(title, "title") for title in titles[: n - len(chosen)]))


def _words(view: View, text: str, n: int) -> list[str]:
    """The text with its last word completed."""
    last = _LAST.search(text)
    if last is None or _RULE.match(last[0]) or text.count('"') % 2:
        return []
    head = text[: last.start()]
    found = _forms_once(view, last[0].lower(), view.completions.words(last[0], 2 * max(n + 1, _N_TRIED)))[:_N_TRIED]
    if not head.strip():
        return found[:n]
    n_pages = _together(view, head, found)
    best = sorted(n_pages, key=lambda word: -n_pages[word])
    return [head + word for word in best if n_pages[word]][:n]


def _together(view: View, head: str, words: list[str]) -> dict[str, int]:
    """How many pages have each word, as it is written, besides all that stands before it.

    What is written before counts as it stands there, too: to look for it in all its forms would take ten times as long.
    """
    before = []
    for clause in parse(head, view.vocabulary.field_names).clauses:
        if clause.field or clause.sign == "-":
            before.append(built(Ask((clause,)), view.vocabulary))
        else:
            known = [word for word in written_words(clause.text) if view.searcher.doc_freq(WRITTEN, word)]
            before += [Query.term_query(schema(), WRITTEN, word) for word in known]
    return {word: _n_pages(view, (*before, Query.term_query(schema(), WRITTEN, word))) for word in words}


def _n_pages(view: View, queries: Sequence[Query]) -> int:
    """How many pages are found by all of these; nothing is scored."""
    all_of_them = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in queries]
    return n_found(view.searcher.search(Query.boolean_query(all_of_them), 1))


def _forms_once(view: View, typed: str, words: list[str]) -> list[str]:
    """Without those that are forms of a word before them, as most pages are read, and without what was typed."""
    way = view.vocabulary.main_way
    forms = {words_of(word, way): word for word in reversed(words) if word != typed}
    return [word for word in words if forms.get(words_of(word, way)) == word]
