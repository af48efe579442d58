"""Topics: models of what makes a page relevant. Each kind of topic is one file, and is registered by name.

A new kind is a new file with a class that has the decorator `@topic`. It can then be named in topic files, and the
contract tests cover it.
"""

from __future__ import annotations

from typing import Any

from orienteer.registry import settings_of
from orienteer.topics.topic import TOPICS, Topic

__all__ = ["all_topics", "make_topic", "settings_of"]


def all_topics() -> dict[str, type[Topic]]:
    """Return all kinds of topics by name, including those of plugins."""
    return TOPICS.all()


def make_topic(name: str, **settings: Any) -> Topic:
    """Create a topic of this kind; InputError for a wrong name or setting.

    >>> make_topic("keywords", words=["type theory"]).name
    'keywords'
    """
    return TOPICS.make(name, settings)
