"""Surveys: the coverage of fetched pages, measured by random walks.

Assumption: a page's response does not depend on the time, the order or the purpose of its request.
"""
