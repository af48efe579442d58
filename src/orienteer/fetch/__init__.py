"""Pages from the web: the only code that opens sockets."""
