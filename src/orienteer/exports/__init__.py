"""What others make of a crawl: one file is one format of export, found by its name.

A new format is a new file with a class that is marked `@exporter`; it then appears in the command and in the tests that
hold all formats to the same promises.
"""

from __future__ import annotations

from typing import Any

from orienteer.exports.exporter import EXPORTERS, Exporter

__all__ = ["all_exporters", "make_exporter"]


def all_exporters() -> dict[str, type[Exporter]]:
    """Every format by its name, those of other packages too."""
    return EXPORTERS.all()


def make_exporter(name: str, **settings: Any) -> Exporter:
    """The format of this name; a wrong name or setting is one clear line.

    >>> make_exporter("sitemap", base="http://example.org/").suffixes
    ('.xml',)
    """
    return EXPORTERS.make(name, settings)
