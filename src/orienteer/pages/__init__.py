"""What can become of a page: states, outcomes, reasons."""
