"""What makes a page relevant: one file is one kind of topic, found by its name.

A new kind is a new file with a class that is marked `@topic`; it then can be named in topic files, and the contract
tests hold it to the promises of all topics.
"""

from __future__ import annotations

from typing import Any

from orienteer.registry import settings_of
from orienteer.topics.topic import TOPICS, Topic

__all__ = ["all_topics", "make_topic", "settings_of"]


def all_topics() -> dict[str, type[Topic]]:
    """Every kind of topic by its name, those of other packages too."""
    return TOPICS.all()


def make_topic(name: str, **settings: Any) -> Topic:
    """The topic of this kind; a wrong name or setting is one clear line.

    >>> make_topic("keywords", words=["type theory"]).name
    'keywords'
    """
    return TOPICS.make(name, settings)
