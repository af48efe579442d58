"""Documents other than HTML: PDF, Office, EPUB, feeds. They are read in a process with limits."""
