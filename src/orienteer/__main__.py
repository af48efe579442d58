"""`python -m orienteer` is the command `orienteer`."""

from orienteer.cli.main import run

run()
