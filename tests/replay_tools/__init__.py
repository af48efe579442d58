"""Archives replayed by pywb and ReplayWeb.page in a real browser."""
