# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse weights are computed once per model and again after its parameters change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worldline._src.step import inverse_weights as module
from worldline._src.step.inverse_weights import inverse_weights
from worldline.model import Model, ModelBuilder
from worldline.simulation import World


def pendulum(mass: float) -> Model:
    builder = ModelBuilder()
    bob = builder.add_link(mass=mass, com=(0.0, 0.0, -0.5), inertia=np.diag([0.1, 0.2, 0.3]))
    hinge = builder.add_joint_revolute(-1, bob, axis=(0.0, 1.0, 0.0))
    builder.add_articulation([hinge])
    return builder.finalize()


def test_a_pendulum_has_the_inverse_of_its_moment() -> None:
    dofs, bodies = inverse_weights(pendulum(2.0))
    moment = 0.2 + 2.0 * 0.25
    assert dofs == pytest.approx([1.0 / moment])
    # one of three directions, at the centre of mass: J M^-1 J^T / 3
    assert bodies[0] == pytest.approx([0.25 / moment / 3.0, 1.0 / moment / 3.0])


def test_every_change_of_the_model_counts() -> None:
    model = pendulum(2.0)
    first = inverse_weights(model)
    assert inverse_weights(model) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0][0] = 1.0
    model.update(body_mass=[4.0])
    for found, expected in zip(inverse_weights(model), inverse_weights(pendulum(4.0)), strict=True):
        assert np.array_equal(found, expected)
    model.set_kinematic(0, True)
    assert not inverse_weights(model)[0].any()


def test_loading_and_stepping_compute_them_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []
    compute = module._inverse_weights
    monkeypatch.setattr(module, "_inverse_weights", lambda model: calls.append(model) or compute(model))
    (tmp_path / "ball.xml").write_text(
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/>"
        "<geom size='0.1'/></body></worldbody></mujoco>"
    )
    world = World.from_file(tmp_path / "ball.xml")
    world.step()
    assert len(calls) == 1
    world.rigid_bodies[0].mass = 5.0
    world.step()
    assert len(calls) == 2
