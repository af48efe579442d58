"""The crawlers that are measured side by side, one module each: `prepare(task, ...)` returns the crawl to be measured."""
