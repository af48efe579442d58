"""Archived pages as they looked, on an origin of their own."""
