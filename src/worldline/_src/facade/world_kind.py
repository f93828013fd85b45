# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments that must be objects of a World: what else is given is refused by name."""

from __future__ import annotations

from worldline._src.errors import require_kind


def require_world(given: object, where: str) -> None:
    """Refuse anything but a World."""
    # modules of the World import this one
    from worldline._src.facade.world import World

    require_kind(given, World, "world", where)


def require_multibody(given: object, where: str) -> None:
    """Refuse anything but a Multibody."""
    from worldline._src.facade.multibody import Multibody

    require_kind(given, Multibody, "multibody", where)
