"""The best that can be made of a damaged crawl folder: what is whole stays, what is lost is fetched again."""
