"""What is wrong with a site that was crawled, told to who owns it."""
