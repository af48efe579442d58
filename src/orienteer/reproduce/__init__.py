"""The papers, reproduced: each claim, what was published, what a run here finds, and a verdict."""
