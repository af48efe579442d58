"""Atomic, durable, private, signed and compressed files."""
