"""Access: what a crawl may show to hosts that ask who it is, and what becomes of a session."""
