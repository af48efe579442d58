"""Archived pages, served on a second origin."""
