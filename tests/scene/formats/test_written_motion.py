# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random trees of every joint type, written as URDF and SDF and read back, move the same to round-off."""

from __future__ import annotations

import random

import numpy as np
import pytest
from rewriting import MOTION, rewrite

import worldline.model as wm
from worldline import msd

COMMON = [
    "Revolute",
    "Slide",
    "Fixed",
    "Universal",
    "Planar",
    "Euler",
    "Translational",
    "Translational2D",
    "D6",
    "Cable",
]
TYPES = {".urdf": [*COMMON, "Free"], ".sdf": [*COMMON, "Ball", "Screw"]}
"""Joints whose coordinates stay the same; the others are told to be approximated, which is tested elsewhere."""


class Trees:
    """Makes random scenes of one body."""

    def __init__(self, seed: int, types: list[str]) -> None:
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.types = types
        self.count = 0

    def vector(self, size: int = 3) -> np.ndarray:
        return self.rng.normal(size=size).round(3)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def scene(self) -> msd.World:
        scene = msd.World(name="tree")
        body = msd.Body(link=self.link(3), multibody=self.random.choice([None, "tree", "other"]))
        if self.chance(0.4):
            body.free, body.link.joints = msd.FreeJoint(), []
        elif any(joint.type_ is msd.JointType.Free for joint in body.link.joints):
            # its coordinates would count from the origin of the world
            body.link.joints = []
        scene.hierarchy.bodies.append(body)
        return scene

    def link(self, depth: int) -> msd.Link:
        self.count += 1
        names = [None, f"L{self.count}", f"part::L{self.count}", f"part::of::L{self.count}"]
        link = msd.Link(
            name=self.random.choice(names), local_translation=self.vector(), local_rotation=self.vector(4)
        )
        link.geoms.append(msd.Geometry(shape="Box", size=(0.1, 0.2, 0.3), position=self.vector()))
        if self.chance(0.5):
            moments = {"diag_inertia": (0.2, 0.3, 0.25), "orientation": self.vector(4)}
            link.inertial = msd.Inertia(mass=2.0, pos=self.vector(), **moments)
        link.joints = [self.joint() for _ in range(self.random.choice([0, 1, 1, 1, 2, 3]))]
        if sum(joint.type_ in (msd.JointType.Ball, msd.JointType.Free) for joint in link.joints):
            # they replace other joints
            link.joints = link.joints[:1]
        if depth:
            link.children = [self.link(depth - 1) for _ in range(self.random.randint(0, 2))]
        return link

    def joint(self) -> msd.Joint:
        self.count += 1
        kind = self.random.choice(self.types)
        joint = msd.Joint(type_=kind, axis=self.vector(), axis2=self.vector(), pos=self.vector(), pitch=0.1)
        joint.name = self.random.choice([None, f"j{self.count}"])
        if kind not in ("Ball", "Free"):
            joint.orientation = self.vector(4)
        if kind == "D6":
            joint.dofs = [msd.JointDof(axis=self.vector(), angular=False), msd.JointDof(axis=self.vector())]
        if kind in ("Revolute", "Slide") and self.chance(0.4):
            joint.ref_ = 0.3
        frozen = {"Revolute": 1, "Universal": 2, "Ball": 4, "Screw": 1}
        if kind in frozen and self.chance(0.2):
            joint.frozen = self.vector(frozen[kind])
        return joint


@pytest.mark.parametrize("suffix", TYPES)
@pytest.mark.parametrize("seed", range(12))
def test_random_trees_move_the_same(seed, suffix, tmp_path):
    """Links and joints keep their order, so coordinates can be compared as they are."""
    scene = Trees(seed, TYPES[suffix]).scene()
    back, report, _ = rewrite(scene, tmp_path, suffix)
    told = ("drawn at coordinate zero", "a frozen joint", "the name is taken", "means nothing beside")
    assert all(any(words in entry.message for words in told) for entry in report.losses), str(report)
    a, b = msd.build(scene), msd.build(back)
    assert (a.joint_coord_count, a.joint_dof_count) == (b.joint_coord_count, b.joint_dof_count)
    rng = np.random.default_rng(seed)
    q = wm.random_configuration(a, rng, worlds=2, within_limits=False)
    v = rng.normal(size=(2, a.joint_dof_count))
    for first, second in (
        (wm.mass_matrix(a, q), wm.mass_matrix(b, q)),
        (wm.bias_forces(a, q, v), wm.bias_forces(b, q, v)),
    ):
        scale = max(1.0, float(np.abs(first).max(initial=0.0)))
        assert np.abs(first - second).max(initial=0.0) < MOTION * scale
    assert a.body_mass.sum() == pytest.approx(b.body_mass.sum(), rel=1e-12)
