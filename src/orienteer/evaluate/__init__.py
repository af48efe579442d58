"""Evaluation of policies and seeds on graphs with known truth: coverage, proofs and cost."""
