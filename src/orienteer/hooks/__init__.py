"""User-defined Python functions that are called for each page."""
