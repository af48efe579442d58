"""Workers fetch pages and read them: one in the process of the crawl, several beside it, many on other machines."""
