# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Programs in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys


def output_of(code: str) -> str:
    """What a program prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def loaded_by(code: str, modules: str) -> list[str]:
    """Those of the named modules that a program has loaded at its end."""
    return sorted(
        output_of(f"{code}\nimport sys\nprint(*set({modules.split()!r}) & set(sys.modules))").split()
    )
