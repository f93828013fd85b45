# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Springs between points of bodies: forces of one step and a damped vibration in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx

TEXT = """<mujoco><option timestep="{h}" gravity="0 0 0"/><worldbody><body name="a" pos="1 0 0"><freejoint/><geom size=".1" mass="2"/></body>
  <body name="b" pos="3 0 0"><freejoint/><geom size=".1" mass="3"/></body></worldbody></mujoco>"""
K, D, REST, H = 40.0, 3.0, 1.5, 1e-4


def sprung(ends, h=H):
    scene = msd.from_str(TEXT.format(h=h))
    first, second = (msd.FrameRef(link=end) if end else msd.FrameRef() for end in ends)
    spring = msd.DistanceSpring(
        frame_a=first, frame_b=second, rest_length=REST, stiffness=K, damping=D, active=True
    )
    scene.distance_springs.append(spring)
    return sx.World.from_scene(scene)


@pytest.mark.parametrize("ends", [("a", "b"), ("b", "a")])
def test_one_step_between_two_bodies(ends):
    world = sprung(ends)
    a, b = world.rigid_bodies["a"], world.rigid_bodies["b"]
    a.linear_velocity, b.linear_velocity = (0.3, 0.0, 0.0), (-0.9, 0.0, 0.0)
    world.step()
    # pulled together by k (2 - rest), pushed apart by d (0.3 + 0.9)
    pull = K * (2.0 - REST) + D * (-0.9 - 0.3)
    assert a.linear_velocity[0] == pytest.approx(0.3 + H * pull / 2.0, rel=1e-9)
    assert b.linear_velocity[0] == pytest.approx(-0.9 - H * pull / 3.0, rel=1e-9)


def test_a_damped_vibration_against_the_world():
    world = sprung(("", "a"))
    body, m = world.rigid_bodies["a"], 2.0
    world.step(n=10_000)
    # m x'' + d x' + k (x - rest) = 0 from x = 1 at rest
    decay, w = D / (2 * m), np.sqrt(K / m - (D / (2 * m)) ** 2)
    x = REST - 0.5 * np.exp(-decay) * (np.cos(w) + decay / w * np.sin(w))
    assert body.translation[0] == pytest.approx(x, abs=2e-4)
