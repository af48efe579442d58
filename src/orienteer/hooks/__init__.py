"""Page hooks: your own Python for each page of a crawl. A hook may add links, fields and tags to the page.

`hook_page` is what a hook is given, `hook_names` says where hooks come from, `checking` what they may return, and
`page_hooks` runs them: a hook that fails is reported, and no page is lost.
"""
