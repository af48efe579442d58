"""Imports of archives, URL lists and graphs from other programs, as a crawl folder or a graph."""
