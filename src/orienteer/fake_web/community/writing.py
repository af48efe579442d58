"""Texts put together from the phrases: the same for the same key, every time and whatever else is written."""

from __future__ import annotations

import random
import re
from functools import cache

from orienteer.fake_web.community.headlines import HEADLINES
from orienteer.fake_web.community.phrases import SENTENCES, WORDS

_SENTENCES_PER_PARAGRAPH = 4
_BEFORE_VOWEL = re.compile(r"\b([Aa])(?= [aeiou])")


class Writer:
    """Draws words, sentences and titles; `key` says for which page."""

    def __init__(self, rng: int, *key: object) -> None:
        self.draw = random.Random(f"{rng}/{'/'.join(map(str, key))}")

    def filled(self, phrase: str) -> str:
        """The phrase with words drawn for its places; `{Name}` begins with a capital letter."""
        return _BEFORE_VOWEL.sub(r"\1n", phrase.format_map(_Drawn(self.draw)))

    def headline(self, topic: str) -> str:
        text = self.filled(self.draw.choice(HEADLINES[topic]))
        return text[0].upper() + text[1:]

    def paragraphs(self, n_sentences: int, *topics: str) -> tuple[str, ...]:
        """So many sentences of these topics, none of them twice, a few to a paragraph."""
        phrases = _phrases(topics)
        drawn = self.draw.sample(phrases, min(n_sentences, len(phrases)))
        made = [_capital(self.filled(phrase)) for phrase in drawn]
        return tuple(
            " ".join(made[start : start + _SENTENCES_PER_PARAGRAPH])
            for start in range(0, len(made), _SENTENCES_PER_PARAGRAPH)
        )


class _Drawn(dict[str, str]):
    """Every place is filled by a draw of its own."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self._draw = draw

    def __missing__(self, place: str) -> str:
        word = self._draw.choice(WORDS[place.lower()])
        return _capital(word) if place[0].isupper() else word


@cache
def _phrases(topics: tuple[str, ...]) -> list[str]:
    return [phrase for topic in topics for phrase in SENTENCES[topic]]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
