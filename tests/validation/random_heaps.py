# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random heaps meant to break a step: mixed shapes and masses, extreme laws, deep overlap, any time step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import StepFailure
from worldline._src.kernels.constraints.tables import CONVERGED, WEAKENED
from worldline.collision import CollisionShape

G = 9.81
PUSH = 1.0
"""Speed that pushing overlap apart may leave a body with [m/s]; see kernels/constraints/contact/impacts.py."""
SIZE = 0.24
"""Largest diameter of a body [m]: how much higher it may end where overlap is pushed apart."""
Model = msd.ConstraintForceModel
LAWS = {
    "hard": Model.hard(bounciness=0.0, erp=0.2),
    "hard, bouncing": Model.hard(bounciness=0.7, erp=0.2),
    "hard, whole error": Model.hard(bounciness=0.0, erp=1.0),
    "stiff force spring": Model.force_spring(msd.StiffnessDamping(k=1e9, d=1e4)),
    "stiff acceleration spring": Model.acceleration_spring(msd.StiffnessDamping(k=1e9, d=1e4)),
    "soft acceleration spring": Model.acceleration_spring(msd.StiffnessDamping(k=2500.0, d=100.0)),
    "impedance": None,
    "stiff impedance": None,
}
SOLREF = {"impedance": "0.02 1", "stiff impedance": "0.0001 1"}


class Case(NamedTuple):
    """What a heap is made of."""

    seed: int
    law: str
    method: sx.ContactSolverMethod
    friction: float
    h: float
    deep: bool
    count: int


class Outcome(NamedTuple):
    """What became of it: largest energy and what explains it [J], overlaps [m], steps and those unsolved.

    spin: most that a body turned in a step [rad].
    """

    finite: bool
    energy: float
    allowed: float
    deepest: float
    at_rest: float
    steps: int
    unconverged: int
    """Steps that are not converged, beside those with less friction,"""
    weakened: int
    """which are reported as not converged too."""
    spin: float

    @property
    def exploded(self) -> bool:
        """Whether there was more than twice the energy that falling and overlap explain."""
        return self.energy > 2.0 * self.allowed

    @property
    def spins(self) -> bool:
        """Whether a body turned by more than a radian in a step, where its motion is no longer resolved."""
        return self.spin > 1.0


def random_case(seed: int) -> Case:
    """One of all combinations."""
    rng = np.random.default_rng(seed)
    return Case(
        seed=seed,
        law=list(LAWS)[seed % len(LAWS)],
        method=list(sx.ContactSolverMethod)[seed // len(LAWS) % 3],
        friction=float(rng.choice([0.0, 0.3, 1.0, 3.0])),
        h=float(10.0 ** rng.uniform(-4.0, np.log10(0.02))),
        deep=bool(rng.random() < 0.4),
        count=int(rng.integers(2, 13)) if rng.random() < 0.9 else 30,
    )


def _shape(kind: int, s: float) -> CollisionShape:
    if kind == 0:
        return CollisionShape.sphere(s)
    if kind == 1:
        return CollisionShape.box((s, 0.7 * s, 0.5 * s))
    if kind == 2:
        return CollisionShape.capsule(0.5 * s, 0.6 * s)
    if kind == 3:
        return CollisionShape.cylinder(0.6 * s, 0.8 * s)
    return CollisionShape.ellipsoid((s, 0.7 * s, 0.5 * s))


def build(case: Case) -> sx.World:
    """The heap as a World."""
    rng = np.random.default_rng(case.seed + 1)
    world = sx.World(time_step=case.h, contact_solver_method=case.method)
    world.add_ground_plane(friction=case.friction)
    # at a step of 20 ms bodies that fall far would pass through each other within a step
    space = 0.06 if case.deep else 0.26
    for k in range(case.count):
        mass, size = 10.0 ** rng.uniform(-1.0, 1.0), rng.uniform(0.06, 0.12)
        turn = rng.normal(size=4)
        place = np.array([k % 2, k // 2 % 2, 0.0]) * space + rng.uniform(-0.02, 0.02, 3)
        place[2] += (0.03 if case.deep else 0.14) + space * (k // 4)
        body = world.add_rigid_body(
            f"b{k}",
            mass=mass,
            inertia=0.4 * mass * size**2 * np.diag([1.0, 0.9, 0.7]),
            position=place,
            orientation=turn / np.linalg.norm(turn),
        )
        body.add_collision_shape(_shape(int(rng.integers(5)), size), friction=case.friction)
    scene = world.to_scene()
    law = LAWS[case.law]
    if law is None:
        soft = msd.from_str(
            f"<mujoco><worldbody><geom size='1' solref='{SOLREF[case.law]}'/></worldbody></mujoco>",
            format="mjcf",
        )
        law = soft.hierarchy.geoms[0].physics_material.contact_model
    for geom in [*scene.hierarchy.geoms, *(g for link in scene.hierarchy.links() for g in link.geoms)]:
        geom.physics_material.contact_model = law
        if case.law == "hard, bouncing":
            geom.physics_material.restitution = 0.7
    again = sx.World.from_scene(scene)
    again.contact_solver_method = case.method
    return again


def fall(case: Case, steps: int) -> Outcome:
    """Let it fall and watch."""
    world = build(case)
    start = world.compute_step_metrics()
    mass = sum(body.mass for body in world.rigid_bodies)
    # from the ground up: what falls has this to lose, and overlap has this to give
    allowed = start.total_energy * 1.02 + 1e-3 + _stored(case, world, mass)
    highest, deepest, late, spin = start.total_energy, 0.0, 0.0, 0.0
    unconverged = weakened = 0
    runtime = world._live()
    for k in range(steps):
        try:
            world.step()
        except StepFailure:
            return Outcome(False, np.inf, allowed, deepest, late, k, unconverged, weakened, spin)
        report = world.compute_step_metrics()
        turns = np.linalg.norm(runtime.sim.fresh_velocities()[:, 3:], axis=1)
        spin = max(spin, case.h * float(turns.max()))
        if not np.isfinite(report.total_energy):
            return Outcome(False, np.inf, allowed, deepest, late, k, unconverged, weakened, spin)
        highest = max(highest, report.total_energy)
        deepest = max(deepest, report.max_penetration_depth) if k > 0 else deepest
        late = max(late, report.max_penetration_depth) if k > 0.9 * steps else late
        counter = runtime.constraints.column["counter"]
        weakened += counter[WEAKENED] > 0
        unconverged += not counter[CONVERGED] and not counter[WEAKENED]
    return Outcome(True, highest, allowed, deepest, late, steps, unconverged, weakened, spin)


def _stored(case: Case, world: sx.World, mass: float) -> float:
    """Energy that overlap may set free: that of springs, or of bodies pushed apart at the speed of correction."""
    # corners of long bodies overlap a little where the heap is meant to start apart
    depth = max((contact.depth for contact in world.collide()), default=0.0)
    if depth <= 0.0:
        return 0.0
    if case.law.startswith("hard"):
        # several contacts may push one body in turn; what is pushed fast is moved and gets no speed
        speed, lift = min(PUSH, depth / case.h), min(SIZE, depth * case.count)
        return mass * (4.0 * 0.5 * speed**2 + G * lift)
    spring = {"stiff force spring": 1e9, "stiff acceleration spring": 1e9 * mass}.get(case.law, 2500.0 * mass)
    if case.law == "stiff impedance":
        spring = mass / max(2.0 * case.h, 1e-4) ** 2
    return 0.5 * spring * depth**2 * 4 * case.count
