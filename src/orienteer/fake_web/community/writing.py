"""Texts composed from the phrases: determined by their key, independent of other texts."""

from __future__ import annotations

import random
import re
from functools import cache

from orienteer.fake_web.community.headlines import HEADLINES
from orienteer.fake_web.community.phrases import SENTENCES, WORDS

_SENTENCES_PER_PARAGRAPH = 4
_BEFORE_VOWEL = re.compile(r"\b([Aa])(?= [aeiou])")


class ProseWriter:
    """Draws words, sentences and titles for the page identified by `key`."""

    def __init__(self, rng: int, *key: object) -> None:
        self.draw = random.Random(f"{rng}/{'/'.join(map(str, key))}")

    def filled(self, phrase: str) -> str:
        """Fill the placeholders of a phrase with random words; `{Name}` is capitalized."""
        return _BEFORE_VOWEL.sub(r"\1n", phrase.format_map(_Drawn(self.draw)))

    def headline(self, topic: str) -> str:
        text = self.filled(self.draw.choice(HEADLINES[topic]))
        return text[0].upper() + text[1:]

    def paragraphs(self, n_sentences: int, *topics: str) -> tuple[str, ...]:
        """Return `n` distinct sentences of these topics, a few per paragraph."""
        phrases = _phrases(topics)
        drawn = self.draw.sample(phrases, min(n_sentences, len(phrases)))
        made = [_capital(self.filled(phrase)) for phrase in drawn]
        return tuple(
            " ".join(made[start : start + _SENTENCES_PER_PARAGRAPH])
            for start in range(0, len(made), _SENTENCES_PER_PARAGRAPH)
        )


class _Drawn(dict[str, str]):
    """Fills every placeholder with a separate draw."""

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
