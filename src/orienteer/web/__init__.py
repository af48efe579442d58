"""The pages in the browser and their JSON API: one crawl, or a library of crawls."""
