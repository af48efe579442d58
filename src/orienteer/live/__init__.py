"""A crawl over the network, from opening its folder to its report."""
