"""The known and unfetched pages, and when their hosts may be requested."""
