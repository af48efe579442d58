"""The crawlers that are measured side by side, a module each: `prepare(task, ...)` returns the crawl to be measured."""
