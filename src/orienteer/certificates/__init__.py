"""A certificate one can share: what a crawl has covered, on one page, and whether that is so."""
