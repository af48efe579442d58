"""Quillhaven: a small town on the web, made up from first to last, and those who write about it from elsewhere."""
