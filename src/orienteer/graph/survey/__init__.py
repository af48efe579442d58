"""How much of what a surfer sees has been fetched, measured by random walks."""
