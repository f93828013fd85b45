# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of a builder: the table they become, the mass they bring, what is refused, copies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from worldline.model import ModelBuilder, ShapeConfig, ShapeFlags, ShapeKind, forward_dynamics

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
FACES = [
    *[(0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4)],
    *[(2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6), (1, 3, 5), (3, 7, 5)],
]


def test_kinds_sizes_and_masses() -> None:
    builder = ModelBuilder()
    body = builder.add_body(label="body")
    volumes = {
        builder.add_shape_box(body, 0.1, 0.2, 0.3): (ShapeKind.BOX, [0.1, 0.2, 0.3], 8 * 0.006),
        builder.add_shape_sphere(body, 0.2): (ShapeKind.SPHERE, [0.2, 0, 0], 4 / 3 * math.pi * 0.008),
        builder.add_shape_capsule(body, 0.1, 0.3): (
            ShapeKind.CAPSULE,
            [0.1, 0.3, 0],
            math.pi * 0.01 * 0.6 + 4 / 3 * math.pi * 0.001,
        ),
        builder.add_shape_cylinder(body, 0.1, 0.3): (ShapeKind.CYLINDER, [0.1, 0.3, 0], math.pi * 0.006),
        builder.add_shape_ellipsoid(body, 0.1, 0.2, 0.3): (
            ShapeKind.ELLIPSOID,
            [0.1, 0.2, 0.3],
            4 / 3 * math.pi * 0.006,
        ),
        builder.add_shape_mesh(body, CUBE, FACES, scale=(0.1, 0.2, 0.3)): (ShapeKind.MESH, [0, 0, 0], 0.006),
    }
    model = builder.finalize()
    shapes = model.shapes
    assert shapes is not None
    assert shapes.kind.tolist() == [kind for kind, _, _ in volumes.values()]
    np.testing.assert_allclose(shapes.size, [size for _, size, _ in volumes.values()])
    np.testing.assert_allclose(model.body_mass[0], 1000.0 * sum(v for *_, v in volumes.values()), rtol=1e-12)
    assert model.assets.mesh(shapes.source[-1]).vertices.shape == (8, 3)
    np.testing.assert_allclose(shapes.scale[-1], [0.1, 0.2, 0.3])


def test_mass_is_added_where_the_shape_is() -> None:
    builder = ModelBuilder()
    body = builder.add_body(mass=8.0, com=(0.0, 0.0, 1.0), inertia=np.diag([0.1, 0.2, 0.25]))
    builder.add_shape_box(body, 0.1, 0.1, 0.1, xform=(1.0, 0, 0, 0, 0, 0, 1))
    model = builder.finalize()
    assert model.body_mass[0] == pytest.approx(16.0)
    np.testing.assert_allclose(model.body_com[0], [0.5, 0.0, 0.5])
    # each half is 1/sqrt(2) away from the whole's centre, along (1, 0, -1)
    own = np.diag([0.1, 0.2, 0.25]) + 8.0 * (0.04 / 6.0) * np.eye(3)
    arm = np.array([0.5, 0.0, -0.5])
    steiner = 16.0 * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    np.testing.assert_allclose(model.body_inertia[0], own + steiner, atol=1e-12)
    np.testing.assert_allclose(
        forward_dynamics(model, model.joint_q, np.zeros(6), np.zeros(6))[:3], [0, 0, -9.81], atol=1e-12
    )


def test_configuration_reaches_the_table() -> None:
    builder = ModelBuilder()
    body = builder.add_body(mass=1.0)
    cfg = ShapeConfig(density=0.0, mu=0.3, ke=1e3, kd=7.0, margin=0.02, gap=0.01, priority=2)
    builder.add_shape_sphere(body, 0.1, cfg=cfg, label="ball")
    builder.add_shape_sphere(body, 0.1, cfg=ShapeConfig(density=0.0, has_shape_collision=False))
    ground = builder.add_ground_plane(-0.5, label="ground")
    model = builder.finalize()
    shapes = model.shapes
    assert shapes is not None and ground == 2
    # what is fixed to the world comes first
    assert shapes.label == ["ground", "ball", "shape_002"] and shapes.body.tolist() == [-1, 0, 0]
    ball = shapes.index("ball")
    assert (shapes.friction[ball, 0], shapes.priority[ball]) == (0.3, 2)
    assert np.isnan(shapes.restitution[ball]), "springs have no restitution of their own"
    assert (shapes.force.kind[ball], shapes.force.stiffness[ball], shapes.force.damping[ball]) == (
        1,
        1e3,
        7.0,
    )
    assert shapes.flags.tolist() == [ShapeFlags.COLLIDES, ShapeFlags.COLLIDES, ShapeFlags.NONE]
    assert shapes.xform[0, 2] == -0.5 and model.body_mass[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        shapes.size[0] = 1.0


def test_a_bounce_is_of_hard_contact_and_a_damping_of_springs() -> None:
    builder = ModelBuilder()
    body = builder.add_body(mass=1.0)
    builder.add_shape_sphere(body, 0.1, cfg=ShapeConfig(density=0.0, restitution=0.5), label="ball")
    shapes = builder.finalize().shapes
    assert shapes is not None and shapes.restitution.tolist() == [0.5] and shapes.force.kind.tolist() == [0]
    for wrong, words in (({"restitution": 0.5, "ke": 1e3}, "restitution"), ({"kd": 7.0}, "kd")):
        with pytest.raises(ValueError, match=words):
            builder.add_shape_sphere(body, 0.1, cfg=ShapeConfig(density=0.0, **wrong))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.add_shape_box(0, -1.0), "must be positive"),
        (lambda b: b.add_shape_box(5), "body of a shape must be -1"),
        (lambda b: b.add_shape_sphere(0, math.nan), "finite"),
        (lambda b: b.add_shape_sphere(0, cfg={"mu": 1}), "must be a ShapeConfig"),
        (lambda b: b.add_shape_sphere(0, cfg=ShapeConfig(condim=2)), "1, 3, 4 or 6"),
        (lambda b: b.add_shape_sphere(0, cfg=ShapeConfig(mu=-1.0)), "friction"),
        (lambda b: b.add_shape_sphere(0, colour=1), "unknown keyword 'colour'"),
        (lambda b: b.add_shape_mesh(0, CUBE, [[0, 1, 9]]), "triples below 8"),
        (lambda b: b.add_shape_mesh(0, CUBE[:, :2], FACES), r"shape \(N, 3\)"),
        (lambda b: b.add_shape_sphere(0, label="taken"), "already exists"),
    ],
)
def test_refused_shapes_change_nothing(call, message: str) -> None:
    builder = ModelBuilder()
    body = builder.add_body(mass=1.0)
    builder.add_shape_sphere(body, label="taken")
    before = builder.finalize()
    with pytest.raises(ValueError, match=message):
        call(builder)
    after = builder.finalize()
    assert after.shapes is not None and before.shapes is not None
    assert after.shapes.label == before.shapes.label and after.assets.mesh_label == before.assets.mesh_label
    np.testing.assert_array_equal(after.body_mass, before.body_mass)


def test_copies_take_their_shapes_along() -> None:
    part = ModelBuilder()
    body = part.add_body(label="body")
    part.add_shape_mesh(body, CUBE, FACES, label="mesh")
    part.add_shape_box(-1, label="table", xform=(1, 0, 0, 0, 0, 0, 1))
    whole = ModelBuilder()
    turn = (0, 2, 0, 0, 0, math.sin(math.pi / 4), math.cos(math.pi / 4))
    whole.add_builder(part, prefix="a/")
    whole.add_builder(part, prefix="b/", xform=turn)
    model = whole.finalize()
    shapes = model.shapes
    assert shapes is not None
    assert shapes.label == ["a/table", "b/table", "a/mesh", "b/mesh"]
    assert shapes.body.tolist() == [-1, -1, 0, 1]
    np.testing.assert_allclose(shapes.xform[1, :3], [0, 3, 0], atol=1e-15)
    np.testing.assert_allclose(np.abs(shapes.xform[1, 3:]), np.abs(turn[3:]), atol=1e-15)
    assert sorted(shapes.source[2:]) == [0, 1]
