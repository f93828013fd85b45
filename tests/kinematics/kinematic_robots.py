# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Robots whose inverse kinematics is tested: geometry and limits of known machines, written down here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import worldline.model as wm
from worldline import math as wmath

PI = np.pi


class Robot(NamedTuple):
    """A serial chain, the body at its end, and whether its tip has a position only."""

    name: str
    model: wm.Model
    tip: int
    position_only: bool


def _pose(p, rpy):
    return np.concatenate([p, wmath.euler_to_quaternion(rpy, "xyz")])


def chain_of(name, joints, limits, tool, position_only=False):
    """Revolute joints: position and roll, pitch, yaw of each in the link before, about its axis."""
    builder = wm.ModelBuilder()
    parent, made = -1, []
    for k, ((p, rpy, axis), (low, high)) in enumerate(zip(joints, limits, strict=True)):
        link = builder.add_link(mass=1.0, inertia=0.01 * np.eye(3), label=f"{name}_{k}")
        made.append(
            builder.add_joint_revolute(
                parent, link, parent_xform=_pose(p, rpy), axis=axis, limit_lower=low, limit_upper=high
            )
        )
        parent = link
    tip = builder.add_link(mass=0.1, inertia=0.001 * np.eye(3), label=f"{name}_tip")
    made.append(builder.add_joint_fixed(parent, tip, parent_xform=_pose(*tool)))
    builder.add_articulation(made)
    return Robot(name, builder.finalize(), tip, position_only)


def ur5():
    z = (0, 0, 1)
    joints = [
        ((0, 0, 0.089159), (0, 0, 0), z),
        ((0, 0, 0), (PI / 2, 0, 0), z),
        ((-0.425, 0, 0), (0, 0, 0), z),
        ((-0.39225, 0, 0.10915), (0, 0, 0), z),
        ((0, -0.09465, 0), (PI / 2, 0, 0), z),
        ((0, 0.0823, 0), (-PI / 2, 0, 0), z),
    ]
    return chain_of("ur5", joints, [(-2 * PI, 2 * PI)] * 6, ((0, 0, 0), (0, 0, 0)))


def panda():
    z = (0, 0, 1)
    joints = [
        ((0, 0, 0.333), (0, 0, 0), z),
        ((0, 0, 0), (-PI / 2, 0, 0), z),
        ((0, -0.316, 0), (PI / 2, 0, 0), z),
        ((0.0825, 0, 0), (PI / 2, 0, 0), z),
        ((-0.0825, 0.384, 0), (-PI / 2, 0, 0), z),
        ((0, 0, 0), (PI / 2, 0, 0), z),
        ((0.088, 0, 0), (PI / 2, 0, 0), z),
    ]
    limits = [
        (-2.8973, 2.8973),
        (-1.7628, 1.7628),
        (-2.8973, 2.8973),
        (-3.0718, -0.0698),
        (-2.8973, 2.8973),
        (-0.0175, 3.7525),
        (-2.8973, 2.8973),
    ]
    return chain_of("panda", joints, limits, ((0, 0, 0.107), (0, 0, -PI / 4)))


def iiwa():
    z = (0, 0, 1)
    joints = [
        ((0, 0, 0.1575), (0, 0, 0), z),
        ((0, 0, 0.2025), (PI / 2, 0, PI), z),
        ((0, 0.2045, 0), (PI / 2, 0, PI), z),
        ((0, 0, 0.2155), (PI / 2, 0, 0), z),
        ((0, 0.1845, 0), (-PI / 2, PI, 0), z),
        ((0, 0, 0.2155), (PI / 2, 0, 0), z),
        ((0, 0.081, 0), (-PI / 2, PI, 0), z),
    ]
    limits = [(-a, a) for a in (2.96706, 2.0944, 2.96706, 2.0944, 2.96706, 2.0944, 3.05433)]
    return chain_of("iiwa", joints, limits, ((0, 0, 0.045), (0, 0, 0)))


def humanoid_arm():
    joints = [
        ((0, -0.2, 0.4), (0, 0, 0), (0, 1, 0)),
        ((0, 0, 0), (0, 0, 0), (1, 0, 0)),
        ((0, 0, 0), (0, 0, 0), (0, 0, 1)),
        ((0.02, 0, -0.28), (0, 0, 0), (0, 1, 0)),
        ((-0.02, 0, -0.25), (0, 0, 0), (0, 0, 1)),
        ((0, 0, 0), (0, 0, 0), (1, 0, 0)),
        ((0, 0, 0), (0, 0, 0), (0, 1, 0)),
    ]
    limits = [(-3.1, 1.5), (-1.6, 0.3), (-1.6, 1.6), (-2.3, 0.0), (-1.6, 1.6), (-0.8, 0.8), (-1.2, 1.2)]
    return chain_of("humanoid_arm", joints, limits, ((0, 0, -0.12), (0, 0, 0)))


def quadruped_leg():
    joints = [
        ((0.18, -0.05, 0), (0, 0, 0), (1, 0, 0)),
        ((0, -0.084, 0), (0, 0, 0), (0, 1, 0)),
        ((0, 0, -0.2), (0, 0, 0), (0, 1, 0)),
    ]
    limits = [(-0.803, 0.803), (-1.047, 4.189), (-2.697, -0.916)]
    return chain_of("quadruped_leg", joints, limits, ((0, 0, -0.2), (0, 0, 0)), True)


def finger():
    joints = [
        ((0.0, 0.0435, 0.0), (-0.087, 0, 0), (0, 0, 1)),
        ((0, 0, 0.0164), (0, 0, 0), (0, 1, 0)),
        ((0, 0, 0.054), (0, 0, 0), (0, 1, 0)),
        ((0, 0, 0.0384), (0, 0, 0), (0, 1, 0)),
    ]
    limits = [(-0.47, 0.47), (-0.196, 1.61), (-0.174, 1.709), (-0.227, 1.618)]
    return chain_of("finger", joints, limits, ((0, 0, 0.0267), (0, 0, 0)), True)


ROBOTS = (ur5, panda, iiwa, humanoid_arm, quadruped_leg, finger)
