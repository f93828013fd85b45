# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors of a World: found by name, fresh after any write, quiet about what they cannot know."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.viewer import quantities

_BODY = """
  <geom name="floor" type="plane" size="0 0 1"/>
  <body name="ball" pos="0 0 1"><freejoint name="free"/><geom name="skin" size=".1" mass="2"/>
    <site name="all" size=".2"/><site name="top" pos="0 0 .1" euler="0 90 0" size=".02"/></body>
  <body name="arm" pos="2 0 1"><joint name="hinge" axis="0 1 0" range="-1 1"/><geom size=".1" pos=".5 0 0" mass="1"/>
    <site name="root"/></body>"""


def scene(sensors: str, option: str = "") -> sx.World:
    text = f"<mujoco><option {option}/><worldbody>{_BODY}</worldbody><sensor>{sensors}</sensor></mujoco>"
    return sx.World.from_scene(msd.from_str(text, format="mjcf"))


def test_sensors_are_a_collection_in_the_order_of_the_file():
    world = scene('<touch name="t" site="all"/><jointpos name="q" joint="hinge"/><gyro name="g" site="top"/>')
    sensors = world.sensors
    assert sensors.names == ["t", "q", "g"] and len(sensors) == 3
    assert [s.kind for s in sensors] == ["touch", "joint_position", "gyro"]
    assert [s.dim for s in sensors] == [1, 1, 3] and sensors.dim == 5
    assert sensors["q"] is sensors[1] is sensors.get("q") and sensors.get("nothing") is None
    assert [s.span for s in sensors] == [slice(0, 1), slice(1, 2), slice(2, 5)]
    assert [s.needs_dynamics for s in sensors] == [True, False, False]
    assert repr(sensors["g"]) == "Sensor('g', gyro)"
    with pytest.raises(KeyError, match=r"no sensor 'gg'.*'g'"):
        sensors["gg"]


def test_a_world_without_sensors_has_an_empty_collection():
    world = sx.World()
    assert len(world.sensors) == 0 and world.sensors.values.shape == (0,) and world.sensors.dim == 0


def test_all_values_are_those_of_the_sensors_one_after_the_other():
    world = scene('<gyro name="g" site="top"/><accelerometer site="top"/><subtreecom body="arm"/><clock/>')
    world.multibodies["arm"].joints[0].velocity = [2.0]
    world.step(n=20)
    everything = world.sensors.values
    assert everything.shape == (world.sensors.dim,)
    for sensor in world.sensors:
        assert everything[sensor.span].tolist() == sensor.value.tolist()


def test_values_see_every_write_at_once():
    world = scene('<jointpos name="q" joint="hinge"/><accelerometer name="a" site="top"/><clock name="c"/>')
    joint = world.multibodies["arm"].joints[0]
    joint.position = [0.25]
    assert world.sensors["q"].value.tolist() == [0.25]
    assert abs(world.sensors["a"].value).max() < 1e-12  # it falls
    ball = world.rigid_bodies["ball"]
    ball.force = (0, 0, 2 * 9.81)
    np.testing.assert_allclose(world.sensors["a"].value, (-9.81, 0, 0), atol=1e-12)
    world.step()
    np.testing.assert_allclose(world.sensors["a"].value, (-9.81, 0, 0), atol=1e-12)
    ball.clear_force()
    assert abs(world.sensors["a"].value).max() < 1e-12
    world.gravity = (0, 0, 5)
    assert abs(world.sensors["a"].value).max() < 1e-12
    world.step()
    assert world.sensors["c"].value.tolist() == [world.time]


def test_a_reading_is_the_callers_own():
    world = scene('<accelerometer name="a" site="root"/><jointpos name="q" joint="hinge"/>')
    for name in ("a", "q"):
        sensor = world.sensors[name]
        before = sensor.value
        with pytest.raises(ValueError, match="read-only"):
            sensor.value[:] = 99.0
        assert sensor.value.tolist() == before.tolist()


def test_reading_changes_no_bit_of_the_next_steps():
    sensors = (
        '<accelerometer site="top"/><touch site="all"/><force site="root"/><jointlimitfrc joint="hinge"/>'
    )
    watched, alone = scene(sensors), scene(sensors)
    for world in (watched, alone):
        world.rigid_bodies["ball"].linear_velocity = (0.3, 0.1, -1.0)
    for _ in range(400):
        watched.sensors.values  # noqa: B018
        watched.step()
        alone.step()
        assert len(watched.contacts) == len(alone.contacts)
    assert watched.sensors[1].value[0] > 1.0  # it lies on the floor
    assert watched.state_vector.tobytes() == alone.state_vector.tobytes()


def test_a_ball_at_rest_presses_with_its_weight():
    world = scene('<touch name="t" site="all"/><accelerometer name="a" site="top"/>')
    world.rigid_bodies["ball"].translation = (0, 0, 0.1)
    world.step(n=2000)
    assert world.sensors["t"].value == pytest.approx(2 * 9.81, rel=1e-6)
    np.testing.assert_allclose(world.sensors["a"].value, (-9.81, 0, 0), atol=1e-5)


@pytest.mark.parametrize("family", sx.MultibodyIntegrationFamily)
def test_forces_are_known_whatever_integrates(family):
    text = """<mujoco><worldbody><body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0" damping="3"/>
      <geom size=".1" pos=".5 0 0" mass="1" contype="0" conaffinity="0"/><site name="root"/></body></worldbody>
      <sensor><frameangacc objtype="site" objname="root"/><force site="root"/></sensor></mujoco>"""
    found = []
    for chosen in (sx.MultibodyIntegrationFamily.SEMI_IMPLICIT, family):
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        world.multibody_options = sx.MultibodyOptions(integration_family=chosen)
        joint = world.multibodies["arm"].joints[0]
        joint.position, joint.velocity = [0.3], [2.0]
        found.append(world.sensors.values)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-12)
    assert abs(found[0][1]) > 1.0


def test_readings_are_clipped_and_noise_is_not_added():
    world = scene(
        '<jointvel name="v" joint="hinge" cutoff=".5"/><jointpos name="q" joint="hinge" noise="7" cutoff="0"/>'
    )
    joint = world.multibodies["arm"].joints[0]
    joint.position, joint.velocity = [0.75], [-3.0]
    assert world.sensors.values.tolist() == [-0.5, 0.75]
    assert world.sensors["v"].cutoff == 0.5 and world.sensors["q"].noise == 7.0


def test_what_cannot_be_read_is_refused_by_name():
    world = scene('<jointpos name="slow" joint="hinge" interval=".1"/><jointpos name="q" joint="hinge"/>')
    with pytest.raises(NotImplementedError, match="sensor 'slow': readings with a period"):
        world.sensors["slow"].value  # noqa: B018
    assert np.isnan(world.sensors.values[0]) and world.sensors.values[1] == 0.0
    assert list(world.sensors.refused) == ["slow"]
    assert "readings with a period" in world.sensors.refused["slow"]
    assert world.sensors["q"].value.tolist() == [0.0]
    assert quantities.sensor_names(world) == ["q"]


def test_forces_beside_what_nobody_knows_are_refused():
    world = scene(
        '<force name="f" site="root"/><accelerometer name="a" site="root"/>', option='density="1.2"'
    )
    with pytest.raises(NotImplementedError, match=r"sensor 'f' \(force\).*a fluid"):
        world.sensors["f"].value  # noqa: B018
    assert world.sensors["a"].value.shape == (3,)


def test_a_sensor_goes_with_what_it_measures():
    world = scene('<jointpos name="q" joint="hinge"/><gyro name="g" site="top"/>')
    joint, gyro = world.sensors["q"], world.sensors["g"]
    world.step()
    with world.edit():
        world.remove(world.multibodies["arm"])
    assert world.sensors.names == ["g"] and gyro.is_valid and not joint.is_valid
    assert gyro.value.shape == (3,) and world.sensors["g"] is gyro
    assert repr(joint) == "Sensor('q', removed)"
    with pytest.raises(RuntimeError, match=r"'q'.*not valid any more"):
        joint.value  # noqa: B018


def test_an_inertial_unit_measures_acceleration_and_rate():
    described = msd.from_str(f"<mujoco><worldbody>{_BODY}</worldbody></mujoco>", format="mjcf")
    turned = (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))
    described.sensors.imu = [msd.ImuSensor(name="unit", link="arm", orientation=turned)]
    world = sx.World.from_scene(described)
    world.multibodies["arm"].joints[0].velocity = [2.0]
    unit = world.sensors["unit"]
    assert unit.kind == "imu" and unit.dim == 6
    # at the hinge there is no acceleration but that against gravity; z of the world is -x of the unit
    np.testing.assert_allclose(unit.value, (-9.81, 0, 0, 0, 2, 0), atol=1e-12)


def test_an_inertial_unit_is_added_in_design_mode():
    world = sx.World()
    box = world.add_rigid_body("box", position=(0, 0, 1), angular_velocity=(0, 0, 3))
    offset = np.eye(4)
    offset[0, 3] = 0.5
    unit = world.sensors.add_imu("unit", attach_to=box, offset=offset, noise=0.1)
    other = world.sensors.add_imu(attach_to=box)
    assert world.sensors.names == ["unit", "imu_001"] and unit.noise == 0.1 and other.name == "imu_001"
    # what falls feels nothing but that it turns
    np.testing.assert_allclose(unit.value, (-0.5 * 9, 0, 0, 0, 0, 3), atol=1e-12)
    world.step(n=10)
    reading = unit.read()
    assert (reading.time, reading.frame) == (world.time, 10) and reading.value.tolist() == unit.value.tolist()
    with pytest.raises(RuntimeError, match="adding a sensor"):
        world.sensors.add_imu("late", attach_to=box)
    with world.edit():
        world.sensors.add_imu("late", attach_to=box)
    assert world.sensors.names == ["unit", "imu_001", "late"] and unit.is_valid


def test_an_inertial_unit_with_a_bad_mount_or_name_is_refused():
    world, elsewhere = sx.World(), sx.World()
    box, stranger = world.add_rigid_body("box"), elsewhere.add_rigid_body("box")
    world.sensors.add_imu("unit", attach_to=box)
    with pytest.raises(ValueError, match="already"):
        world.sensors.add_imu("unit", attach_to=box)
    for mount in (stranger, sx.Frame.world(), "box"):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            world.sensors.add_imu("more", attach_to=mount)  # type: ignore[arg-type]
    assert world.sensors.names == ["unit"]


def test_a_sensor_follows_a_frame_that_is_moved():
    described = msd.from_str(f"<mujoco><worldbody>{_BODY}</worldbody></mujoco>", format="mjcf")
    described.frames = [msd.Frame(name="tool", kind=msd.FrameKind.Free, parent_link="ball")]
    told = {"object_type": msd.ObjectType.frame("tool"), "ref_frame": msd.FrameSensorRef.world()}
    described.sensors.frame = [msd.FrameSensor(name="p", **told)]
    world = sx.World.from_scene(described)
    np.testing.assert_allclose(world.sensors["p"].value, (0, 0, 1), atol=1e-12)
    tool, pose = world.frames["tool"], np.eye(4)
    pose[:3, 3] = (0.25, 0, 0)
    assert isinstance(tool, sx.FreeFrame)
    tool.local_transform = pose
    np.testing.assert_allclose(world.sensors["p"].value, (0.25, 0, 1), atol=1e-12)


def test_a_position_in_its_own_frame_is_refused():
    described = msd.from_str(f"<mujoco><worldbody>{_BODY}</worldbody></mujoco>", format="mjcf")
    described.sensors.frame = [msd.FrameSensor(name="p", object_type=msd.ObjectType.link("arm"))]
    world = sx.World.from_scene(described)
    with pytest.raises(NotImplementedError, match=r"sensor 'p' .*name a reference"):
        world.sensors["p"].value  # noqa: B018


def test_sensors_in_a_tick_of_kinematics():
    world = scene('<framepos name="p" objtype="site" objname="top"/><touch site="all"/>')
    world.rigid_bodies["ball"].translation = (0, 0, 5)
    world.step_kinematics(n=2, update_sensors=True)
    np.testing.assert_allclose(world.sensors["p"].value, (0, 0, 5.1), atol=1e-12)


def test_chosen_sensors_become_a_plot():
    world = scene('<gyro name="g" site="top"/><jointpos name="q" joint="hinge"/>')
    assert quantities.sensor_names(world) == ["g", "q"]
    world.multibodies["arm"].joints[0].position = [0.5]
    quantity = quantities.sensors(world, ("q", "g"))
    assert quantity.names == ("q", "g[0]", "g[1]", "g[2]") and quantity.read() == (0.5, 0.0, 0.0, 0.0)


def test_a_sensor_that_cannot_be_read_leaves_the_others_alone():
    """Also among those that need forces: a site of the world carries nothing."""
    text = """<mujoco><worldbody><site name="fixed"/><body name="b" pos="0 0 5"><freejoint/>
      <geom size=".1" mass="1"/><site name="on"/></body></worldbody><sensor><force name="no" site="fixed"/>
      <accelerometer name="yes" site="on"/><framepos name="at" objtype="body" objname="b"/></sensor></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text))
    found = world.sensors.values
    assert np.isnan(found[:3]).all() and found[3:].tolist() == [0, 0, 0, 0, 0, 5]
    assert list(world.sensors.refused) == ["no"]


def test_solvers_that_nobody_asked_for_have_no_arrays():
    world = scene('<accelerometer site="top"/>')
    world.step(n=5)
    constraints = world._live().constraints
    names = [name for name in constraints.block.names if name.startswith("lcp_")]
    assert names and all(constraints.column[name].size == 0 for name in names)
    world.contact_solver_method = sx.ContactSolverMethod.BOXED_LCP
    world.step()
    assert world._live().constraints.column["lcp_A"].size > 0


def test_values_follow_parameters_that_are_written():
    """A spring and a mass, with no step in between."""
    world = scene('<accelerometer name="a" site="top"/><e_potential name="e"/>')
    before = world.sensors.values
    world.rigid_bodies["ball"].mass = 4.0
    after = world.sensors["e"].value
    # 2 kg more at a height of 1 m
    np.testing.assert_allclose(after - before[3:], 2.0 * 9.81, rtol=1e-9)
    assert world.sensors["a"].value.tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
