"""Page hooks: user-defined Python functions that are called for each page and may add links, fields and tags.

`hook_page` is their argument, `hook_names` loads them, `checking` validates their return values, and `page_hooks` runs
them: an error in a hook is reported, and no page is lost.
"""
