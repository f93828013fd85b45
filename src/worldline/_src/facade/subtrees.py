# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Subtrees: the links of a multibody below a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worldline._src.facade.link import Link
    from worldline._src.facade.multibody import Multibody


def subtree(owner: Multibody, top: Link) -> list[Link]:
    """A link and all that hangs on it, parents first."""
    children: dict[int, list[Link]] = {}
    for link in owner._links.values():
        children.setdefault(id(link._parent), []).append(link)
    found = [top]
    for link in found:
        found.extend(children.get(id(link), ()))
    return found
