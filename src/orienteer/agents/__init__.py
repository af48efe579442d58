"""Crawls for agents, by the Model Context Protocol: search, read pages, follow links, see what is covered.

Everything is read, nothing is written or fetched. What pages say was written by strangers: every answer that holds such
text says so, in a field and between marks that no page can know.
"""
