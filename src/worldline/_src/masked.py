# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Masked arrays, recognised without importing the module that makes them, which takes tens of milliseconds.

None exists before that module is imported.
"""

from __future__ import annotations

import sys
from typing import Any


def is_masked_array(value: Any) -> bool:
    """Whether a value is a masked array."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def has_masked_entries(value: Any) -> bool:
    """Whether a value is a masked array with masked entries, whose data must not count."""
    return is_masked_array(value) and sys.modules["numpy.ma"].is_masked(value)
