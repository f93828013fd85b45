# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Optional packages of the learning environments."""

from __future__ import annotations

import importlib.util

from worldline._src.errors import CapabilityError


def require(package: str, what: str, extra: str) -> None:
    """Refuse, by name, what needs a package that is not installed."""
    if importlib.util.find_spec(package) is None:
        raise CapabilityError(
            f"{what} need the package '{package}', which is not installed; pip install 'worldline[{extra}]'"
        )
