"""A browser without a network: it shows pages, and whoever owns it answers every request that they make."""
