# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Later resets copy arrays back; they lead to the bits of a reset object by object."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

_SCENE = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="hand" mocap="true" pos="0 1 1"><geom type="sphere" size="0.05" contype="0" conaffinity="0"/></body>
    <body name="box" pos="0 0 0.2"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
    <body name="arm" pos="1 0 1"><joint name="swing" axis="1 0 0"/><geom type="sphere" size="0.1" pos="0 0.3 0"/></body>
    <body name="follower" pos="0 1 1"><freejoint/><geom type="sphere" size="0.05"/></body>
  </worldbody>
  <equality><weld name="grip" body1="hand" body2="follower"/></equality>
  <actuator><general name="lazy" joint="swing" dyntype="filter" dynprm="0.1"/><motor joint="swing"/></actuator>
</mujoco>
"""


def _world() -> sx.World:
    world = sx.World.from_scene(msd.from_str(_SCENE, format="mjcf"))
    world.actuator_controls = [0.5, 0.1]
    world.rigid_bodies["box"].linear_velocity = (0.3, 0.0, 0.0)
    world.rigid_bodies["box"].force = (0.0, 0.0, 1.0)
    world.multibodies["arm"].links["arm"].apply_force((0.0, 3.0, 0.0))
    world.enter_simulation_mode()
    return world


def _disturb(world: sx.World, turn: int) -> None:
    world.actuator_controls = [0.1 * turn, -0.3]
    world.rigid_bodies["box"].force = (1.0, 0.0, 0.0)
    world.step(n=20 + turn)
    world.multibodies["arm"].links["arm"].apply_force((0.0, 2.0, 0.0))


def _state(world: sx.World) -> dict[str, np.ndarray]:
    runtime = world._live()
    sim = runtime.sim
    names = ("q", "v", "a", "force", "q_target", "v_target", "a_target", "body_f", "clock")
    found = {name: getattr(sim, name).copy() for name in names}
    found |= {name: array.copy() for name, array in runtime.external_state.items()}
    found["switches"], found["time"] = runtime.switches.copy(), np.array(world.time)
    found["acting"] = runtime.constraints.column["control"].copy()
    return found


def _assert_same(world: sx.World, twin: sx.World) -> None:
    for each in (world, twin):
        assert not each.contacts
    ours, theirs = _state(world), _state(twin)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    for each in (world, twin):
        each.step(n=30)
    for name, array in _state(world).items():
        np.testing.assert_array_equal(array, _state(twin)[name], err_msg=f"{name} after steps")


def _restored(world: sx.World) -> None:
    """A reset object by object."""
    assert world._initial is not None
    world._live()._start = None
    world.reset()


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_later_resets_are_like_the_first(turns: int) -> None:
    world, twin = _world(), _world()
    for turn in range(turns):
        _disturb(world, turn)
        world.reset()
    assert world._live()._start is not None
    _disturb(twin, 7)
    _restored(twin)
    _assert_same(world, twin)


def test_forces_of_the_start_act_again() -> None:
    world = _world()
    fresh = []
    for _ in range(3):
        world.step()
        fresh.append(world._live().sim.a.copy())
        world.reset()
    np.testing.assert_array_equal(fresh[0], fresh[1])
    np.testing.assert_array_equal(fresh[0], fresh[2])


def test_a_body_that_became_static_rests_after_a_reset() -> None:
    world = _world()
    for _ in range(2):
        world.step(n=3)
        world.reset()
    box = world.rigid_bodies["box"]
    box.is_static = True
    world.reset()
    world.reset()
    assert not world._live().sim.v[:6].any()
    box.is_static = False
    world.reset()
    np.testing.assert_array_equal(box.linear_velocity, [0.3, 0.0, 0.0])


def test_a_reset_after_arrays_grew() -> None:
    """Steps may lay out columns anew; activations and switches are elsewhere then."""
    made = []
    for grows in (False, True):
        world = _world()
        for _ in range(2):
            world.step(n=3)
            world.reset()
        if grows:
            world.contact_solver_method = sx.ContactSolverMethod.BOXED_LCP
            world.step(n=2)
            world.contact_solver_method = sx.ContactSolverMethod.NEWTON
        else:
            world.contact_solver_method = sx.ContactSolverMethod.NEWTON
        world.step(n=5)
        world.reset()
        made.append(world)
    _assert_same(*made)


def test_a_reset_after_a_change_of_topology() -> None:
    world, twin = _world(), _world()
    for _ in range(2):
        world.step(n=3)
        world.reset()
    for each in (world, twin):
        with each.edit():
            ball = each.add_rigid_body("ball", position=(3.0, 0.0, 1.0))
            ball.add_collision_shape(CollisionShape.sphere(0.1))
        each.step(n=3)
        each.reset()
    world.step(n=3)
    world.reset()
    _assert_same(world, twin)
