"""Topics: models of what makes a page relevant. Each kind of topic is one file, and is registered by name.

A new kind is a new file with a class that has the decorator `@topic`. It can then be named in topic files, and the
contract tests cover it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from orienteer.public_names import PublicPackage
from orienteer.registry import settings_of as settings_of
from orienteer.topics.topic import TOPICS

if TYPE_CHECKING:  # the public names: see orienteer.public_names
    from orienteer.topics.topic import EstimatorTopic as EstimatorTopic
    from orienteer.topics.topic import PageContent as PageContent
    from orienteer.topics.topic import Topic as Topic
    from orienteer.topics.topic_file import load_topic as load_topic

sys.modules[__name__].__class__ = PublicPackage


def all_topics() -> dict[str, type[Topic]]:
    """Return all kinds of topics by name, including those of plugins."""
    return TOPICS.all()


def make_topic(name: str, **settings: Any) -> Topic:
    """Create a topic of this kind; InputError for a wrong name or setting.

    >>> make_topic("keywords", words=["type theory"]).name
    'keywords'
    """
    return TOPICS.make(name, settings)
