"""Repair of damaged crawl folders: intact data is kept, lost pages are fetched again."""
