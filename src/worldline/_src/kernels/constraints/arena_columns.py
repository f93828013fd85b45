# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: addresses, counters and options of the constraint stages."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import COUNTERS, LINKS, OPTIONS, PROGRAM
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, integers


class LinkView(Columns):
    """Addresses, counters and options."""

    option: Numbers = constant(OPTIONS, doc="See above.")
    link: Integers = integers(LINKS, doc="Addresses of the other arenas.")
    counter: Integers = integers(COUNTERS, doc="See above.")
    own_option: Numbers


class ProgramView(Columns):
    """Stages called by address."""

    program: Integers = integers(PROGRAM, doc="Addresses of stages.")
    counter: Integers


class ArenaColumns(LinkView, ProgramView):
    """Addresses, counters and options of the constraint stages."""
