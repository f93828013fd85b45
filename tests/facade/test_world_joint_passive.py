# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Springs, dampers, dry friction and armature of joints between bodies, against tree joints and MuJoCo."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from worldline import ArgumentError, SceneError, UnknownCapabilityError, model, msd
from worldline import simulation as sx
from worldline._src.facade.force_shares import force_shares

REVOLUTE, PRISMATIC = sx.JointType.REVOLUTE, sx.JointType.PRISMATIC
PARAMETERS = {
    "spring": {"spring_stiffness": 30.0, "rest_position": [0.4]},
    "damper": {"damping_coefficient": 5.0},
    "armature": {"armature": 0.5},
    "friction": {"coulomb_friction": 1.5},
    "all": {
        "spring_stiffness": 30.0,
        "rest_position": [-0.2],
        "damping_coefficient": 0.6,
        "armature": 0.05,
        "coulomb_friction": 0.4,
    },
}
FAMILIES = ("semi-implicit", "implicit-damping", "runge-kutta-4", "implicit-velocity")
MASSES = {"mass": 2.0, "inertia": (0.1, 0.2, 0.3), "center_of_mass": (0.3, 0, 0)}


def made(family: str, kind: sx.JointType, in_tree: bool, h: float = 0.001, **parameters):
    """A link that one joint ties to the world, as part of a tree or beside a floating one."""
    gravity = (0, 0, -9.81) if kind is REVOLUTE else (0, 3.0, 0)
    world = sx.World(time_step=h, gravity=gravity, multibody_options=sx.MultibodyOptions(family))
    robot = world.add_multibody("robot")
    spec = sx.JointSpec(name="joint", type=kind, axis=(0, 1, 0), **parameters)
    if in_tree:
        base = robot.add_link("base")
        robot.add_link("link", parent=base, joint=spec, **MASSES)
        return world, robot.joints["joint"]
    link = robot.add_link("link", joint=sx.JointSpec(type=sx.JointType.FLOATING), **MASSES)
    return world, world.add_joint(link, spec)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
@pytest.mark.parametrize("which", PARAMETERS)
def test_they_act_as_in_a_tree(which, kind, family):
    found, plain = [], []
    for in_tree in (True, False):
        world, joint = made(family, kind, in_tree, **PARAMETERS[which])
        world.step(n=300)
        found.append([*joint.position, *joint.velocity])
    world, joint = made(family, kind, False)
    world.step(n=300)
    plain = [*joint.position, *joint.velocity]
    # free bodies and hinges carry velocities at the ends of a step differently, to first order
    np.testing.assert_allclose(
        found[1], found[0], rtol=1e-7 if family == "runge-kutta-4" else 2e-5, atol=1e-9
    )
    assert np.abs(np.subtract(found[1], plain)).max() > 0.01


def test_strong_damping_is_stable_where_it_is_implicit():
    """h d is fifty times the inertia."""
    ends = []
    for in_tree in (True, False):
        world, joint = made("implicit-damping", REVOLUTE, in_tree, damping_coefficient=2e4)
        world.step(n=200)
        ends.append(joint.velocity[0])
    assert ends[1] == pytest.approx(ends[0], rel=1e-3)
    # the speed at which damping carries the weight
    assert ends[1] == pytest.approx(2.0 * 9.81 * 0.3 / 2e4, rel=1e-3)


def test_friction_holds_up_to_its_bound_and_no_further():
    # gravity pulls with 6 N along the rail
    for friction, moves in ((6.5, False), (5.5, True)):
        world, joint = made("semi-implicit", PRISMATIC, False, coulomb_friction=friction)
        world.step(n=1000)
        assert (joint.position[0] > 0.05) == moves
        if moves:
            assert joint.velocity[0] == pytest.approx(0.25, rel=2e-2)
        else:
            assert joint.position[0] < 0.02


def test_a_spring_pulls_the_shorter_way():
    world, joint = made("semi-implicit", REVOLUTE, False, h=0.0005)
    world.gravity = (0, 0, 0)
    joint.spring_stiffness, joint.rest_position, joint.damping_coefficient = 20.0, [3.5], 8.0
    world.step(n=8000)
    assert joint.position[0] == pytest.approx(3.5 - 2.0 * np.pi, abs=1e-3)


def test_between_two_bodies_the_momentum_stays():
    world = sx.World(gravity=(0, 0, 0), time_step=0.0005)
    a = world.add_rigid_body("a", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b = world.add_rigid_body("b", mass=2.0, inertia=(0.2, 0.2, 0.2), position=(1, 0, 0))
    spec = sx.JointSpec(type=PRISMATIC, axis=(1, 0, 0), **(PARAMETERS["all"] | {"coulomb_friction": None}))
    joint = world.add_joint(a, b, spec)
    b.linear_velocity = (0.5, 0.3, 0.2)
    world.step(n=1000)
    moved = 1.0 * a.linear_velocity + 2.0 * b.linear_velocity
    np.testing.assert_allclose(moved, [1.0, 0.6, 0.4], atol=1e-9)
    assert abs(joint.position[0] + 0.2) < 0.2


def test_an_oscillator_with_armature_has_the_period_of_both_masses():
    world, joint = made("runge-kutta-4", PRISMATIC, False, spring_stiffness=200.0, armature=3.0)
    world.gravity = (0, 0, 0)
    world.multibodies["robot"].links["link"].parent_joint.position = [0, 0.1, 0, 0, 0, 0]
    world.step(n=400)
    assert joint.position[0] == pytest.approx(0.1 * np.cos(np.sqrt(200.0 / 5.0) * 0.4), abs=1e-7)


def test_a_broken_joint_lets_go_of_its_spring():
    world, joint = made("semi-implicit", PRISMATIC, False, spring_stiffness=1000.0, rest_position=[0.5])
    joint.break_force = 1.0
    world.gravity = (0, 0, -9.81)
    world.step(n=2)
    assert joint.is_broken
    before = joint.velocity[0]
    world.step(n=50)
    assert joint.velocity[0] == pytest.approx(before, abs=1e-9)


def test_the_ledger_names_their_work():
    world, joint = made("semi-implicit", REVOLUTE, False, **PARAMETERS["all"])
    world.step(n=150)
    ledger = world.energy_ledger()
    h, speed = world.time_step, joint.velocity[0]
    assert ledger.springs == pytest.approx(-30.0 * (joint.position[0] + 0.2) * speed * h, rel=2e-2)
    assert ledger.damping == pytest.approx(-0.6 * speed * speed * h, rel=2e-2)
    assert ledger.joint_friction == pytest.approx(-0.4 * abs(speed) * h, rel=2e-2)
    assert abs(ledger.unexplained) < 1e-10


def test_mujoco_agrees():
    """A hinge closed by a connect and a weld-free axis in MuJoCo is its own hinge: the same numbers."""
    mujoco = pytest.importorskip("mujoco")
    text = """
    <mujoco><option timestep="0.001" integrator="RK4"/>
      <worldbody><body>
        <joint name="j" type="hinge" axis="0 1 0" stiffness="30" springref="-11.459155902616466" damping="0.6"
               armature="0.05"/>
        <inertial pos="0.3 0 0" mass="2" diaginertia="0.1 0.2 0.3"/>
      </body></worldbody>
    </mujoco>"""
    peer = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(peer)
    parameters = {name: value for name, value in PARAMETERS["all"].items() if name != "coulomb_friction"}
    world, joint = made("runge-kutta-4", REVOLUTE, False, **parameters)
    for _ in range(300):
        mujoco.mj_step(peer, data)
    world.step(n=300)
    assert joint.position[0] == pytest.approx(data.qpos[0], rel=1e-7)
    assert joint.velocity[0] == pytest.approx(data.qvel[0], rel=1e-7)


# ---- reading, writing, refusing


def test_they_are_read_and_written_in_any_mode():
    world, joint = made("semi-implicit", REVOLUTE, False)
    assert joint.spring_stiffness.tolist() == joint.armature.tolist() == [0.0]
    world.step()
    joint.spring_stiffness, joint.rest_position = 4.0, [0.3]
    joint.damping_coefficient, joint.coulomb_friction, joint.armature = [0.5], 0.25, 0.125
    other = copy.deepcopy(world)
    for one in (joint, other.joints["joint"] if "joint" in other.joints.names else other.get_joint("joint")):
        found = [one.spring_stiffness, one.rest_position, one.damping_coefficient]
        found += [one.coulomb_friction, one.armature]
        assert [number.tolist() for number in found] == [[4.0], [0.3], [0.5], [0.25], [0.125]]
    world.step(n=20)
    other.step(n=20)
    assert world.state_vector.tobytes() == other.state_vector.tobytes()


@pytest.mark.parametrize("name", ["spring_stiffness", "damping_coefficient", "coulomb_friction", "armature"])
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, [1.0, 2.0]])
def test_numbers_that_mean_nothing_are_refused(name, bad):
    world, joint = made("semi-implicit", REVOLUTE, False, **{name: 0.5})
    with pytest.raises(ArgumentError, match=f"{name} of joint 'joint'"):
        setattr(joint, name, bad)
    assert getattr(joint, name).tolist() == [0.5]
    with pytest.raises(ArgumentError):
        made("semi-implicit", REVOLUTE, False, **{name: bad})
    world.step()


@pytest.mark.parametrize(
    "kind", [sx.JointType.FIXED, sx.JointType.SPHERICAL, sx.JointType.UNIVERSAL, sx.JointType.PLANAR]
)
def test_joints_without_a_single_axis_refuse_them_by_name(kind):
    world = sx.World()
    body = world.add_rigid_body("body", mass=1.0, inertia=(1, 1, 1))
    for name in PARAMETERS["all"]:
        with pytest.raises(ArgumentError, match=f"{kind.name} joint between bodies has no {name}"):
            world.add_joint(body, sx.JointSpec(type=kind, axis2=(1, 0, 0), **{name: [1.0]}))
    joint = world.add_joint(body, sx.JointSpec(type=kind, axis2=(1, 0, 0)))
    for name in PARAMETERS["all"]:
        assert getattr(joint, name).tolist() == [0.0] * joint.num_dofs
        with pytest.raises(UnknownCapabilityError, match=name):
            setattr(joint, name, 1.0)


def test_scenes_refuse_what_no_row_does():
    world, _ = made("semi-implicit", REVOLUTE, False, **PARAMETERS["all"])
    scene = world.to_scene()
    assert msd.from_str(scene.to_str(), format="msd") == scene
    assert msd.build(scene).loop_joints.spring.tolist() == [[30.0, -0.2, 0.6]]
    scene.joints[0].joint.spring_damper = msd.SpringDamper()
    with pytest.raises(SceneError, match="frequency and damping ratio"):
        scene.validate()
    scene = world.to_scene()
    scene.joints[0].joint.type_ = "Ball"
    with pytest.raises(SceneError, match=r"\$.joints\[0\].joint.armature"):
        scene.validate()


def test_switches_of_a_scene_turn_them_off():
    for switch, column in (("disable_springs", 0), ("disable_damping", 2)):
        world, _ = made("semi-implicit", REVOLUTE, False, **PARAMETERS["all"])
        scene = world.to_scene()
        setattr(scene.simulate_option, switch, True)
        assert msd.build(scene).loop_joints.spring[0, column] == 0.0
    scene = made("semi-implicit", REVOLUTE, False, **PARAMETERS["all"])[0].to_scene()
    scene.simulate_option.disable_frictionloss = True
    assert msd.build(scene).loop_joints.friction[0] == 0.0


def test_lanes_refuse_joints_between_bodies_by_name():
    world, _ = made("semi-implicit", REVOLUTE, False, **PARAMETERS["all"])
    with pytest.raises(Exception, match="joints between bodies"):
        model.LaneSimulation(msd.build(world.to_scene()), 4)


def test_shares_of_forces_have_the_sign_of_the_spring_and_the_damper():
    """A body on a prismatic joint along y at 0.2 with 3 m/s: -k (y - rest) and -d v on its y."""
    world, joint = made("semi-implicit", PRISMATIC, False, spring_stiffness=30.0, damping_coefficient=0.5)
    runtime = world._live()
    runtime.sim.q[1], runtime.sim.v[1] = 0.2, 3.0
    runtime.sim.written()
    assert joint.position[0] == pytest.approx(0.2)
    q = runtime.sim.q.copy()
    world.step()
    shares = force_shares(runtime, q)
    assert shares.springs[1] == pytest.approx(-30.0 * 0.2, rel=1e-6)
    assert shares.damping[1] == pytest.approx(-0.5 * 3.0, rel=1e-2)
