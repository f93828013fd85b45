# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""State and controls of a whole World: activations and controls of actuators are part of them."""

from __future__ import annotations

import numpy as np
import pytest

import worldline
from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

SCENE = """<mujoco><option timestep="0.002">{flag}</option><worldbody>
  <geom name="ground" type="plane" size="1 1 1"/>
  <body name="arm" pos="0 0 0.6"><joint name="shoulder" axis="0 1 0" damping="0.1"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/>
    <body pos="0.4 0 0"><joint name="elbow" axis="0 1 0" range="-2 2" limited="true"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/></body></body>
  </worldbody><actuator>
    <motor name="direct" joint="shoulder" ctrlrange="-3 3" group="1"/>
    <general name="lazy" joint="elbow" dyntype="filter" dynprm="0.2" gainprm="4" actlimited="true"
             actrange="-1 1" group="2"/>
    <general name="sum" joint="shoulder" dyntype="integrator" gainprm="0.5" group="1"/>
  </actuator></mujoco>"""


def driven(flag: str = "") -> sx.World:
    return sx.World.from_scene(msd.from_str(SCENE.format(flag=flag), format="mjcf"))


def bits(world: sx.World) -> bytes:
    return world.state_vector.tobytes()


def test_state_is_coordinates_velocities_and_activations():
    world = driven()
    assert world.state_space().variable_names == ["arm.q", "arm.dq", "lazy.activation", "sum.activation"]
    world.actuator_controls = [0.0, 0.5, 1.0]
    world.step(n=100)
    assert world.state_vector.shape == (6,)
    np.testing.assert_array_equal(world.state_vector[4:], world.actuator_activations)
    # the filter follows a' = (u - a) / tau, the integrator a' = u; Euler steps of 2 ms
    np.testing.assert_allclose(world.actuator_activations[0], 0.5 * (1.0 - 0.99**100), rtol=1e-12)
    np.testing.assert_allclose(world.actuator_activations[1], 0.2, rtol=1e-12)
    lazy = world.state_space().get_variable("lazy.activation")
    assert lazy is not None and (lazy.lower_bound, lazy.upper_bound) == (-1.0, 1.0)


def test_controls_of_actuators_are_in_the_control_space():
    world = driven()
    names = world.control_space().variable_names
    assert names == ["arm.force", "direct.control", "lazy.control", "sum.control"]
    assert world.num_efforts == len(world.control_vector) == 5
    control = world.get_control(world.control_space())
    control["direct.control"] = [1.5]
    control["arm.force"] = [0.25, 0.0]
    world.set_control(control)
    assert world.actuator_controls.tolist() == [1.5, 0.0, 0.0]
    np.testing.assert_array_equal(world.control_vector, control.vector)
    direct = world.control_space().get_variable("direct.control")
    assert direct is not None and (direct.lower_bound, direct.upper_bound) == (-3.0, 3.0)
    # what a space of state names: its owners
    assert world.get_control(world.state_space()).space.variable_names == [
        "arm.force",
        "lazy.control",
        "sum.control",
    ]


def test_a_space_by_hand_may_name_actuators_in_any_order():
    world = driven()
    space = sx.StateSpace()
    space.add_variable("sum.activation").add_variable("arm.elbow.q").finalize()
    state = world.get_state(space)
    state["sum.activation"], state["arm.elbow.q"] = [0.75], [0.5]
    world.set_state(state)
    assert world.actuator_activations.tolist() == [0.0, 0.75]
    assert world.multibodies["arm"].joints["elbow"].position.tolist() == [0.5]
    for name, wrong, match in (
        ("direct.activation", worldline.ArgumentError, "has no activation"),
        ("lazzy.activation", worldline.NotFoundError, "lazy"),
    ):
        with pytest.raises(wrong, match=match):
            world.get_state(sx.StateSpace().add_variable(name).finalize())
    with pytest.raises(worldline.ArgumentError, match="1 number"):
        world.get_state(sx.StateSpace().add_variable("lazy.activation", 2).finalize())


def test_activations_are_written_checked_and_as_a_whole():
    world = driven()
    world.actuator_activations = [0.1, 0.2]
    for wrong in ([0.3], [0.3, np.nan], 0.3):
        with pytest.raises(worldline.ArgumentError):
            world.actuator_activations = wrong
    assert world.actuator_activations.tolist() == [0.1, 0.2]


@pytest.mark.parametrize("sleep", [False, True])
def test_a_state_that_is_set_again_continues_bit_for_bit(sleep):
    """The last step's forces, where the solver starts, come along; so do sleeping islands."""
    world = driven()
    if sleep:
        world.deactivation_options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.02)
        for k in range(3):
            box = world.add_rigid_body(f"box{k}", mass=1.0, position=(2, 0, 0.1 + 0.2 * k))
            box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.actuator_controls = [0.2, -0.6, 0.1]
    world.step(n=400)
    assert world.contacts
    assert not sleep or world.rigid_bodies["box0"].is_sleeping
    saved = world.get_state(world.state_space())
    world.step(n=150)
    once = bits(world)
    world.set_state(saved)
    world.step(n=150)
    assert bits(world) == once
    # nothing but the state: time and commands stay
    assert world.frame == 700 and world.actuator_controls.tolist() == [0.2, -0.6, 0.1]


def test_writing_back_what_was_read_changes_nothing():
    world, other = driven(), driven()
    for each in (world, other):
        each.actuator_controls = [0.2, -0.6, 0.1]
        each.step(n=300)
    world.state_vector = world.state_vector
    world.control_vector = world.control_vector
    world.step(n=100)
    other.step(n=100)
    assert bits(world) == bits(other)


@pytest.mark.parametrize(
    ("flag", "acting"), [('<flag actuation="disable"/>', []), ("", [0, 1, 2])], ids=["all", "none"]
)
def test_disabled_actuators_keep_their_entries(flag, acting):
    world = driven(flag)
    assert world.actuator_names == ["direct", "lazy", "sum"]
    world.actuator_controls = [2.0, 0.5, 1.0]
    assert world.actuator_controls.tolist() == [2.0, 0.5, 1.0]
    world.step(n=50)
    still = driven(flag)
    still.step(n=50)
    assert (bits(world) == bits(still)) == (not acting)
    assert world.clone().actuator_controls.tolist() == [2.0, 0.5, 1.0]
    again = sx.World.from_scene(world.to_scene())
    assert again.actuator_controls.tolist() == [2.0, 0.5, 1.0]


def test_disabled_groups_keep_their_entries_in_one_world_and_in_lanes():
    mujoco = pytest.importorskip("mujoco")
    flag = "<flag/>"
    text = SCENE.format(flag=flag).replace('timestep="0.002"', 'timestep="0.002" actuatorgroupdisable="1"')
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.actuator_controls = [2.0, 0.5, 1.0]
    world.step(n=50)
    peer = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(peer)
    data.ctrl[:] = [2.0, 0.5, 1.0]
    mujoco.mj_step(peer, data, 50)
    np.testing.assert_allclose(world.multibodies["arm"].joints.position, data.qpos, atol=1e-10)
    np.testing.assert_allclose(world.actuator_activations, data.act, atol=1e-12)
    built = msd.build(msd.from_str(text, format="mjcf"))
    lanes = wm.LaneSimulation(built, 4, integration_family="implicit-damping")
    assert lanes.control.shape == (4, 3)
    lanes.control[:] = [2.0, 0.5, 1.0]
    lanes.step(50)
    np.testing.assert_allclose(lanes.q[2], data.qpos, atol=1e-8)


def test_freedoms_have_names_of_their_own():
    world = sx.World()
    robot = world.add_multibody("robot")
    base = robot.add_link("base", joint=sx.JointSpec(name="p", type=sx.JointType.PLANAR))
    robot.add_link("tip", parent=base, joint=sx.JointSpec(name="p.0"))
    robot.add_link("top", parent=base, joint=sx.JointSpec(name="p.0_"))
    assert len(robot.dofs) == robot.num_dofs == 5
    assert robot.dofs.names == ["p.0__", "p.1", "p.2", "p.0", "p.0_"]
    robot.dofs["p.0"].position = 0.3
    robot.dofs["p.0__"].position = 0.7
    assert robot.joints["p.0"].position.tolist() == [0.3]
    assert robot.joints["p"].position.tolist() == [0.7, 0.0, 0.0]
    assert [dof.index_in_joint for dof in robot.dofs] == [0, 1, 2, 0, 0]
