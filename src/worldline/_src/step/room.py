# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Capacity of the arrays of a step that grow when a step finds more than they hold."""

from __future__ import annotations

from worldline._src.named_tuple import NamedTuple


class Room(NamedTuple):
    """How much the arrays of a step are at least laid out for; see `Constraints.make_room`."""

    contacts: int = 0
    pairs: int = 0
    """Candidate pairs of shapes."""
    jacobian: int = 0
    """Elements of the Jacobian of an island."""
    square: int = 0
    """Elements of a matrix of an island."""
    blocks: int = 0
    """Blocks of two nodes of an island that is solved by rows of two trees."""
