# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bodies and worlds that the contact problems are made of."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx
from worldline._src.step import constraints
from worldline.collision import CollisionShape

G = 9.81
METHODS = list(sx.ContactSolverMethod)


def every_method(share):
    """A fixture: every method, and impulses without small islands that Newton's method takes over.

    These sweep until velocities change by less than `share` of the gravity of a step.
    """

    @pytest.fixture(params=[*(method.name for method in METHODS), "impulses alone"])
    def method(request, monkeypatch):
        if request.param == "impulses alone":
            monkeypatch.setattr(constraints, "_FREE_COLUMNS", 0)
            monkeypatch.setattr(constraints, "_SWEEP_SHARE", share)
            return sx.ContactSolverMethod.SEQUENTIAL_IMPULSE
        return sx.ContactSolverMethod[request.param]

    return method


def ball(world, name="ball", mass=1.0, radius=0.1, gyration=0.4, friction=1.0, restitution=0.0, **options):
    """A round body with inertia gyration m r^2: solid 2/5, hollow 2/3."""
    inertia = np.eye(3) * gyration * mass * radius**2
    body = world.add_rigid_body(name, mass=mass, inertia=inertia, **options)
    body.add_collision_shape(CollisionShape.sphere(radius), friction=friction, restitution=restitution)
    return body


def box(world, name="box", mass=1.0, half=(0.1, 0.1, 0.1), friction=1.0, restitution=0.0, **options):
    """A solid block."""
    square = np.square(half)
    inertia = np.diag(mass / 3.0 * (square.sum() - square))
    body = world.add_rigid_body(name, mass=mass, inertia=inertia, **options)
    body.add_collision_shape(CollisionShape.box(half), friction=friction, restitution=restitution)
    return body


def cylinder(
    world, name="cylinder", mass=1.0, radius=0.1, half_length=0.1, gyration=0.5, friction=1.0, **options
):
    """A cylinder that lies along y, with gyration m r^2 about its axis: solid 1/2, hoop 1."""
    along = gyration * mass * radius**2
    across = 0.5 * along + mass * half_length**2 / 3.0
    body = world.add_rigid_body(
        name,
        mass=mass,
        inertia=np.diag([across, across, along]),
        orientation=(np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)),
        **options,
    )
    body.add_collision_shape(CollisionShape.cylinder(radius, half_length), friction=friction)
    return body


def tilted_gravity(degrees, heading=0.0):
    """Gravity seen from a plane tilted by an angle, pulling down it towards a heading."""
    a = np.radians(degrees)
    return G * np.array([np.sin(a) * np.cos(heading), np.sin(a) * np.sin(heading), -np.cos(a)])


def with_law(world, law=None, condim=None, friction=None, **options):
    """The same world with one contact law for all, and other directions or coefficients of friction."""
    scene = world.to_scene()
    for name, value in options.items():
        setattr(scene.simulate_option, name, value)
    set_materials(scene, law, condim, friction)
    again = sx.World.from_scene(scene)
    again.contact_solver_method = world.contact_solver_method
    return again


def set_materials(scene, law=None, condim=None, friction=None):
    """Give all geoms of a scene a contact law, directions or coefficients of friction."""
    geoms = [*scene.hierarchy.geoms, *(geom for link in scene.hierarchy.links() for geom in link.geoms)]
    for geom in geoms:
        if law is not None:
            geom.physics_material.contact_model = law
        if condim is not None:
            geom.physics_material.condim = condim
        if friction is not None:
            geom.physics_material.friction = friction


def ground_force(world):
    """Force of the world on everything that touches it [N]."""
    total = np.zeros(3)
    for pair in world.step_report().pairs:
        if pair.body_a is None:
            total += pair.force
    return total
