"""What are the pages of a crawl worth in the whole web? Fetches around it to find out."""
