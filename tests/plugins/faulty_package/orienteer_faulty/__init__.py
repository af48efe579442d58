"""Plug-ins with everything that can be wrong with one."""
