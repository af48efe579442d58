"""Fake webs on loopback, for tests, benchmarks and the demo: one port, any number of hosts, benign or hostile."""
