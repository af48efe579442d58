"""The pages in the browser: one file is one page, with its JSON API."""
