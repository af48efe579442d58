"""Topics on webs that were crawled: to compare policies, and to train them."""
