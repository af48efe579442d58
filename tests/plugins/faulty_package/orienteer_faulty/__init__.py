"""Plug-ins with all possible problems."""
