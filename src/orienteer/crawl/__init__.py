"""The crawl: one state machine, its frontier, the hosts it may request, and what drives it."""
