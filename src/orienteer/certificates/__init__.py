"""Certificates to share: the coverage of a crawl on one printable page, and its verification."""
