"""Crawls of pages outside a crawl, to measure something about it.

`survey` measures how complete a crawl is, and where it has gaps. `estimate` estimates the global rank of its pages.
Both are `side_crawl`s.
"""
