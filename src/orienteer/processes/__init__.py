"""Processes beside this one: how they are started, and how they end."""
