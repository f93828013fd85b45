# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters written between steps reach the compiled world in place, with the bits of one compiled anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.constraints.tables import TABLE
from worldline.collision import CollisionShape

_ROBOT = """
<mujoco>
  <option timestep="0.002" density="{density}"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="torso" pos="0 0 0.35">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.05"/>
      <body name="upper" pos="0.2 0 0">
        <joint name="hip" axis="0 1 0" range="-20 20" limited="true" damping="0.3" stiffness="2"
               armature="0.01" frictionloss="0.05"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.03"/>
        <body name="lower" pos="0 0 -0.2">
          <joint name="knee" axis="0 1 0" range="-60 5" limited="true" damping="0.1" frictionloss="0.02"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.15" size="0.03"/>
        </body>
      </body>
    </body>
    <body name="arm" pos="1 0 1" gravcomp="0.5">
      <joint name="swing" axis="1 0 0" damping="0.2"/>
      <geom type="sphere" size="0.1" pos="0 0.3 0"/>
    </body>
    <body name="mast" pos="-1 0 1" euler="20 40 60">
      <joint name="socket" type="ball" range="0 10" limited="true" damping="0.02" frictionloss="0.01"/>
      <geom type="capsule" fromto="0 0 0 0.1 0.2 0.3" size="0.03"/>
    </body>
  </worldbody>
  <actuator>
    <position name="servo" joint="hip" kp="20" kv="1"/>
    <general name="lazy" joint="knee" dyntype="filterexact" dynprm="0.05"/>
  </actuator>
</mujoco>
"""


def _robot(density: float = 0.0) -> sx.World:
    world = sx.World.from_scene(msd.from_str(_ROBOT.format(density=density), format="mjcf"))
    world.actuator_controls = [0.3, 0.2]
    return world


def _fast() -> sx.World:
    """The robot with a limit of speed."""
    world = _robot()
    _joint("hip")(world).velocity_limits = [4.0]
    return world


def _arm() -> sx.World:
    """A chain without constraints, whose damping is taken at the end of the step."""
    world = sx.World(time_step=0.002)
    family = sx.MultibodyIntegrationFamily.IMPLICIT_DAMPING
    world.multibody_options = sx.MultibodyOptions(integration_family=family)
    robot, parent = world.add_multibody("arm"), None
    for k in range(3):
        parent = robot.add_link(
            f"l{k}",
            parent,
            sx.JointSpec(name=f"j{k}", axis=(0, k % 2, 1 - k % 2)),
            mass=1.0,
            inertia=(0.02, 0.03, 0.04),
            center_of_mass=(0.1, 0.0, 0.1),
        )
    robot.joints.damping_coefficient = 0.1
    for joint in robot.joints:
        joint.force = [12.0] * joint.num_dofs
    return world


def _boxes() -> sx.World:
    """Free bodies on a plane, one of which spins by itself."""
    world = sx.World(time_step=0.004)
    world.add_ground_plane()
    for k in range(3):
        box = world.add_rigid_body(f"box{k}", mass=1.0 + k, position=(0.0, 0.0, 0.25 + 0.5 * k))
        box.add_collision_shape(CollisionShape.box((0.3, 0.2, 0.25)))
        box.linear_velocity, box.angular_velocity = (1.0 * k, 0.0, 0.0), (0.1, 0.2, 0.3 * k)
    return world


def _joint(name: str) -> Callable[[sx.World], Any]:
    return lambda world: next(
        joint for robot in world.multibodies for joint in robot.joints if joint.name == name
    )


def _link(name: str) -> Callable[[sx.World], Any]:
    return lambda world: next(
        link for robot in world.multibodies for link in robot.links if link.name == name
    )


def _set(name: str, value: Any, of: Callable[[sx.World], Any] = lambda world: world) -> Any:
    return lambda world: setattr(of(world), name, value)


_CHANGES: dict[str, tuple[Callable[[], sx.World], Callable[[sx.World], object]]] = {
    "gravity": (_robot, _set("gravity", (0.5, 0.0, -3.7))),
    "time step": (_robot, _set("time_step", 0.003)),
    "mass": (_robot, _set("mass", 0.9, _link("lower"))),
    "mass in a fluid": (lambda: _robot(1.2), _set("mass", 0.9, _link("lower"))),
    "centre of mass": (_robot, _set("center_of_mass", (0.01, 0.02, -0.1), _link("lower"))),
    "inertia": (_robot, _set("inertia", np.diag([0.03, 0.02, 0.04]), _link("lower"))),
    "gravity compensation": (_robot, _set("gravity_compensation", 0.25, _link("arm"))),
    "armature": (_robot, _set("armature", [0.05], _joint("hip"))),
    "damping": (_robot, _set("damping_coefficient", [0.7], _joint("hip"))),
    "stiffness": (_robot, _set("spring_stiffness", [5.0], _joint("hip"))),
    "rest position": (_robot, _set("rest_position", [0.2], _joint("hip"))),
    "friction": (_robot, _set("coulomb_friction", [0.4], _joint("hip"))),
    "position limits": (_robot, lambda world: _joint("hip")(world).set_position_limits([-0.05], [0.02])),
    "one limit of two": (_robot, lambda world: _joint("hip")(world).set_position_limits([-np.inf], [0.0])),
    "limits of a ball": (
        _robot,
        lambda world: _joint("socket")(world).set_position_limits([-np.inf] * 3, [1e-4] * 3),
    ),
    "friction of a ball": (_robot, _set("coulomb_friction", 0.3, _joint("socket"))),
    "velocity limits": (_fast, _set("velocity_limits", [0.1], _joint("hip"))),
    "armature of a ball": (_robot, _set("armature", [0.01, 0.02, 0.03], _joint("socket"))),
    "armature of the base": (_robot, _set("armature", 0.2, lambda world: world.multibodies[0].joints[0])),
    "mass of the base": (_robot, _set("mass", 3.0, _link("torso"))),
    "mass in a turned frame": (_robot, _set("mass", 0.7, _link("mast"))),
    "inertia in a turned frame": (
        _robot,
        _set("inertia", [[0.03, 0.004, 0.002], [0.004, 0.02, 0.001], [0.002, 0.001, 0.04]], _link("mast")),
    ),
    "all mass properties": (
        _robot,
        _set("mass_properties", sx.Inertia.from_sphere(0.1, mass=0.8), _link("upper")),
    ),
    "boxes, friction": (_boxes, lambda world: setattr(world.rigid_bodies["box1"], "friction", 0.05)),
    "boxes, centre of mass": (
        _boxes,
        lambda world: setattr(world.rigid_bodies["box0"], "center_of_mass", (0.05, 0.02, -0.1)),
    ),
    "arm, gains": (_arm, _set("target_stiffness", [30.0], _joint("j1"))),
    "arm, effort limits": (_arm, _set("effort_limits", [3.0], _joint("j1"))),
    "arm, gravity": (_arm, _set("gravity", (0.0, 1.0, -9.0))),
    "arm, time step": (_arm, _set("time_step", 0.001)),
    "arm, mass": (_arm, _set("mass", 2.5, _link("l2"))),
    "arm, armature": (_arm, _set("armature", [0.3], _joint("j2"))),
    "arm, damping": (_arm, _set("damping_coefficient", [0.9], _joint("j1"))),
    "boxes, gravity": (_boxes, _set("gravity", (0.0, 1.0, -5.0))),
    "boxes, time step": (_boxes, _set("time_step", 0.002)),
    "boxes, mass": (_boxes, lambda world: setattr(world.rigid_bodies["box1"], "mass", 4.0)),
    "boxes, inertia": (
        _boxes,
        lambda world: setattr(world.rigid_bodies["box2"], "inertia", np.diag([0.2, 0.3, 0.25])),
    ),
}


@pytest.mark.parametrize("name", _CHANGES)
def test_written_parameters_have_the_bits_of_a_world_compiled_with_them(name: str) -> None:
    make, change = _CHANGES[name]
    changed, unchanged, anew = make(), make(), make()
    for world in (changed, unchanged, anew):
        world.step(n=6)
    runtime = changed._live()
    change(changed)
    change(anew)
    anew._topology_changed()
    for world in (changed, unchanged, anew):
        world.step(n=6)

    assert changed._live() is runtime, "nothing of the structure changed"
    assert anew._live() is not runtime
    fresh = anew._live()
    assert not np.array_equal(runtime.sim.v, unchanged._live().sim.v), "the parameter matters"
    for array in ("q", "v", "a"):
        np.testing.assert_array_equal(getattr(runtime.sim, array), getattr(fresh.sim, array))
    _assert_same_columns(runtime, fresh)


def _assert_same_columns(runtime: Any, fresh: Any) -> None:
    """All that was packed from the model is the same."""
    for name, array in vars(fresh.model).items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(getattr(runtime.model, name), array, err_msg=name)
    np.testing.assert_array_equal(runtime.model.arenas.index, fresh.model.arenas.index)
    np.testing.assert_array_equal(runtime.model.arenas.constant, fresh.model.arenas.constant)
    np.testing.assert_array_equal(runtime.sim._index, fresh.sim._index)
    np.testing.assert_array_equal(runtime.sim._constant, fresh.sim._constant)
    assert runtime.sim.schedule == fresh.sim.schedule
    assert runtime.sim.floating == fresh.sim.floating
    if runtime.constraints is None:
        assert fresh.constraints is None
        return
    for column in TABLE.columns:
        if column.space == "c":
            ours, theirs = runtime.constraints.column[column.name], fresh.constraints.column[column.name]
            np.testing.assert_array_equal(ours, theirs, err_msg=column.name)
    if runtime.constraints.collision is not None:
        ours, theirs = runtime.constraints.collision, fresh.constraints.collision
        np.testing.assert_array_equal(ours.c, theirs.c)
        np.testing.assert_array_equal(ours.column.shape_margin, theirs.column.shape_margin)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("coulomb_friction", [0.2]), ("velocity_limits", [2.0]), ("position_lower_limits", None)],
)
def test_the_first_row_of_a_kind_compiles_anew(attribute: str, value: Any) -> None:
    """A limit or friction where there was none needs a row, and one that goes leaves none behind."""
    world = _robot()
    world.step(n=3)
    runtime, joint = world._live(), _joint("swing")(world)
    if value is None:
        joint.set_position_limits([-0.1], [0.1])
    else:
        setattr(joint, attribute, value)
    world.step(n=3)
    assert world._live() is not runtime


def test_the_first_spring_adds_its_stage() -> None:
    world = _arm()
    for robot in world.multibodies:
        robot.joints.damping_coefficient = 0.0
    world.step(n=2)
    before, runtime = world._live().sim.stages, world._live()
    _joint("j1")(world).spring_stiffness = [4.0]
    world.step(n=1)
    assert world._live() is runtime
    names = [stage.name for stage in world._live().sim.stages]
    assert "add_passive_forces" in names and names != [stage.name for stage in before]


def test_several_writes_before_a_step_all_act() -> None:
    made = []
    for anew in (False, True):
        world = _robot()
        world.step(n=4)
        world.gravity = (0.0, 0.0, -2.0)
        world.time_step = 0.001
        _link("lower")(world).mass = 1.5
        _joint("hip")(world).coulomb_friction = [0.3]
        if anew:
            world._topology_changed()
        world.step(n=4)
        made.append(world._live().sim.v.copy())
    np.testing.assert_array_equal(*made)


def test_a_refused_write_changes_nothing() -> None:
    world, twin = _robot(), _robot()
    for each in (world, twin):
        each.step(n=2)
    with pytest.raises(ValueError, match="mass"):
        _link("lower")(world).mass = -1.0
    with pytest.raises(ValueError, match="non-negative"):
        _joint("hip")(world).coulomb_friction = [-0.5]
    with pytest.raises(ValueError, match="exceed"):
        _joint("hip")(world).set_position_limits([1.0], [-1.0])
    for each in (world, twin):
        each.step(n=3)
    np.testing.assert_array_equal(world._live().sim.v, twin._live().sim.v)


def test_sensors_see_a_parameter_at_once() -> None:
    text = """<mujoco><worldbody><body name="b"><joint name="j" axis="0 1 0"/>
      <geom type="sphere" size="0.1" pos="0.5 0 0"/><site name="s" pos="0.5 0 0"/></body></worldbody>
      <sensor><accelerometer name="acc" site="s"/></sensor></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.step(n=3)
    before = np.array(world.sensors["acc"].value)
    world.gravity = (0.0, 0.0, -1.0)
    after = np.array(world.sensors["acc"].value)
    world._topology_changed()
    np.testing.assert_array_equal(after, np.array(world.sensors["acc"].value))
    assert not np.allclose(before, after)


def test_the_first_compensation_by_an_actuator_acts() -> None:
    """Within the range of the actuator, which half a weight is beyond."""
    text = """<mujoco><worldbody><body name="b">
      <joint name="j" type="slide" axis="0 0 1" actuatorgravcomp="true" actuatorfrcrange="-1 1"/>
      <geom type="sphere" size="0.1" mass="1"/></body></worldbody>
      <actuator><motor joint="j"/></actuator></mujoco>"""
    made = []
    for anew in (False, True):
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        world.step(n=2)
        _link("b")(world).gravity_compensation = 0.5
        if anew:
            world._topology_changed()
        world.step(n=2)
        made.append(float(world._live().sim.a[0]))
    assert made[0] == made[1]
    assert made[0] == pytest.approx(-9.81 + 1.0, abs=1e-12)
