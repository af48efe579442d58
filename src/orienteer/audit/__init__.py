"""How complete is anybody's crawl, and where is what it lacks? Fetches a few hundred pages outside to find out."""
