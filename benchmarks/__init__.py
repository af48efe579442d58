"""Speed and memory, each beside its peers in the same run. `python -m benchmarks --help` says how."""
