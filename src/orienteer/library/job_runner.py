"""The process beside a job: `python -P -m orienteer.library.job_runner`."""
