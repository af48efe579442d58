"""Orienteer: where to start a crawl, what to fetch next, when to stop, and what the pages are worth.

    crawl = ori.crawl("https://example.org/", until=0.98)
    crawl.search("opening hours")
    ori.open("example.org-crawl").export("jsonl", "pages.jsonl")

The functions on graphs are in `orienteer.graph`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from orienteer.public_names import PublicPackage

if TYPE_CHECKING:  # the public names: see orienteer.public_names
    from orienteer.crawl.simulate import simulate as simulate
    from orienteer.errors import InputError as InputError
    from orienteer.errors import OrienteerError as OrienteerError
    from orienteer.exports.saved_pages import SavedPage as SavedPage
    from orienteer.graph.link_graph import LinkGraph as LinkGraph
    from orienteer.graph.pagerank import pagerank as pagerank
    from orienteer.hooks import HookPage as HookPage
    from orienteer.imports.import_crawl import import_crawl as import_crawl
    from orienteer.pages.added import Added as Added
    from orienteer.saved_crawl import SavedCrawl as SavedCrawl
    from orienteer.saved_crawl import crawl as crawl
    from orienteer.saved_crawl import crawl_async as crawl_async
    from orienteer.saved_crawl import open as open
    from orienteer.seeds.select import select_seeds as select_seeds

__version__ = "0.2.0"

sys.modules[__name__].__class__ = PublicPackage
