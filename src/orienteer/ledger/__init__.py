"""What has happened to each page, durably: the crawl and its folder in step."""
