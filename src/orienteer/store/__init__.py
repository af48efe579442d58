"""The files of a crawl: the archive of its responses, and the database with everything known about its pages."""
