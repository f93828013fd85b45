# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reading sensors between steps changes no bit of them, in every scene of the golden set.

A step that follows a reading goes on from its evaluation where it can, so all that a step leaves is compared.
"""

from __future__ import annotations

import numpy as np
import pytest
from golden_scenes import SCENES

from worldline import msd
from worldline import simulation as sx
from worldline._src.step.sensing import Copy

STEPS = 25
COLUMNS = ("qfrc", "act_force", "activation", "tendon_size", "equality_wrench", "tree_group", "tree_quiet")
BY_ROW = ("force", "residual", "missed", "row_of")
BY_CONTACT = ("contact_force", "contact_row", "frame")


ROBOT = """<mujoco><option timestep=".004" cone="{cone}" integrator="{method}"/><worldbody>
  <geom type="plane" size="0 0 1" euler="1 2 0"/><geom type="box" size=".3 .3 .1" pos=".2 0 0"/>
  <body name="trunk" pos="0 0 .55" euler="5 3 0"><freejoint/><site name="eye"/><geom type="box" size=".15 .1 .08" mass="3"/>
    <body pos="0 0 -.1"><joint name="hip" axis="0 1 0" range="-60 60" damping=".3" frictionloss=".2"/>
      <geom type="capsule" fromto="0 0 0 .1 0 -.25" size=".04" mass="1"/>
      <body pos=".1 0 -.25"><joint name="knee" axis="0 1 0" range="-90 5" damping=".2" stiffness="3"/>
        <geom type="capsule" fromto="0 0 0 -.1 0 -.2" size=".03" mass=".5"/></body></body></body></worldbody>
  <actuator><position joint="hip" kp="30" kv="1"/><general joint="knee" dyntype="filter" dynprm=".05"
    gainprm="8" biastype="affine" biasprm="0 -8 -.5"/></actuator>
  <sensor><jointpos joint="knee"/><rangefinder site="eye"/><jointactuatorfrc joint="hip"/></sensor></mujoco>"""
"""A robot that falls on a floor and a box: contacts, limits, friction, activations."""
ROBOTS = {
    f"robot, {cone}, {method}": ROBOT.format(cone=cone, method=method)
    for cone in ("pyramidal", "elliptic")
    for method in ("Euler", "implicitfast", "RK4")
}


def _made(name: str) -> sx.World | None:
    text = ROBOTS.get(name)
    world = SCENES[name]() if text is None else sx.World.from_scene(msd.from_str(text, format="mjcf"))
    if not isinstance(world, sx.World):
        return None
    bodies = [*world.rigid_bodies, *(link for robot in world.multibodies for link in robot.links)]
    world.sensors.add_imu("unit", attach_to=bodies[-1])
    if text is not None:
        world.actuator_controls = (0.3, -0.4)
    return world


def _left(world: sx.World) -> dict[str, bytes]:
    """Everything that a step leaves for readers and for the next one."""
    sim = world._live().sim
    found = {
        "state": world.state_vector,
        "a": sim.a,
        "tau": sim.tau,
        "q_start": sim.start_q,
        "clock": sim.clock,
    }
    constraints = sim.constraints
    if constraints is not None:
        column = constraints.column
        rows, contacts = int(column["counter"][8]), int(column["counter"][4])
        found |= {name: column[name] for name in COLUMNS}
        found |= {name: column[name][:rows] for name in BY_ROW}
        found |= {name: column[name][:contacts] for name in BY_CONTACT}
        if constraints.collision is not None:
            collision = constraints.collision.column
            found |= {name: collision[name][:contacts] for name in ("contact", "contact_id")}
            found["poses"] = collision["shape_X_W"]
    return {name: np.ascontiguousarray(numbers).tobytes() for name, numbers in found.items()}


@pytest.mark.parametrize("name", [*SCENES, *ROBOTS])
def test_readings_between_steps_change_no_bit(name: str) -> None:
    watched = _made(name)
    if watched is None:
        pytest.skip("worlds in lanes are read on copies of their rows")
    alone = _made(name)
    assert alone is not None
    steps, touched = STEPS * (1 + 3 * (name in ROBOTS)), 0
    for k in range(steps):
        watched.step()
        alone.step()
        assert _left(watched) == _left(alone), k
        # all at once, or one by one in two orders
        readings = [watched.sensors.values] if k % 3 == 0 else []
        for sensor in list(watched.sensors)[:: 1 if k % 3 == 1 else -1]:
            readings.append(sensor.value)
        assert _left(watched) == _left(alone), f"the reading after step {k}"
        if k == 10:
            # what is written in between counts: the evaluation of the reading is not that of the step
            for world in (watched, alone):
                world._live().sim.v[:] *= 0.9
                world._live().sim.velocities_written()
        touched += len(watched.contacts)
    assert all(np.isfinite(reading).all() for reading in readings) and (touched > 20 or name not in ROBOTS)


def test_a_step_goes_on_from_the_evaluation_of_a_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Copy] = []
    give = Copy.give

    def counted(copy: Copy) -> bool:
        went_on = give(copy)
        given.extend([copy] * went_on)
        return went_on

    monkeypatch.setattr(Copy, "give", counted)
    names = {name for name in (*SCENES, *ROBOTS) if _goes_on(name, given)}
    assert names >= set(ROBOTS) and len(names) > 20, names


def _goes_on(name: str, given: list[Copy]) -> bool:
    world = _made(name)
    if world is None:
        return False
    world.step()
    before = len(given)
    world.sensors.values  # noqa: B018
    world.step()
    return len(given) > before
