"""What does a person see in the browser? See ARCHITECTURE.md."""
