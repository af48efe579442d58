"""Text of generated pages: English sentences about one of a few topics, deterministic for each page.

Pairs of sentences are generated once, a few thousand per topic, and each page draws from them. Two pages of a topic
then share words but hardly any sentences, like real ones, and are no near duplicates.
"""

from __future__ import annotations

import random
from functools import cache

_PAIRS_PER_TOPIC = 2048

_NOUNS = {
    "sea": "ship harbour sailor lighthouse tide anchor island storm captain cargo reef voyage compass sail fleet coast",
    "garden": "rose hedge soil seed orchard gardener pond lawn tulip compost greenhouse herb spade blossom moss pear",
    "music": "violin melody orchestra rhythm composer chorus concert piano harmony trumpet drum score note",
    "mountain": "summit glacier ridge climber valley rope avalanche hut peak trail cliff snow pass guide slope camp",
    "kitchen": "bread oven flour recipe onion soup cook pepper butter kettle knife dough cheese spice table plate",
    "railway": "train station signal engine platform ticket tunnel carriage bridge track depot freight whistle",
    "stars": "planet telescope comet orbit galaxy moon eclipse astronomer crater nebula satellite observatory sky",
    "law": "court judge contract witness verdict lawyer treaty appeal evidence parliament clause justice charter",
    "medicine": "doctor nurse fever vaccine surgeon hospital patient remedy bone muscle pulse clinic symptom diet cure",
    "mathematics": "theorem proof prime matrix graph integral lemma circle vector axiom number logic set angle",
    "animals": "fox owl badger heron wolf otter beetle falcon deer hare bear salmon lizard swan nest burrow herd",
    "weather": "cloud thunder frost wind drizzle fog rainbow hail barometer season drought breeze flood sunshine ice",
    "castle": "tower knight moat king siege throne sword banner gate dungeon queen shield feast crown herald wall",
    "printing": "book paper ink press page author library margin editor chapter index letter volume title shelf",
    "computing": "compiler network memory server kernel packet algorithm disk program cache terminal database protocol",
    "market": "merchant price coin stall trade bargain silk guild ledger scale customer profit barrel loan shop wage",
}
_ADJECTIVES = (
    "old quiet bright heavy famous narrow early modern broken gentle distant careful northern common rare deep"
)
_VERBS = "carries shows follows needs brings explains replaces resembles protects describes completes changes"
_PATTERNS = (
    "The {adjective} {a} {verb} the {b} and the {c} of the {d}. ",
    "Many people think that a {a} {verb} every {adjective} {b} in the {c}. ",
    "When the {a} is {adjective}, the {b} {verb} a {c} near the {d}. ",
    "There was once a {a} with a {adjective} {b}, and it still {verb} the {c}. ",
    "No {a} without a {b}: the {adjective} {c} {verb} both of them. ",
    "This {a} is more {adjective} than the {b} which {verb} the {c} and the {d}. ",
)
MEAN_PAIR_BYTES = 146

TOPICS = tuple(_NOUNS)


@cache
def _words(topic: int) -> list[str]:
    return _NOUNS[TOPICS[topic]].split()


@cache
def _pairs(topic: int) -> list[str]:
    rng = random.Random(topic)
    nouns, adjectives, verbs = _words(topic), _ADJECTIVES.split(), _VERBS.split()
    sentences = []
    for _ in range(2 * _PAIRS_PER_TOPIC):
        a, b, c, d = rng.sample(nouns, 4)
        adjective, verb = rng.choice(adjectives), rng.choice(verbs)
        sentences.append(rng.choice(_PATTERNS).format(a=a, b=b, c=c, d=d, adjective=adjective, verb=verb))
    return [first + second for first, second in zip(sentences[::2], sentences[1::2], strict=True)]


def title(topic: int, page: int) -> str:
    """Return a title: two words of the topic, and the number of the page.

    >>> title(0, 12)
    'Tide and harbour 12'
    """
    words = _words(topic)
    first = page * 7 % len(words)
    second = (first + 1 + page % (len(words) - 1)) % len(words)  # a different word
    return f"{words[first].capitalize()} and {words[second]} {page}"


def text(topic: int, page: int, n_bytes: int) -> str:
    """Return about `n_bytes` of prose, at least two sentences; deterministic."""
    n_pairs = max(1, n_bytes // MEAN_PAIR_BYTES)
    return "".join(random.Random(page).choices(_pairs(topic), k=n_pairs))
