# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Trees that each constraint of a model touches, and the pairs of trees that it couples.

A constraint makes its rows with the first of its trees whose motion is not prescribed, so that the order
depends on what is prescribed and is made again when that changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from worldline._src.kernels.constraints.tables import ConstraintColumns


def order_rows(column: ConstraintColumns, touched: Mapping[str, Sequence[Sequence[int]]]) -> None:
    """Sort constraints by the tree that makes their rows, from what is prescribed now."""
    prescribed, count = column.tree_prescribed, len(column.tree_prescribed)
    for name, trees in touched.items():
        owner = np.array([next((x for x in some if not prescribed[x]), count) for some in trees], np.int64)
        order = np.argsort(owner, kind="stable")
        column[f"{name}_order"][:] = order
        column[f"tree_{name}"][:] = np.searchsorted(owner[order], np.arange(count + 1))
