# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A world of free bodies and nothing else measures no inertias, for which it would compile kernels."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.step.inverse_weights import are_free_bodies, has_regular_inertia
from worldline.model import Model, ModelBuilder
from worldline.simulation import World


def body(**given: object) -> Model:
    """A free body; mass, com and inertia as given."""
    builder = ModelBuilder()
    ordinary = {"mass": 2.0, "inertia": np.diag([0.1, 0.2, 0.25])}
    link = builder.add_link(**ordinary | given, check_inertia=False)
    builder.add_articulation([builder.add_joint_free(link)])
    return builder.finalize()


def test_a_free_fall_measures_nothing() -> None:
    world = World(time_step=0.001)
    box = world.add_rigid_body("box", mass=1.0, position=(0.0, 0.0, 0.5))
    world.step(n=100)
    # semi-implicit Euler: z = z0 - g h^2 n (n + 1) / 2
    assert box.translation[2] == pytest.approx(0.5 - 9.81 * 1e-6 * 5050.0, abs=1e-14)
    assert "inverse_weights" not in world._runtime.model.inertia_scratch


def test_a_body_that_may_touch_is_measured() -> None:
    from worldline import msd

    text = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 1"><freejoint/>
      <geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""
    world = World.from_scene(msd.from_str(text, format="mjcf"))
    world.step()
    assert "inverse_weights" in world._runtime.model.inertia_scratch


@pytest.mark.parametrize("seed", range(20))
def test_free_bodies_have_what_a_mass_matrix_shows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3))
    model = body(
        mass=10.0 ** rng.uniform(-9, 9),
        inertia=A @ A.T * 10.0 ** rng.uniform(-11, 11),
        com=rng.normal(size=3),
    )
    assert has_regular_inertia(model) or not are_free_bodies(model)


@pytest.mark.parametrize(
    "given",
    [
        {"mass": 0.0},
        {"mass": 1e-13},
        {"mass": 1e13},
        {"inertia": np.zeros((3, 3))},
        {"inertia": np.diag([0.1, 0.2, 1e-9])},
        {"inertia": np.diag([0.1, 0.2, -0.1])},
        {"inertia": np.diag([1e300, 1e300, 1e300])},
        {"com": (1e4, 0.0, 0.0)},
    ],
    ids=lambda given: next(iter(given)),
)
def test_odd_bodies_are_looked_at_closely(given: dict[str, object]) -> None:
    assert are_free_bodies(body())
    assert not are_free_bodies(body(**given))


def test_bodies_on_others_are_not_free() -> None:
    builder = ModelBuilder()
    links = [builder.add_link(mass=1.0, inertia=np.eye(3)) for _ in range(2)]
    joints = [builder.add_joint_free(links[0]), builder.add_joint_revolute(*links, axis=(0.0, 0.0, 1.0))]
    builder.add_articulation(joints)
    assert not are_free_bodies(builder.finalize())
