"""Completes what is being typed: its last word, as it goes on in the index, and titles that begin like all of it.

Of the forms of a word (index, indexes), which find the same, the most frequent is offered; of words that could follow
others, those that stand on a page together with them, the most frequent first.
"""

from __future__ import annotations

import re

from orienteer.search.completion import MAX_TYPED_CHARS, Suggestion
from orienteer.search.index_view import View
from orienteer.search.lookup import built, n_found
from orienteer.search.query import FIELDS, parse
from orienteer.search.words import words_of

_N_TRIED = 12  # words after others
_LAST = re.compile(r"(?:^|(?<=\s))[^\s\"]+$")  # the word that is being typed
_RULE = re.compile(r"[+-]|(?:" + "|".join(FIELDS) + "):", re.IGNORECASE)


def completed(view: View, typed: str, n: int) -> tuple[Suggestion, ...]:
    """The n best: at most half of them words, unless there are few titles."""
    text = typed.lstrip()
    if not text.strip() or len(text) > MAX_TYPED_CHARS or n < 1:
        return ()
    words = _words(view, text, n)
    typed_so_far = " ".join(text.split()).casefold()
    titles = [title for title in view.completions.titles(text, n + 1) if title.casefold() != typed_so_far]
    titles = [title for title in titles if title.casefold() not in {word.casefold() for word in words}]
    n_words = max(n - len(titles), (n + 1) // 2)
    chosen = [Suggestion(word, "word") for word in words[:n_words]]
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
    n_pages = {}
    for word in found:
        asked = built(parse(head + word, view.vocabulary.field_names), view.vocabulary)
        n_pages[head + word] = n_found(view.searcher.search(asked, 1))
    best = sorted(n_pages, key=lambda query: -n_pages[query])
    return [query for query in best if n_pages[query]][:n]


def _forms_once(view: View, typed: str, words: list[str]) -> list[str]:
    """Without those that are forms of a word before them, as most pages are read, and without what was typed."""
    way = view.vocabulary.main_way
    forms = {words_of(word, way): word for word in reversed(words) if word != typed}
    return [word for word in words if forms.get(words_of(word, way)) == word]
