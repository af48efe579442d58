"""Credentials for hosts that require authentication, and login sessions."""
