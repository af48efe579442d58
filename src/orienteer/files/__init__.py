"""Files that are written as a whole, and compressed files."""
