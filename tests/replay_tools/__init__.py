"""Archives in the hands of the programs that people open them with: pywb and ReplayWeb.page, in a real browser."""
