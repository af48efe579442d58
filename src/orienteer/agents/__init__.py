"""Crawls for agents, by the Model Context Protocol: search, read pages, follow links, inspect the coverage.

All tools are read-only: nothing is written or fetched. The text of pages is untrusted: every result that contains such
text has a field that says so, and encloses it in markers with a random key, which pages cannot forge.
"""
