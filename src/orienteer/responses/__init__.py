"""HTTP responses and their verdicts. No network."""
