"""Crawled webs with a topic, to compare and to train policies."""
