"""Export formats of crawls, registered by name.

A new format is a module with a class decorated with `@exporter`; it then appears in the command and in the contract
tests of all formats.
"""

from __future__ import annotations

from typing import Any

from orienteer.exports.exporter import EXPORTERS, Exporter

__all__ = ["all_exporters", "make_exporter"]


def all_exporters() -> dict[str, type[Exporter]]:
    """Return all formats by name, those of plugins included."""
    return EXPORTERS.all()


def make_exporter(name: str, **settings: Any) -> Exporter:
    """Return the format with this name; a wrong name or setting is a one-line error.

    >>> make_exporter("sitemap", base="http://example.org/").suffixes
    ('.xml',)
    """
    return EXPORTERS.make(name, settings)
