# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scenes of the golden set: every kind of joint, solver, integrator, sensor, closure, tendon and actuator.

A scene is a function that returns a World, or a `LaneSimulation` for worlds in lanes. It is made the same way
each time, without files from outside of the project, and is small, so that the whole set runs in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import worldline
from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape
from worldline.model import LaneSimulation

SCENES: dict[str, Callable[[], sx.World | LaneSimulation]] = {}
"""Every scene by its name."""

Family = sx.MultibodyIntegrationFamily
Solver = sx.ContactSolverMethod
ROBOTS = Path(worldline.__file__).parent / "_src" / "cli" / "data"


def _of_text(text: str) -> sx.World:
    """A World of an MJCF text, with the first actuators at half of their range."""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    controls = world.actuator_controls
    world.actuator_controls = 0.3 * np.cos(np.arange(len(controls)))
    return world


def _add(name: str, make: Callable[[], sx.World | LaneSimulation]) -> None:
    assert name not in SCENES, name
    SCENES[name] = make


# ---- joints: a chain of two links for each type, and one tree of all of them in each integration family

_SPECS: dict[sx.JointType, dict] = {
    sx.JointType.REVOLUTE: {"axis": (0.2, 1.0, 0.1)},
    sx.JointType.PRISMATIC: {"axis": (0.3, 0.1, 1.0), "spring_stiffness": 30.0},
    sx.JointType.SCREW: {"axis": (0.0, 0.2, 1.0), "pitch": 0.2, "spring_stiffness": 20.0},
    sx.JointType.UNIVERSAL: {"axis": (1.0, 0.0, 0.0), "axis2": (0.0, 1.0, 0.0)},
    sx.JointType.SPHERICAL: {},
    sx.JointType.PLANAR: {"axis": (1.0, 0.0, 0.0), "axis2": (0.0, 0.0, 1.0)},
    sx.JointType.FLOATING: {},
    sx.JointType.EULER: {"euler_order": "zyx"},
    sx.JointType.TRANSLATIONAL: {},
    sx.JointType.TRANSLATIONAL_2D: {"axis": (1.0, 0.0, 0.0), "axis2": (0.0, 1.0, 0.0)},
    sx.JointType.DISTANCE: {"distance_limits": (0.0, 1.5)},
    sx.JointType.D6: {"linear_axes": [(0, 0, 1)], "angular_axes": [(1, 0, 0), (0, 1, 0)]},
}


def _shift(x: float, y: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = (x, y, z)
    return pose


def _chain_of(kind: sx.JointType) -> sx.World:
    world = sx.World(time_step=0.002)
    robot = world.add_multibody("robot")
    link = robot.add_link("base")
    for k in range(2):
        spec = sx.JointSpec(f"j{k}", kind, transform_to_parent=_shift(0.1, 0.05 * k, -0.4), **_SPECS[kind])
        link = robot.add_link(
            f"l{k}",
            parent=link,
            joint=spec,
            mass=1.0 + k,
            inertia=(0.02, 0.03, 0.04),
            center_of_mass=(0.1, 0.02, -0.2),
        )
    dofs = len(robot.joints.velocity)
    robot.joints.velocity = 0.5 * np.sin(1.0 + np.arange(dofs))
    return world


def _every_joint(family: Family) -> sx.World:
    world = sx.World(time_step=0.001, multibody_options=sx.MultibodyOptions(integration_family=family))
    robot = world.add_multibody("robot")
    base = robot.add_link("base")
    for k, (kind, options) in enumerate(_SPECS.items()):
        if kind is sx.JointType.DISTANCE:
            # its limits are rows, which variational steps refuse
            continue
        spec = sx.JointSpec(
            kind.value,
            kind,
            transform_to_parent=_shift(0.3 * k, 0.0, 0.0),
            damping_coefficient=0.1,
            **options,
        )
        robot.add_link(
            f"link of {kind.value}",
            parent=base,
            joint=spec,
            mass=1.0 + 0.1 * k,
            inertia=(0.02, 0.03, 0.04),
            center_of_mass=(0.1, 0.02, -0.2),
        )
    robot.joints.velocity = 0.5 * np.sin(1.0 + np.arange(len(robot.joints.velocity)))
    return world


for _kind in _SPECS:
    _add(f"joint {_kind.value}", lambda kind=_kind: _chain_of(kind))
for _family in Family:
    _add(f"every joint, {_family.value}", lambda family=_family: _every_joint(family))

# ---- contacts: solvers, laws, shapes, sleeping


def _heap(solver: Solver, count: int = 24, **keywords) -> sx.World:
    world = sx.World(time_step=0.002, contact_solver_method=solver, **keywords)
    ground = world.add_rigid_body("ground", fixed=True)
    ground.set_collision_shape(CollisionShape.plane())
    shapes = (
        CollisionShape.box((0.1, 0.08, 0.06)),
        CollisionShape.sphere(0.09),
        CollisionShape.capsule(0.06, 0.08),
        CollisionShape.cylinder(0.08, 0.07),
    )
    for k in range(count):
        place = (0.11 * (k % 3) + 0.01 * (k % 2), 0.12 * (k // 3 % 2), 0.15 + 0.2 * (k // 6))
        body = world.add_rigid_body(f"b{k}", mass=0.5 + 0.1 * (k % 4), position=place)
        body.set_collision_shape(shapes[k % 4])
        body.friction, body.restitution = 0.5, 0.3 if k % 5 == 0 else 0.0
    return world


for _solver in Solver:
    _add(f"heap of 8, {_solver.value}", lambda solver=_solver: _heap(solver, 8))
_add("heap of 40, sequential-impulse", lambda: _heap(Solver.SEQUENTIAL_IMPULSE, 40))
_add(
    "sleeping heap",
    lambda: _heap(
        Solver.SEQUENTIAL_IMPULSE,
        6,
        deactivation_options=sx.DeactivationOptions(
            enabled=True, linear_speed_threshold=0.05, angular_speed_threshold=0.2, time_until_sleep=0.1
        ),
    ),
)

_PILE = """<mujoco><option timestep="0.002" {option}/><default><geom {geom}/></default><worldbody>
  <geom type="plane" size="5 5 .1" euler="2 -3 0"/>
  <body pos="0 0 .15"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>
  <body pos=".02 .05 .4"><freejoint/><geom type="ellipsoid" size=".08 .06 .05" mass=".4"/></body>
  <body pos="-.03 .1 .6"><freejoint/><geom type="capsule" size=".06 .12" mass=".7"/></body>
  <body pos=".05 -.05 .8" euler="80 10 0"><freejoint/><geom type="cylinder" size=".05 .15" mass=".7"/></body>
  <body pos=".3 0 .3" euler="20 30 0"><freejoint/><geom type="box" size=".1 .08 .06" mass="2"/></body>
</worldbody></mujoco>"""
for _cone in ("pyramidal", "elliptic"):
    for _condim in (1, 3, 4, 6):
        _add(
            f"{_cone} contacts, condim {_condim}",
            lambda cone=_cone, condim=_condim: _of_text(
                _PILE.format(option=f'cone="{cone}" impratio="2"', geom=f'condim="{condim}"')
            ),
        )
_add("no-slip", lambda: _of_text(_PILE.format(option='noslip_iterations="5"', geom='friction=".4 .01 .001"')))
_add("fluid", lambda: _of_text(_PILE.format(option='density="1.2" viscosity="1e-3" wind="1 2 0"', geom="")))


def _scene_with(law: msd.ConstraintForceModel) -> msd.Scene:
    scene = msd.from_str(_PILE.format(option="", geom=""), format="mjcf")
    for geom in [*scene.hierarchy.geoms, *(geom for link in scene.hierarchy.links() for geom in link.geoms)]:
        geom.physics_material.contact_model = law
    return scene


_LAWS = {
    "hard": lambda: msd.ConstraintForceModel.hard(erp=0.2, bounciness=0.4),
    "force spring": lambda: msd.ConstraintForceModel.force_spring(msd.StiffnessDamping(k=4e4, d=200.0)),
    "acceleration spring": lambda: msd.ConstraintForceModel.acceleration_spring(
        msd.StiffnessDamping(k=4e4, d=200.0)
    ),
}
for _name, _law in _LAWS.items():
    _add(f"{_name} contacts", lambda law=_law: sx.World.from_scene(_scene_with(law())))

# ---- robots: actuators, tendons, sensors, equalities, limits, dry friction

_SENSORS = """<sensor><touch site="toe"/><accelerometer site="trunk"/><velocimeter site="trunk"/>
  <gyro site="trunk"/><rangefinder site="trunk"/><jointpos joint="hip"/>
  <jointvel joint="knee"/><tendonpos tendon="sinew"/><tendonvel tendon="sinew"/><actuatorpos actuator="hip"/>
  <actuatorvel actuator="hip"/><actuatorfrc actuator="knee"/><ballquat joint="tail"/><ballangvel joint="tail"/>
  <jointlimitpos joint="knee"/><jointlimitvel joint="knee"/><jointlimitfrc joint="knee"/>
  <framepos objtype="site" objname="toe"/><framequat objtype="body" objname="thigh"/>
  <framelinvel objtype="site" objname="toe"/><frameangvel objtype="site" objname="toe"/>
  <framelinacc objtype="site" objname="toe"/><frameangacc objtype="site" objname="toe"/>
  <subtreecom body="trunk"/><subtreelinvel body="trunk"/><subtreeangmom body="trunk"/></sensor>"""
_MONOPOD = """<mujoco><option timestep="0.002" {option}/><compiler angle="degree"/>
<default><joint damping=".2" armature=".01"/><geom friction=".9 .01 .001" contype="0" conaffinity="1"/></default>
<worldbody><geom type="plane" size="9 9 .1" contype="1"/><site name="post" pos=".2 0 1.6"/>
  <body name="trunk" pos="0 0 .95"><freejoint/><geom type="box" size=".15 .1 .08" mass="4"/>
    <site name="trunk" pos=".1 0 .05" euler="0 180 0"/>
    <body name="thigh" pos="0 0 -.1"><joint name="hip" axis="0 1 0" range="-60 80" frictionloss=".5"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04" mass="1.2"/><site name="knee side" pos=".06 0 -.3"/>
      <body name="shin" pos="0 0 -.35"><joint name="knee" axis="0 1 0" range="-120 5"/>
        <geom name="shin" type="capsule" fromto="0 0 0 0 0 -.35" size=".03" mass=".6"/>
        <geom name="pulley" type="cylinder" size=".05 .05" euler="90 0 0" contype="0" conaffinity="0" mass="0"/>
        <body name="foot" pos="0 0 -.35"><joint name="ankle" axis="0 1 0" range="-40 40" stiffness="4"/>
          <geom type="capsule" fromto="-.08 0 -.03 .14 0 -.03" size=".03" mass=".3"/>
          <site name="toe" pos=".1 0 -.03" size=".05"/></body></body></body>
    <body name="tail" pos="-.15 0 0"><joint name="tail" type="ball" range="0 40"/>
      <geom type="sphere" pos="-.2 0 0" size=".05" mass=".3"/></body></body></worldbody>
<tendon><spatial name="sinew" stiffness="50" damping="1" range="0 .5"><site site="knee side"/><geom geom="pulley"/>
    <site site="toe"/></spatial>
  <spatial name="rope" stiffness="20"><site site="post"/><site site="trunk"/></spatial>
  <fixed name="sum"><joint joint="hip" coef="1"/><joint joint="knee" coef=".5"/></fixed></tendon>
<equality>{equality}</equality>
<actuator><position name="hip" joint="hip" kp="60" kv="2" ctrlrange="-1 1" forcerange="-40 40"/>
  <motor name="knee" joint="knee" gear="30" ctrlrange="-1 1"/>
  <general name="ankle" joint="ankle" dyntype="filter" dynprm=".05" gainprm="8" biastype="affine"
    biasprm="0 -8 -.5"/>
  <muscle name="muscle" tendon="sinew" force="20"/><motor name="site" site="toe" gear="0 0 5 0 0 0"/></actuator>
{sensor}</mujoco>"""


def _monopod(option: str = "", equality: str = "", sensor: str = "") -> sx.World:
    return _of_text(_MONOPOD.format(option=option, equality=equality, sensor=sensor))


_add("monopod with sensors", lambda: _monopod(sensor=_SENSORS))
_WRIST = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .6"><joint axis="0 1 0" damping=".1"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".04"/>
    <body pos=".4 0 0"><joint axis="0 1 0" range="-1.5 .5" limited="true" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/><site name="wrist"/></body></body></worldbody>
  <sensor><force site="wrist"/><torque site="wrist"/><accelerometer site="wrist"/></sensor></mujoco>"""
_add("forces within an arm", lambda: _of_text(_WRIST))
for _integrator in ("Euler", "implicitfast", "RK4"):
    _add(f"monopod, {_integrator}", lambda name=_integrator: _monopod(f'integrator="{name}"'))
for _solver_name in ("PGS", "Newton"):
    _add(f"monopod, {_solver_name}", lambda name=_solver_name: _monopod(f'solver="{name}" cone="elliptic"'))
_EQUALITIES = {
    "connect": '<connect body1="tail" body2="trunk" anchor="-.1 0 0"/>',
    "weld": '<weld body1="tail" body2="trunk"/>',
    "joint": '<joint joint1="knee" joint2="hip" polycoef="0 -1 .1 0 0"/>',
    "tendon": '<tendon tendon1="sum" polycoef=".1 0 0 0 0"/>',
}
for _name, _text in _EQUALITIES.items():
    _add(f"equality {_name}", lambda text=_text: _monopod(equality=text))


def _robot(name: str) -> sx.World:
    world = sx.World.from_file(ROBOTS / name)
    controls = world.actuator_controls
    world.actuator_controls = 0.3 * np.cos(np.arange(len(controls)))
    return world


for _file in ("humanoid.xml", "walker.xml"):
    _add(_file, lambda name=_file: _robot(name))

# ---- closures and joints between bodies


def _four_bar(family: sx.LoopClosureFamily, integration: Family = Family.SEMI_IMPLICIT) -> sx.World:
    world = sx.World(time_step=0.001, multibody_options=sx.MultibodyOptions(integration_family=integration))
    robot = world.add_multibody("bars")
    base = robot.add_link("base")
    link, ends = base, []
    for k, length in enumerate((0.4, 0.8, 0.6)):
        spec = sx.JointSpec(
            f"j{k}", axis=(0, 1, 0), transform_to_parent=_shift(ends[-1] if ends else 0.0, 0, 0)
        )
        link = robot.add_link(
            f"bar{k}",
            parent=link,
            joint=spec,
            mass=1.0,
            inertia=(0.01, 0.02, 0.02),
            center_of_mass=(0.5 * length, 0, 0),
        )
        ends.append(length)
    robot.joints.position = [-1.2, 0.9, 1.4]
    tip = world.add_fixed_frame("tip", link, _shift(ends[-1], 0, 0))
    # the other end is where the tip is, so that every family starts closed
    pose = np.array(tip.transform)
    anchor = world.add_fixed_frame("anchor", base, pose)
    if family is sx.LoopClosureFamily.DISTANCE:
        other = pose.copy()
        other[:3, 3] += (0.0, 0.0, 0.3)
        anchor = world.add_fixed_frame("far", base, other)
        world.add_loop_closure("cut", frame_a=tip, frame_b=anchor, family=family, distance=0.3)
    else:
        world.add_loop_closure("cut", frame_a=tip, frame_b=anchor, family=family)
    return world


for _closure in sx.LoopClosureFamily:
    if _closure is not sx.LoopClosureFamily.RIGID:
        _add(f"closure {_closure.value}", lambda family=_closure: _four_bar(family))
_add(
    "closure Point, runge-kutta-4",
    lambda: _four_bar(sx.LoopClosureFamily.POINT, Family.RUNGE_KUTTA_4),
)


def _joined(kind: sx.JointType) -> sx.World:
    world = sx.World(time_step=0.002)
    bodies = []
    for k in range(4):
        body = world.add_rigid_body(
            f"b{k}",
            mass=1.0 + k,
            inertia=(0.02, 0.03, 0.04),
            position=(0.3 * k, 0.0, 0.0),
            linear_velocity=(0.0, 0.1 * k, 0.0),
        )
        bodies.append(body)
    for k in range(3):
        world.add_joint(bodies[k], bodies[k + 1], sx.JointSpec(f"j{k}", kind))
    return world


for _kind in (sx.JointType.FIXED, sx.JointType.REVOLUTE, sx.JointType.PRISMATIC, sx.JointType.SPHERICAL):
    _add(f"world joint {_kind.value}", lambda kind=_kind: _joined(kind))

# ---- worlds in lanes


def _lanes(scene: msd.Scene, family: str = "semi-implicit") -> LaneSimulation:
    worlds = LaneSimulation(msd.build(scene), 5, integration_family=family)
    rng = np.random.default_rng(3)
    worlds.v[:] = 0.4 * rng.normal(size=worlds.v.shape)
    worlds.control[:] = rng.uniform(-1.0, 1.0, worlds.control.shape)
    return worlds


_LANE_LEG = """<mujoco><option timestep="0.002" {option}/><compiler angle="degree"/>
<default><joint damping=".2" armature=".01"/><geom contype="0" conaffinity="1"/></default>
<worldbody><geom type="plane" size="9 9 .1" contype="1"/>
  <body pos="0 0 .95"><freejoint/><geom type="box" size=".15 .1 .08" mass="4"/>
    <body pos="0 0 -.1"><joint name="hip" axis="0 1 0" range="-60 80" frictionloss=".5"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04" mass="1.2"/>
      <body pos="0 0 -.35"><joint name="knee" axis="0 1 0" range="-120 5"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03" mass=".6"/></body></body></body></worldbody>
<actuator><position joint="hip" kp="60" kv="2"/><motor joint="knee" gear="30"/></actuator></mujoco>"""
for _cone in ("pyramidal", "elliptic"):
    _add(
        f"lanes, leg, {_cone}",
        lambda cone=_cone: _lanes(msd.from_str(_LANE_LEG.format(option=f'cone="{cone}"'), format="mjcf")),
    )
