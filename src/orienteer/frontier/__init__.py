"""The known and unfetched pages, and whose turn it is."""
