"""Search: what does a person find? `search_index` is the way in, `indexing` makes what it reads."""
