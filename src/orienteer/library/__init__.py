"""A library: a folder of crawls, and the commands that are run on them from a browser or a schedule.

library = Library(default_library())
jobs = Jobs(library)
job = jobs.start("crawl", library.name_for("https://example.org/"), {"url": "https://example.org/", "until": 0.98})
jobs.get(job.id).state          # "running", in every process that opens the library
"""
