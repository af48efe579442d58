"""Speed and memory, each compared with its peers in the same run. `python -m benchmarks --help` says how."""
