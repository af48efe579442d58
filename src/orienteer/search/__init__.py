"""Full-text search in a crawl folder: `search_index` answers queries, `indexing` builds the index."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from orienteer.public_names import PublicPackage

if TYPE_CHECKING:  # the public names: see orienteer.public_names
    from orienteer.search.finding import Hit as Hit
    from orienteer.search.indexing import IndexReport as IndexReport
    from orienteer.search.indexing import update_index as update_index
    from orienteer.search.search_index import SearchIndex as SearchIndex
    from orienteer.search.search_index import SearchResults as SearchResults

sys.modules[__name__].__class__ = PublicPackage
