# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compile every kernel once, before the workers start, and let them share the cache."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config):
    os.environ.setdefault("WORLDLINE_QUIET", "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # started in the background of a shell: tests of Ctrl-C, and the programs they start, need the signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    if os.environ.get("WORLDLINE_TEST_WARMUP") == "0":
        # for a few tests while kernels are being edited: each test compiles what it needs
        return
    from worldline._src.cli.warmup import warm
    from worldline._src.jit import DISABLED
    from worldline._src.kernel_cache import SOURCES, cache_folder

    text = "".join(path.read_text() for path in sorted(SOURCES.root.rglob("*.py")))
    done = cache_folder() / f"warm-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if not DISABLED and not done.exists():
        warm()
        done.touch()


def pytest_terminal_summary(terminalreporter):
    """Say in one line that the page was not tested: a skipped test is but a letter among thousands."""
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    count = sum("no Chromium" in reason for reason in reasons)
    if count:
        terminalreporter.write_line(
            f"NO BROWSER: {count} tests of the page were skipped; install Chromium (Debian's package chromium), "
            "or name one in WORLDLINE_BROWSER",
            yellow=True,
        )
