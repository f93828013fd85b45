# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Solvers that several stages share, called through their address.

Merged into every stage that needs them, GJK, EPA and the manifold would be compiled many times over. Each is
a stage of its own instead: a caller puts the problem into the work space, calls the link, and reads the
outcome there. Addresses are the first numbers of the args arena.
"""

from __future__ import annotations

from worldline._src.jit import DISABLED, Stage, inline
from worldline._src.kernels.narrowphase.support import Convex
from worldline._src.kernels.narrowphase.values import Closest
from worldline._src.scalar.memory import call_stage
from worldline._src.spatial.rotation import Mat3
from worldline._src.spatial.vec3 import Vec3, load_three, store_three

GJK_LINK, EPA_LINK, MANIFOLD_LINK, CURVED_LINK = range(4)
LINKED: dict[int, Stage] = {}
"""The stage of every link; filled where the stages are defined."""

# the problem: two convex shapes, the pose of the second in the first, a bound, rows of geom,
# a normal, tolerances
_A, _B, _R, _P, _LIMIT, _ROWS, _NORMAL, _TOLERANCE = 5600, 5608, 5616, 5625, 5628, 5629, 5631, 5634
# the outcome: status or count, points of the simplex, extent; distance, normal, points
_STATUS, _POINTS, _EXTENT, _FOUND = 5640, 5641, 5642, 5643
# an axis that separated the pair before, and such axes by pair: key, axis
_AXIS, _AXES, AXIS_ROWS = 5656, 5664, 64


def _call_python(k, m, c, args, d):
    LINKED[k](m, c, args, d)


@inline
def _call_compiled(k, m, c, args, d):
    call_stage(args[k], m, c, args, d)


call_link = _call_python if DISABLED else _call_compiled
"""call_link(k, m, c, args, d): run link `k`."""


@inline
def _put_convex(work, at, shape):
    work[at] = shape.kind
    store_three(work, at + 1, shape.size)
    work[at + 4] = shape.radius
    work[at + 5] = shape.first
    work[at + 6] = shape.count
    work[at + 7] = shape.row


@inline
def _load_convex(work, at):
    first, count, row = int(work[at + 5]), int(work[at + 6]), int(work[at + 7])
    return Convex(int(work[at]), load_three(work, at + 1), work[at + 4], first, count, row)


@inline
def put_problem(work, A, B, R, p, row_a, row_b):
    """Two convex shapes with their rows of geom; R and p are the pose of B in A."""
    _put_convex(work, _A, A)
    _put_convex(work, _B, B)
    store_three(work, _R, Vec3(R.xx, R.xy, R.xz))
    store_three(work, _R + 3, Vec3(R.yx, R.yy, R.yz))
    store_three(work, _R + 6, Vec3(R.zx, R.zy, R.zz))
    store_three(work, _P, p)
    work[_ROWS] = row_a
    work[_ROWS + 1] = row_b


@inline
def put_position(work, p):
    """Move B of the problem."""
    store_three(work, _P, p)


@inline
def load_problem(work):
    """A, B, R, p as they were put."""
    r = _R
    R = Mat3(
        *(work[r], work[r + 1], work[r + 2]),
        *(work[r + 3], work[r + 4], work[r + 5]),
        *(work[r + 6], work[r + 7], work[r + 8]),
    )
    return _load_convex(work, _A), _load_convex(work, _B), R, load_three(work, _P)


@inline
def load_rows(work):
    """Rows of geom of both shapes."""
    return int(work[_ROWS]), int(work[_ROWS + 1])


@inline
def put_limit(work, limit):
    """The distance beyond which nobody asks."""
    work[_LIMIT] = limit


@inline
def load_limit(work):
    return work[_LIMIT]


@inline
def put_tolerances(work, distance, depth):
    """Where searches end: GJK's gap over the distance, EPA's gap over the extent of A - B."""
    work[_TOLERANCE] = distance
    work[_TOLERANCE + 1] = depth


@inline
def load_distance_tolerance(work):
    return work[_TOLERANCE]


@inline
def load_depth_tolerance(work):
    return work[_TOLERANCE + 1]


@inline
def put_normal(work, n):
    """The contact normal a manifold is wanted for."""
    store_three(work, _NORMAL, n)


@inline
def load_normal(work):
    return load_three(work, _NORMAL)


@inline
def _axis_row(count, a, b):
    """Where the axis of a pair of `count` shapes is kept, and the key that tells the pair."""
    return _AXES + 4 * ((31 * a + b) & (AXIS_ROWS - 1)), 1.0 + a * count + b


@inline
def recall_axis(work, count, a, b):
    """Let GJK begin with the axis that separated shapes `a` and `b` of `count`, if it is kept.

    Any axis that separates two shapes proves that they do not touch, so results do not depend on what is
    kept: a pair whose place another one took is searched as if it were new.
    """
    row, key = _axis_row(count, a, b)
    none = Vec3(0.0, 0.0, 0.0)
    store_three(work, _AXIS, load_three(work, row + 1) if work[row] == key else none)


@inline
def keep_axis(work, count, a, b, n):
    """Keep the axis that separates shapes `a` and `b`, in the frame of the first."""
    row, key = _axis_row(count, a, b)
    work[row] = key
    store_three(work, row + 1, n)


@inline
def take_axis(work):
    """The axis to begin with, once; zero for none."""
    n = load_three(work, _AXIS)
    store_three(work, _AXIS, Vec3(0.0, 0.0, 0.0))
    return n


@inline
def put_status(work, status, points, extent):
    """How GJK ended; or the number of contacts of a manifold, alone."""
    work[_STATUS] = status
    work[_POINTS] = points
    work[_EXTENT] = extent


@inline
def load_status(work):
    return int(work[_STATUS]), int(work[_POINTS]), work[_EXTENT]


@inline
def put_found(work, found):
    """Closest points, or the deepest, in A's frame."""
    work[_FOUND] = found.distance
    store_three(work, _FOUND + 1, found.normal)
    store_three(work, _FOUND + 4, found.point_a)
    store_three(work, _FOUND + 7, found.point_b)


@inline
def load_found(work):
    return Closest(
        work[_FOUND], load_three(work, _FOUND + 1), load_three(work, _FOUND + 4), load_three(work, _FOUND + 7)
    )
