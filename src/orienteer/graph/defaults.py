"""Defaults shared by the command line, Python and the policies. The module imports nothing, to keep `--help` fast."""

DAMPING = 0.85  # the probability that a surfer follows a link
POLICY = "certified"
N_TRUSTED = (
    160  # a simulated crawl without explicit trust trusts this many pages of the highest PageRank, as the papers
)
