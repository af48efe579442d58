"""Full-text search in a crawl folder: `search_index` answers queries, `indexing` builds the index."""
