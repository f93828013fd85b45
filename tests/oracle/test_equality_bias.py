# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Residual, J v and J' v of every equality kind against time derivatives of the residual itself.

Two bodies with equal moments of inertia about their origins and no forces move with constant velocities, so
their poses over time are p + v t and exp(w t) R. The residual of a kind is written down here from its
geometry; its first difference over time must be J v, its second J' v.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from scene_pairs import free_pair
from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.constraints import tables as t

PITCH, LENGTH, H = 0.2, 0.4, 1e-4
JOINTS = {
    "Fixed": t.POSE,
    "Revolute": t.AXIS,
    "Slide": t.SLIDE,
    "Ball": t.POINT,
    "Universal": t.UNIVERSAL,
    "Planar": t.PLANE,
    "Translational": t.TURN,
    "Screw": t.SCREW,
}
CLOSURES = {"Rigid": t.POSE, "Point": t.POINT, "Axis": t.AXIS, "Distance": t.DISTANCE}


def tilt_direction(R_a, R_b):
    """Direction in which the z axes of two places part where they are at more than a right angle, else None."""
    x, y, z = R_b.as_matrix().T @ R_a.as_matrix()[:, 2]
    return np.array([x, y]) / np.hypot(x, y) if z < 0.0 else None


def residual(kind, p_a, R_a, p_b, R_b, apart=None):
    """What rows of a kind keep at zero, for the first place a and the second b.

    Axes at more than a right angle go on to 2 along the direction `apart`, which rows take as fixed.
    """
    gap, (x, y, z), z_a = p_a - p_b, R_b.as_matrix().T, R_a.as_matrix()[:, 2]
    q = (R_b.inv() * R_a).as_quat(canonical=True)
    turn, square = 2.0 * q[:3], np.array([x @ z_a, y @ z_a])
    if apart is not None:
        square = 2.0 * apart - square
    if kind == t.SCREW:
        lag, whole = z @ gap - PITCH * 2.0 * np.arctan2(q[2], q[3]), 2.0 * np.pi * PITCH
        return np.array([x @ gap, y @ gap, *square, lag - whole * np.round(lag / whole)])
    if kind == t.DISTANCE:
        return np.array([np.linalg.norm(gap) - LENGTH])
    rows = {
        t.POINT: [*gap],
        t.POSE: [*gap, *turn],
        t.AXIS: [*gap, *square],
        t.UNIVERSAL: [*gap, x @ z_a],
        t.SLIDE: [x @ gap, y @ gap, *turn],
        t.PLANE: [z @ gap, *square],
        t.TURN: [*turn],
    }
    return np.array(rows[kind])


def two_bodies():
    """Two free bodies without gravity whose angular velocities stay what they are."""
    return free_pair(H, 2.0, 0.05)


def ends(rng):
    places = [Rotation.random(random_state=rng) for _ in range(2)]
    return [
        msd.FrameRef(link=name, position=rng.uniform(-0.3, 0.3, 3), orientation=R.as_quat())
        for name, R in zip("ab", places, strict=True)
    ]


def with_joint(kind, rng):
    scene, (parent, child) = two_bodies(), ends(rng)
    joint = msd.Joint(name="j", type_=kind, axis=(0.3, 0.2, 1.0))
    if kind in ("Universal", "Planar"):
        joint.axis2 = (1.0, 0.0, -0.3)
    if kind == "Screw":
        joint.pitch = PITCH
    scene.joints.append(msd.WorldJoint(parent=parent, child=child, joint=joint))
    return sx.World.from_scene(scene)


def with_closure(family, rng):
    scene, (a, b) = two_bodies(), ends(rng)
    closure = msd.LoopClosure(frame_a=a, frame_b=b, family=family, dynamics="Solve")
    if family == "Distance":
        closure.distance = LENGTH
    scene.loop_closures.append(closure)
    return sx.World.from_scene(scene)


class Motion:
    """The two places of the first equality of a world while its bodies fly on without it."""

    def __init__(self, world, rng, aligned=False):
        live = world._live()
        self.column, self.sim, model = live.constraints.column, live.sim, live.model
        for k in range(model.joint_count):
            q, v = int(model.joint_q_start[k]), int(model.joint_qd_start[k])
            self.sim.q[q : q + 3] = rng.uniform(-0.5, 0.5, 3)
            self.sim.q[q + 3 : q + 7] = Rotation.random(random_state=rng).as_quat()
            self.sim.v[v : v + 6] = rng.normal(size=6)
        self.places = [int(self.column[f"equality_{end}"][0]) for end in ("first", "second")]
        if aligned:
            self.align(rng.uniform(-3.0, 3.0), model)
        self.sim.written()
        self.starts = {}
        for k in range(model.joint_count):
            q, v = int(model.joint_q_start[k]), int(model.joint_qd_start[k])
            R = Rotation.from_quat(self.sim.q[q + 3 : q + 7])
            state = self.sim.q[q : q + 3].copy(), R, self.sim.v[v : v + 3].copy()
            self.starts[k + 1] = (*state, R.apply(self.sim.v[v + 3 : v + 6]))

    def align(self, angle, model):
        """Turn the first body so that the z axes of the places coincide, `angle` about them."""
        a, b = self.places
        link_a, link_b = (int(self.column["anchor_link"][k]) for k in (a, b))
        R_b = Rotation.from_quat(self.sim.q[int(model.joint_q_start[link_b - 1]) + 3 :][:4])
        wanted = R_b * self.local(b)[1] * Rotation.from_euler("z", angle)
        q = int(model.joint_q_start[link_a - 1])
        self.sim.q[q + 3 : q + 7] = (wanted * self.local(a)[1].inv()).as_quat()

    def local(self, place):
        X = self.column["anchor_pose"][place]
        return X[:3].copy(), Rotation.from_matrix(X[3:].reshape(3, 3))

    def pose(self, place, time):
        p, R, v, w = self.starts[int(self.column["anchor_link"][place])]
        R, (offset, turn) = Rotation.from_rotvec(w * time) * R, self.local(place)
        return p + v * time + R.apply(offset), R * turn

    def residual(self, kind, time=0.0):
        a, b = self.places
        apart = tilt_direction(self.pose(a, 0.0)[1], self.pose(b, 0.0)[1])
        return residual(kind, *self.pose(a, time), *self.pose(b, time), apart)

    def derivatives(self, kind):
        """First and second derivative by central differences with one Richardson extrapolation."""

        def rough(d):
            low, mid, high = (self.residual(kind, x) for x in (-d, 0.0, d))
            return (high - low) / (2.0 * d), (high - 2.0 * mid + low) / (d * d)

        d = 2e-3
        (u, a), (u_half, a_half) = rough(d), rough(d / 2)
        return (4.0 * u_half - u) / 3.0, (4.0 * a_half - a) / 3.0


def check(world, kind, rng, aligned=False):
    motion = Motion(world, rng, aligned)
    before = motion.sim.v.copy()
    wanted, (rate, bias) = motion.residual(kind), motion.derivatives(kind)
    world.step()
    count, column = len(wanted), motion.column
    # rotations of POSE and others may be written with the other sign of the quaternion
    np.testing.assert_allclose(column["residual"][:count], wanted, atol=1e-12)
    J = np.zeros((count, len(before)))
    J[:, column["column_dof"][: len(before)]] = column["J"][:count, : len(before)]
    np.testing.assert_allclose(J @ before, rate, rtol=1e-8, atol=1e-8)
    axes = column["equality_axes"][0].reshape(6, 7)
    np.testing.assert_allclose(axes[:count, 6], bias, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [name for name in JOINTS if name != "Screw"])
def test_joints_between_bodies(name, seed):
    rng = np.random.default_rng(seed)
    check(with_joint(name, rng), JOINTS[name], rng)


@pytest.mark.parametrize("seed", range(6))
def test_a_screw_whose_axes_coincide(seed):
    rng = np.random.default_rng(seed)
    check(with_joint("Screw", rng), t.SCREW, rng, aligned=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", CLOSURES)
def test_closures(family, seed):
    rng = np.random.default_rng(seed)
    check(with_closure(family, rng), CLOSURES[family], rng)
