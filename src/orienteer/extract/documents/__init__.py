"""Documents that are no HTML: PDF, Office, EPUB, feeds. Read in a process with limits."""
