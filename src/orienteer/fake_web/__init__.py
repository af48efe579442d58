"""Fake webs on loopback, for the demo, tests and benchmarks: one port, any number of hosts."""
