"""Render pages in a browser without a network: its owner fulfills every request that pages make."""
