"""What others have crawled or listed, taken in as a crawl folder or a graph."""
