"""The crawl: one state machine, and what drives it."""
