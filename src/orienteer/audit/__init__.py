"""Surveys: measure how complete a crawl is, and where it has gaps, by fetching a few hundred pages outside of it."""
