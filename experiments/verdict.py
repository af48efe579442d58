"""Verdicts on a claim: it holds, it holds in shape (the direction is right, the size is not), or it does not hold."""

from __future__ import annotations

HOLDS, IN_SHAPE, FAILS = "holds", "holds in shape", "does not hold"
VERDICTS = (HOLDS, IN_SHAPE, FAILS)
