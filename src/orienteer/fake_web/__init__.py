"""Quillhaven: the fictional web of a small town, and external sites that write about it."""
