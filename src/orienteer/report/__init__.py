"""Site reports: the faults of a crawled site, for its owner."""
