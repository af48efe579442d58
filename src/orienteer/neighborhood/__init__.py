"""Estimate the global rank of a crawl's pages by fetching its neighborhood."""
