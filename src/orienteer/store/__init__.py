"""What a crawl leaves on disk: the pages as they came, and all that is known about them."""
