# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compile every kernel once, before the workers start, and let them share the cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config):
    os.environ.setdefault("WORLDLINE_QUIET", "1")
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    from worldline._src.cli.warmup import warm
    from worldline._src.jit import DISABLED, cache_folder

    done = cache_folder() / "warm"
    if not DISABLED and not done.exists():
        warm()
        done.touch()
