"""The papers, reproduced: each claim, what was published, what a run here finds, and a verdict.

`python -m experiments PAPER`, from the checkout; it is no part of the installed package.
"""
