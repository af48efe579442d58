"""Fetch pages from the web. Only this package opens sockets."""
