# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Where contact points are defined otherwise than in MuJoCo: what differs, and that the deepest does not.

`docs/coming_from/mujoco.md` lists these.
"""

from __future__ import annotations

import numpy as np
import pytest

from scene_pairs import ScenePair

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")


def touching(first: str, second: str, assets: str = "") -> tuple[list, list]:
    """(depth, point, normal) of every contact: MuJoCo's and ours, normals from the first geom to the second."""
    pair = ScenePair(
        mujoco,
        f"""<mujoco><option gravity="0 0 0"/><asset>{assets}</asset><worldbody>{first}
        <body name="b"><freejoint name="f"/>{second}</body></worldbody></mujoco>""",
    )
    mujoco.mj_forward(pair.m, pair.d)
    theirs = [(-c.dist, c.pos.copy(), c.frame[:3].copy()) for c in pair.d.contact]
    pair.world.step()
    return theirs, [(c.depth, np.array(c.point), np.array(c.normal)) for c in pair.world.contacts]


def deepest(contacts: list) -> float:
    return max(depth for depth, _, _ in contacts)


PLANE = '<geom type="plane" size="1 1 1"/>'


def test_a_standing_cylinder_touches_at_four_points_of_its_rim():
    theirs, ours = touching(PLANE, '<geom type="cylinder" size=".1 .2" pos="0 0 .199"/>')
    assert len(theirs) == 3 and len(ours) == 4
    assert deepest(ours) == pytest.approx(deepest(theirs), abs=1e-14)
    points = np.array([point[:2] for _, point, _ in ours])
    assert np.linalg.norm(points, axis=1) == pytest.approx(0.1, abs=1e-14)
    # they surround the centre evenly: no corner is missing to rock about
    assert np.abs(points.sum(axis=0)).max() < 1e-14


def test_capsules_almost_along_each_other_touch_twice():
    still = '<geom type="capsule" size=".1 .3" euler="0 90 0"/>'
    theirs, ours = touching(still, '<geom type="capsule" size=".1 .3" euler="0 90.05 0" pos="0 0 .19"/>')
    assert len(theirs) == 1 and len(ours) == 2
    assert deepest(ours) == pytest.approx(deepest(theirs), abs=1e-9)
    theirs, ours = touching(still, '<geom type="capsule" size=".1 .3" euler="0 91 0" pos="0 0 .19"/>')
    assert len(theirs) == len(ours) == 1


def test_spheres_with_one_centre_part_along_z():
    theirs, ours = touching('<geom size=".1"/>', '<geom size=".2"/>')
    assert deepest(ours) == deepest(theirs) == pytest.approx(0.3)
    assert np.abs(theirs[0][2]).tolist() == [1.0, 0.0, 0.0]
    assert np.abs(ours[0][2]).tolist() == [0.0, 0.0, 1.0]


def test_a_large_hull_on_a_plane_has_its_lowest_vertex_and_three_that_spread():
    turns = np.linspace(0.0, 2.0 * np.pi, 48, endpoint=False)
    ring = np.column_stack([0.2 * np.cos(turns), 0.15 * np.sin(turns), np.full(48, -0.1)])
    vertices = np.vstack([ring, ring * (0.5, 0.5, -1.0)]).ravel()
    mesh = f'<mesh name="m" vertex="{" ".join(map(repr, vertices.tolist()))}"/>'
    geom = '<geom type="mesh" mesh="m" pos="0 0 .09" euler="3 2 10" mass="1"/>'
    theirs, ours = touching(PLANE, geom, mesh)
    # compiled meshes of MuJoCo have vertices in single precision
    assert deepest(ours) == pytest.approx(deepest(theirs), abs=1e-8)
    assert 3 <= len(ours) <= 4 and all(normal[2] == 1.0 for _, _, normal in ours)
    middle = np.mean([point for _, point, _ in ours], axis=0)
    # points on all sides of the lowest, and none above the plane
    assert max(np.linalg.norm(point - middle) for _, point, _ in ours) > 0.05
    assert min(depth for depth, _, _ in ours) > 0.0


@pytest.mark.parametrize("seed", range(8))
def test_hulls_part_the_shortest_way(seed):
    """How far two hulls must move along a normal to be apart is a support of both: a proof that needs no search."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 24, 3)) * (0.1, 0.15, 0.2)
    a, b = a - a.mean(axis=0), b - b.mean(axis=0) + (0.0, 0.0, 0.05)
    texts = [" ".join(map(repr, cloud.ravel().tolist())) for cloud in (a, b)]
    meshes = "".join(f'<mesh name="{k}" inertia="convex" vertex="{text}"/>' for k, text in enumerate(texts))
    theirs, ours = touching('<geom type="mesh" mesh="0"/>', '<geom type="mesh" mesh="1" mass="1"/>', meshes)

    def overlap(normal):
        return float((a @ normal).max() - (b @ normal).min())

    found, other = overlap(ours[0][2]), overlap(theirs[0][2])
    # vertices are in single precision, and faces within 0.25 degrees count as at right angles to the normal
    assert deepest(ours) == pytest.approx(found, rel=1e-5)
    assert found <= other + 1e-7


def test_quaternions_of_frames_have_a_scalar_part_that_is_not_negative():
    pair = ScenePair(
        mujoco,
        """<mujoco><worldbody><body name="b" quat="-.5 .5 .5 .5"><joint name="j"/><geom size=".1"/></body>
        </worldbody><sensor><framequat name="turn" objtype="xbody" objname="b"/></sensor></mujoco>""",
    )
    mujoco.mj_forward(pair.m, pair.d)
    ours, theirs = pair.world.sensors["turn"].value, pair.d.sensordata[[1, 2, 3, 0]]
    assert ours[3] >= 0.0 > theirs[3]
    assert np.abs(ours + theirs).max() < 1e-14
