"""It ends the program."""

raise SystemExit("not supported on this machine")
