"""Imported by a process that has the package already: it also finds what a clone has more, and what is installed later.

The clone, and the folder in which packages are installed, are on the path.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from orienteer import registry
from orienteer.policies.policy import POLICIES
from tests.ready_process import NOT_READY

for _name, _module in list(sys.modules.items()):
    if _name.partition(".")[0] == "orienteer" and hasattr(_module, "__path__"):
        _folders = [str(Path(place, *_name.split("."))) for place in sys.path]
        _module.__path__ += [folder for folder in _folders if Path(folder).is_dir() and folder not in _module.__path__]
POLICIES._is_own_imported = False
registry._all_entry_points.cache_clear()
os.environ[NOT_READY] = "1"  # for the tests of a policy
