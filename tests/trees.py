# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random trees for tests: every joint type, random frames, masses that exist."""

from __future__ import annotations

import numpy as np

from worldline.model import JointDofConfig, Model, ModelBuilder

KINDS = (
    "revolute",
    "prismatic",
    "ball",
    "fixed",
    "free",
    "distance",
    "d6",
    "cable",
    "screw",
    "universal",
    "planar",
    "euler",
    "translational",
)
ORDERS = ("xyz", "zyx", "zxz", "yxy", "yzx", "xzy", "zxy", "yxz")


def random_pose(rng: np.random.Generator, reach: float = 0.3) -> np.ndarray:
    x = rng.normal(size=4)
    return np.r_[rng.uniform(-reach, reach, 3), x / np.linalg.norm(x)]


def random_hinge(rng: np.random.Generator) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia of a link, the pose of its joint in the parent, and a unit axis."""
    mass = rng.uniform(0.5, 2.0)
    com, inertia = rng.uniform(-0.1, 0.1, 3), random_inertia(rng, mass)
    pose, axis = random_pose(rng), rng.normal(size=3)
    return mass, com, inertia, pose, axis / np.linalg.norm(axis)


def random_inertia(rng: np.random.Generator, mass: float) -> np.ndarray:
    """The inertia of a box with sides of some decimetres, turned at random."""
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    x, y, z = rng.uniform(0.1, 0.4, 3) ** 2
    return turn @ np.diag(mass / 12.0 * np.array([y + z, x + z, x + y])) @ turn.T


def perpendicular(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return list(turn.T[:count])


def add_joint(builder: ModelBuilder, rng: np.random.Generator, kind: str, **frames) -> int:
    """A joint of a kind with random axes."""
    if kind in ("revolute", "prismatic"):
        return getattr(builder, f"add_joint_{kind}")(axis=rng.normal(size=3), **frames)
    if kind == "distance":
        # free to move: limits would end what families and identities promise
        return builder.add_joint_distance(max_distance=-1.0, **frames)
    if kind == "screw":
        return builder.add_joint_screw(axis=rng.normal(size=3), pitch=rng.uniform(0.05, 0.3), **frames)
    if kind == "universal":
        a, b = perpendicular(rng, 2)
        return builder.add_joint_universal(axis=a, axis2=b, **frames)
    if kind == "planar":
        a, b = perpendicular(rng, 2)
        return builder.add_joint_planar(axis=a, axis2=b, **frames)
    if kind == "euler":
        return builder.add_joint_euler(order=str(rng.choice(ORDERS)), **frames)
    if kind == "translational":
        return builder.add_joint_translational(axes=perpendicular(rng, int(rng.integers(2, 4))), **frames)
    if kind == "d6":
        slides = [JointDofConfig(axis=a) for a in perpendicular(rng, int(rng.integers(0, 4)))]
        turns = [JointDofConfig(axis=a) for a in perpendicular(rng, int(rng.integers(1, 4)))]
        return builder.add_joint_d6(linear_axes=slides, angular_axes=turns, **frames)
    if kind == "cable":
        a, b = perpendicular(rng, 2)
        return builder.add_joint_cable(axis=a, bend_axis=b, **frames)
    if kind == "free":
        return builder.add_joint_free(frames.pop("child"), frames.pop("parent"), **frames)
    return getattr(builder, f"add_joint_{kind}")(**frames)


def random_tree(
    rng: np.random.Generator,
    links: int,
    kinds: tuple[str, ...] = KINDS,
    *,
    passive: bool = False,
    trees: int = 1,
    root: str | None = None,
    kinematic: bool = False,
) -> Model:
    """One or several trees of random joints; every kind appears when there are links enough.

    `root` is the kind of the first joint, one of `kinds`; `kinematic` makes the roots follow prescribed
    motion.
    """
    builder = ModelBuilder(gravity=rng.normal(size=3))
    order = [kinds[i % len(kinds)] for i in range(links)]
    rng.shuffle(order)
    if root is not None:
        first = order.index(root)
        order[0], order[first] = order[first], order[0]
    for tree in range(trees):
        members, joints = [-1], []
        for i in range(tree, links, trees):
            mass = rng.uniform(0.5, 2.0)
            link = builder.add_link(
                mass=mass,
                com=rng.uniform(-0.1, 0.1, 3),
                inertia=random_inertia(rng, mass),
                is_kinematic=kinematic and members == [-1],
            )
            parent = members[int(rng.integers(0 if len(members) == 1 else 1, len(members)))]
            joints.append(
                add_joint(
                    builder,
                    rng,
                    order[i],
                    parent=parent,
                    child=link,
                    parent_xform=random_pose(rng),
                    child_xform=random_pose(rng),
                )
            )
            members.append(link)
        builder.add_articulation(joints)
    model = builder.finalize()
    n = model.joint_dof_count
    if passive:
        stiffness = np.zeros(n)
        # a spring on an orientation has one stiffness for its three columns
        for j in range(model.joint_count):
            start, end = model.joint_qd_start[j], model.joint_qd_start[j + 1]
            stiffness[start:end] = rng.uniform(0.0, 3.0)
        model.update(
            joint_armature=rng.uniform(0.0, 0.2, n),
            joint_damping=rng.uniform(0.0, 0.5, n),
            joint_stiffness=stiffness,
        )
    return model
