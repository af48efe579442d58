"""The generated webs that benchmarks run on are those of the experiments."""

from __future__ import annotations

from orienteer.reproduce.webs import web_folder

__all__ = ["web_folder"]
