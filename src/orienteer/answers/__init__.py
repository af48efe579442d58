"""What came back from the web, and what it means. No network."""
