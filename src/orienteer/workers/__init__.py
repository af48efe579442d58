"""Workers fetch and parse pages: in the process of the crawl, in child processes, or on other machines."""
