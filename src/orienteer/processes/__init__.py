"""Child processes: starting, supervising and stopping them."""
