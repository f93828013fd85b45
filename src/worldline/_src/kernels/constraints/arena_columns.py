# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: addresses, counters and options of the constraint stages."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import COUNTERS, LINKS, OPTIONS, PROGRAM
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, integers


class ArenaColumns(Columns):
    """Addresses, counters and options of the constraint stages."""

    option: Numbers = constant(OPTIONS, doc="See above.")
    link: Integers = integers(LINKS, doc="Addresses of the other arenas.")
    counter: Integers = integers(COUNTERS, doc="See above.")
    program: Integers = integers(PROGRAM, doc="Addresses of stages.")


class LinkView(NamedTuple):
    """Addresses, counters and options."""

    link: Integers
    counter: Integers
    option: Numbers
    own_option: Numbers


class ProgramView(NamedTuple):
    """Stages called by address."""

    program: Integers
    counter: Integers
