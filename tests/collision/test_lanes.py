# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The families that run in lanes: four or eight worlds at once have the bits of each world alone."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.collision.arenas import Arenas, BodyRow, ShapeRow, pose12
from worldline._src.collision.run import run_stages
from worldline._src.jit import DISABLED, entry
from worldline._src.kernels.broadphase.aabb import shape_poses
from worldline._src.kernels.narrowphase.dispatch import narrow_flat, narrow_round, narrow_sort
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS, narrow_fixed
from worldline._src.kernels.narrowphase.tables import CONTACTS, ENTRY, MODE, PAIRS
from worldline._src.scalar.lanes import LANES4, LANES8
from worldline._src.scalar.memory import call_stage, pointer, pointer_as
from worldline.collision import CollisionShape

pytestmark = pytest.mark.skipif(DISABLED, reason="lanes need the compiler")

MARGIN = 0.05
SHAPES = (
    CollisionShape.plane((0.1, -0.2, 1.0), 0.05),
    CollisionShape.sphere(0.4),
    CollisionShape.capsule(0.2, 0.5),
    CollisionShape.box((0.3, 0.4, 0.5)),
    CollisionShape.sphere(0.3),
    CollisionShape.capsule(0.25, 0.3),
    CollisionShape.capsule(0.1, 0.6),
)
WORLDS = 8


@entry
def run4(address, m, c, args, d):
    call_stage(address, pointer(m), pointer(c), pointer(args), pointer_as(d, LANES4))


@entry
def run8(address, m, c, args, d):
    call_stage(address, pointer(m), pointer(c), pointer(args), pointer_as(d, LANES8))


def world(poses):
    """Tables with all pairs of the shapes, placed."""
    n = len(SHAPES)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if not (i == 3 or (j == 3 and i != 0))]
    arenas = Arenas(
        [ShapeRow(s, k, MARGIN) for k, s in enumerate(SHAPES)],
        [BodyRow()] * n,
        fixed_contacts=PAIR_CONTACTS * len(pairs),
    )
    arenas.column["body_X_W"][:] = [pose12(pose) for pose in poses]
    arenas.column["pair"][: len(pairs)] = pairs
    arenas.column["counter"][PAIRS] = len(pairs)
    run_stages((shape_poses,), arenas.m, arenas.c, arenas.args, arenas.d)
    return arenas, len(pairs)


def random_poses(rng):
    n = len(SHAPES)
    q = rng.normal(size=(n, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    # degenerate ones too: aligned axes, one centre
    q[rng.random(n) < 0.3] = (0.0, 0.0, 0.0, 1.0)
    p = 0.4 * rng.normal(size=(n, 3))
    p[rng.random(n) < 0.2] = 0.0
    return np.hstack([p, q])


@pytest.mark.parametrize(("scalar", "run"), [(LANES4, run4), (LANES8, run8)], ids=["4", "8"])
def test_lanes_have_the_bits_of_one_world(scalar, run):
    rng = np.random.default_rng(4)
    width = scalar.doubles
    for _ in range(20):
        made = [world(random_poses(rng)) for _ in range(width)]
        alone = []
        for arenas, count in made:
            run_stages((narrow_fixed,), arenas.m, arenas.c, arenas.args, arenas.d)
            alone.append(arenas.column["fixed_contact"][: PAIR_CONTACTS * count].copy())
        arenas, count = made[0]
        packed = np.stack([a.d for a, _ in made], axis=1).reshape(-1)
        # vector loads want whole vectors on their boundary
        block = np.zeros(len(packed) + 8)
        start = (-block.ctypes.data % 64) // 8
        data = block[start : start + len(packed)]
        data[:] = packed
        fixed_contacts = int(arenas.m[ENTRY["fixed_contact"]])
        data.reshape(-1, width)[fixed_contacts : fixed_contacts + 8 * PAIR_CONTACTS * count] = np.nan
        run(narrow_fixed.address(scalar), arenas.m, arenas.c, arenas.args, data)
        for lane in range(width):
            got = data.reshape(-1, width)[
                fixed_contacts : fixed_contacts + 8 * PAIR_CONTACTS * count, lane
            ].reshape(-1, 8)
            # a row without a contact is one in both, wherever the other worlds made it look closer
            touching = alone[lane][:, 6] >= -MARGIN
            assert np.array_equal(got[touching], alone[lane][touching])
            assert (got[~touching, 6] < -MARGIN).all()


def test_slots_hold_the_contacts_of_the_lists():
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(50):
        arenas, count = world(random_poses(rng))
        column = arenas.column
        column["counter"][MODE] = 0
        stages = (narrow_sort, narrow_round, narrow_flat, narrow_fixed)
        run_stages(stages, arenas.m, arenas.c, arenas.args, arenas.d)
        found = column["counter"][CONTACTS]
        ids, rows = column["contact_id"][:found], column["contact"][:found]
        for q in range(count):
            fixed_contacts = column["fixed_contact"][PAIR_CONTACTS * q : PAIR_CONTACTS * q + PAIR_CONTACTS]
            active = fixed_contacts[fixed_contacts[:, 6] >= -0.1]
            listed = rows[ids[:, 5] == q]
            assert len(active) == len(listed)
            assert np.allclose(active[:, :7], listed, rtol=0, atol=1e-13)
            assert active[:, 7].tolist() == ids[ids[:, 5] == q, 4].tolist()
            seen += len(active)
    assert seen > 300
