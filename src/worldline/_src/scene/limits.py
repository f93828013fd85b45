# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How large a scene and its files may be.

A file of a few bytes can promise gigabytes, and a list of empty objects becomes some hundred times larger
in memory. These bounds are far above real robots and keep a bad file from taking the machine with it.
"""

from __future__ import annotations

from worldline._src.named_tuple import NamedTuple


class Limits(NamedTuple):
    """Bounds on a scene and on the file it is read from.

    Attributes:
        file_bytes: Size of a scene file that is opened at all, bytes.
        link_depth: Links from a base link down to the deepest leaf.
        elements: Entries of all lists and tables of a scene together (links, geoms, sensors ...).
        numbers: Numbers of all lists of a scene together, besides meshes and height fields.
        problems: Problems collected before giving up.
    """

    file_bytes: int = 512 * 2**20
    link_depth: int = 1024
    elements: int = 100_000
    numbers: int = 2_000_000
    problems: int = 100


LIMITS = Limits()
