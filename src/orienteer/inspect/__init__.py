"""Inspection of crawl folders: status, explanations, verification, replay, archived pages."""
