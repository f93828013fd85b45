# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every feature that `capabilities()` names is tried: what it claims works, what it does not is refused by name.

Features come from the enumerations of the code (`facade/features.py`), so a new member of one is tried, and a
new group or entry fails until there is a way to try it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.facade.features import SENSOR_TYPES, TARGETS, feature_groups
from worldline._src.scene.sensors import SensorSet
from worldline.collision import CollisionShape

Type, Drive = sx.JointType, sx.ActuatorType
GROUPS = {group.name: group for group in feature_groups()}
MOTION = [msd.MotionAxis.turn((0, 0, 1), msd.CoordinateFunction.linear())]
FIELDS = {
    Type.D6: {"linear_axes": [(0, 0, 1)]},
    Type.SCREW: {"pitch": 0.1},
    Type.CUSTOM: {"motion": MOTION},
}


def read(text: str) -> msd.World:
    return msd.from_str(text, format="mjcf")


def moved(world: sx.World, n: int = 10) -> np.ndarray:
    """How far n steps move the state."""
    before = world.state_vector.copy()
    world.step(n=n)
    assert np.isfinite(world.state_vector).all()
    return world.state_vector - before


def pair(**options: object) -> tuple[sx.World, sx.RigidBody, sx.RigidBody]:
    world = sx.World(**options)
    a = world.add_rigid_body("a", inertia=np.diag([0.1, 0.2, 0.25]))
    b = world.add_rigid_body("b", inertia=np.diag([0.1, 0.2, 0.25]), position=(0.5, 0, 0))
    return world, a, b


# ---- joints and their drives


def try_joint(name: str) -> None:
    world = sx.World()
    robot = world.add_multibody("robot")
    spec = sx.JointSpec(name="joint", type=Type[name], **FIELDS.get(Type[name], {}))
    robot.add_link("rod", None, spec, mass=1.0, inertia=np.eye(3) * 0.01, center_of_mass=(0.3, 0.1, 0.0))
    if robot.num_dofs == 0:
        assert name == "FIXED"
        return
    robot.joints[0].force = np.ones(robot.num_dofs)
    assert moved(world).any()


def try_world_joint(name: str) -> None:
    world, a, b = pair()
    a.is_static = True
    joint = world.add_joint(a, b, sx.JointSpec(name="joint", type=Type[name], **FIELDS.get(Type[name], {})))
    world.step(n=5)
    assert world.step_report().rows == 6 - joint.num_dofs
    joint.break_force = 1e-3
    b.force = (3.0, 3.0, 3.0)
    world.step(n=3)
    assert joint.is_broken


def try_drive(name: str) -> None:
    world = sx.World(gravity=(0, 0, 0))
    robot = world.add_multibody("robot")
    for label in ("joint", "other"):
        kind = Drive[name] if label == "joint" else Drive.FORCE
        spec = sx.JointSpec(name=label, axis=(0, 1, 0), actuator_type=kind)
        robot.add_link(label, None, spec, mass=1.0, inertia=np.eye(3) * 0.1)
    joint = robot.joints["joint"]
    if name == "MIMIC":
        joint.set_mimic_joint(robot.joints["other"], 1.0)
        robot.joints["other"].force = [1.0]
    joint.force, joint.command_velocity, joint.command_acceleration = [1.0], [0.5], [0.5]
    world.step(n=10)
    time = 10 * world.time_step
    wanted = {"VELOCITY": 0.5, "SERVO": 0.5, "ACCELERATION": 0.5 * time, "LOCKED": 0.0, "PASSIVE": 0.0}
    wanted |= {"FORCE": time / 0.1, "MIMIC": robot.joints["other"].velocity[0]}
    assert joint.velocity[0] == pytest.approx(wanted[name], abs=1e-3)
    assert bool(joint.velocity[0]) is bool(wanted[name])


def try_world_motor(name: str) -> None:
    world, a, b = pair(gravity=(0, 0, 0))
    a.is_static = True
    fields = FIELDS.get(Type[name], {})
    spec = sx.JointSpec(name=name, type=Type[name], actuator_type=Drive.VELOCITY, **fields)
    joint = world.add_joint(a, b, spec)
    joint.command_velocity = [0.5]
    assert moved(world).any()


# ---- shapes

MESH = '<mesh name="m" vertex="-.1 -.1 -.1  .1 -.1 -.1  0 .1 -.1  0 0 .1"/>'
GROUND = {"Plane": 'type="plane" size="3 3 .1"', "HField": 'type="hfield" hfield="h"'}


def try_scene_shape(name: str) -> None:
    """A ball rests on a surface, and a solid on a plane."""
    text = f"""<mujoco><asset>{MESH}<hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1" elevation="0 0 0 0"/></asset>
      <worldbody><geom name="g" {GROUND.get(name, GROUND["Plane"])}/><body name="b" pos="0 0 .14"><freejoint/>
      <geom name="s" size=".1"/></body></worldbody></mujoco>"""
    scene = read(text)
    if name == "InfinitePlane":
        scene.hierarchy.geoms[0].shape = msd.ShapeType.InfinitePlane
    elif name not in GROUND:
        geom = scene.hierarchy.bodies[0].link.geoms[0]
        geom.shape, geom.size = msd.ShapeType[name], [0.1, 0.1, 0.1]
        if name == "Mesh":
            geom.mesh = "m"
    world = sx.World.from_scene(scene)
    world.step(n=500)
    assert world.contacts and world.rigid_bodies["b"].translation[2] > 0.02


SOLIDS: dict[str, Callable[[], CollisionShape]] = {
    "SPHERE": lambda: CollisionShape.sphere(0.1),
    "CAPSULE": lambda: CollisionShape.capsule(0.1, 0.1),
    "BOX": lambda: CollisionShape.box((0.1, 0.1, 0.1)),
    "CYLINDER": lambda: CollisionShape.cylinder(0.1, 0.1),
    "CONE": lambda: CollisionShape.cone(0.1, 0.1),
    "ELLIPSOID": lambda: CollisionShape.ellipsoid((0.1, 0.1, 0.1)),
    "CONVEX": lambda: CollisionShape.convex(
        0.1 * np.array([[1, 0, -1], [-1, 1, -1], [-1, -1, -1], [0, 0, 1.0]])
    ),
    "MESH": lambda: CollisionShape.mesh(
        0.1 * np.array([[1, 0, -1], [-1, 1, -1], [-1, -1, -1], [0, 0, 1.0]]),
        np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]),
    ),
    "PLANE": lambda: CollisionShape.plane((0, 0, 1), 0.0),
    "HEIGHT_FIELD": lambda: CollisionShape.height_field(np.zeros((3, 3)), (1.0, 1.0)),
}


def try_body_shape(name: str) -> None:
    world = sx.World()
    shape = SOLIDS[name]()
    body = world.add_rigid_body("b", position=(0, 0, 0.25))
    if name in ("PLANE", "HEIGHT_FIELD", "MESH"):
        # surfaces, which hold others up
        ground = world.add_rigid_body("ground")
        ground.is_static = True
        ground.add_collision_shape(shape)
        body.add_collision_shape(CollisionShape.sphere(0.1))
    else:
        world.add_ground_plane()
        body.add_collision_shape(shape)
    world.step(n=600)
    assert world.contacts and body.translation[2] > 0.02


# ---- actuators, equalities, sensors

ACTUATED = """<mujoco><worldbody><geom type="plane" size="3 3 1"/><body name="arm" pos="0 0 .5"><joint name="j" axis="0 1 0" range="-60 60"/>
  <geom name="g" pos=".3 0 0" size=".1"/><site name="s" pos=".3 0 .1"/><body name="top" pos=".5 0 0"><joint name="b" type="ball"/>
  <geom pos=".2 .05 0" size=".05"/></body></body><body name="free" pos="2 0 .1"><freejoint name="f"/><geom size=".1"/></body>
  <site name="w" pos="0 0 1"/></worldbody><tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
  <actuator>{}</actuator></mujoco>"""
LAWS = {
    "Filter": '<general joint="j" dyntype="filter" dynprm=".05" gainprm="5"/>',
    "FilterExact": '<general joint="j" dyntype="filterexact" dynprm=".05" gainprm="5"/>',
    "Integrator": '<general joint="j" dyntype="integrator" gainprm="50"/>',
    "None": '<motor joint="j" gear="5"/>',
    "Muscle": '<muscle joint="j" lengthrange="-1 1" force="300"/>',
    "Current": '<dcmotor joint="j" motorconst=".5" resistance=".1" inductance=".01"/>',
    "Motor": '<dcmotor joint="j" motorconst=".5" resistance=".1" lugre="9 1 .1 .2 .5"/>',
    "Pid": '<pid joint="j" kp="20" ki="5" input="pos"/>',
    "PidDiscrete": '<plugin joint="j" plugin="mujoco.pid" actdim="1"><config key="kp" value="20"/><config key="ki" value="5"/></plugin>',
    "Fixed": '<general joint="j" gaintype="fixed" gainprm="5"/>',
    "Affine": '<general joint="j" gaintype="affine" gainprm="5 1 1" biastype="affine" biasprm="1 -2 -1"/>',
}
ON = {
    "joint": '<motor joint="j" gear="5"/>',
    "joint_in_parent": '<motor jointinparent="b" gear="1 2 3"/>',
    "floating_base": '<motor joint="f" gear="1 2 3 1 1 1"/>',
    "tendon": '<motor tendon="t" gear="5"/>',
    "link": '<adhesion body="free" gain="50" ctrlrange="0 1"/>',
    "site": '<motor site="s" gear="1 2 3 0 0 0"/>',
    "slider_crank": '<motor cranksite="s" slidersite="w" cranklength=".6" gear="5"/>',
}


def driven(text: str) -> msd.World:
    """The scene of an actuator, whose control changes the forces of a step."""
    whole = ACTUATED.format(text)
    if "plugin" in text:
        whole = whole.replace(
            "<worldbody>", '<extension><plugin plugin="mujoco.pid"/></extension><worldbody>', 1
        )
    scene = read(whole)
    forces = []
    for control in (0.0, 0.7):
        world = sx.World.from_scene(scene)
        world.step(n=3)
        world.actuator_controls = [control]
        world.step(n=10)
        forces.append([*world.state_vector, *(contact.force[2] for contact in world.contacts)])
    assert not np.allclose(forces[0], forces[1], atol=1e-6)
    return scene


def law_of(name: str, field: str) -> None:
    law = driven(LAWS[name]).actuators[0].actuator_type
    if law.variant == "general":
        assert getattr(law.value, field).name.strip("_") == name


def try_target(name: str) -> None:
    assert driven(ON[name]).actuators[0].target.variant == name


EQUALITIES = {
    "connects": '<connect body1="p" body2="q" anchor="1 0 0"/>',
    "welds": '<weld body1="p" body2="q"/>',
    "joints": '<joint joint1="j" joint2="k"/>',
    "tendons": '<tendon tendon1="t" tendon2="u"/>',
}


def try_equality(name: str) -> None:
    text = """<mujoco><worldbody><body name="p"><joint name="j" axis="0 1 0"/><geom pos="1 0 0" size=".1"/></body>
      <body name="q" pos="0 1 0"><joint name="k" axis="0 1 0"/><geom pos=".5 0 0" size=".2"/></body></worldbody>
      <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed><fixed name="u"><joint joint="k" coef="1"/></fixed></tendon>
      <equality>{}</equality></mujoco>"""
    if name == "paths":
        # MJCF has none
        free, kept = (sx.World.from_scene(read(text.format(""))) for _ in range(2))
        link = msd.FrameRef(link="p", position=(1, 0, 0))
        kept.add_equality(msd.EqualityPath(point=link, path=msd.PathShape.plane()))
    else:
        free, kept = (sx.World.from_scene(read(text.format(one))) for one in ("", EQUALITIES[name]))
    assert not np.allclose(moved(free, 50), moved(kept, 50), atol=1e-6)
    assert kept.step_report().rows > 0


SENSED = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/><camera name="c" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
  <body name="arm" pos="0 0 1"><joint name="j" axis="0 1 0" range="-1 1"/><geom name="ga" pos=".3 0 0" size=".1"/>
  <site name="s" pos=".3 0 -.2" zaxis="0 0 -1" size=".2"/><body pos=".5 0 0"><joint name="b" type="ball"/><geom pos=".1 .02 0" size=".05"/></body></body>
  <body name="free" pos="2 0 .098"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/><site name="t" size=".3"/></body></worldbody>
  <tendon><fixed name="t" range="-.001 .001"><joint joint="j" coef="1"/></fixed></tendon>
  <actuator><motor name="m" joint="j" gear="3"/><motor name="o" tendon="t"/></actuator><sensor>{}</sensor></mujoco>"""
OF_SENSORS = {
    "contact": '<contact geom1="box" data="found force" reduce="{}"/>',
    "touch": '<touch site="t"/>',
    "inside": '<insidesite site="t" objtype="body" objname="free"/>',
    "projection": '<camprojection site="s" camera="c"/>',
    "frame": '<frame{} objtype="site" objname="s"/>',
    "joint": '<joint{} joint="j"/>',
    "subtree": '<subtree{} body="arm"/>',
    "actuator": '<actuator{} actuator="m"/>',
    "tendon": '<tendon{} tendon="t"/>',
    "site": '<{} site="s"/>',
    "distance": '<{} geom1="ga" geom2="box" cutoff="9"/>',
    "world": "<{}/>",
}
WORDS = {
    "FrameAngVel": "angvel",
    "FrameLinAcc": "linacc",
    "FrameLinVel": "linvel",
    "FramePos": "pos",
    "FrameQuat": "quat",
    "FrameAngAcc": "angacc",
    "JointPos": "pos",
    "JointVel": "vel",
    "ActuatorForce": "actuatorfrc",
    "LimitForce": "limitfrc",
    "Force": "frc",
    "PotentialEnergy": "e_potential",
    "KineticEnergy": "e_kinetic",
}


def try_sensor(name: str) -> None:
    kind, _, quantity = name.partition(" ")
    word = WORDS.get(quantity, quantity.lower())
    if kind == "site":
        word = quantity.lower()
    if quantity in ("BallQuat", "BallAngVel"):
        line = f'<{word} joint="b"/>'
    elif kind == "imu":
        line = ""
    else:
        line = OF_SENSORS[kind].format(word)
    scene = read(SENSED.format(line))
    if kind == "imu":
        scene.sensors.imu.append(msd.ImuSensor(link="arm", name="imu"))
    assert getattr(scene.sensors, kind), "the sensor is of that kind"
    made = getattr(scene.sensors, kind)[0]
    if quantity:
        types = SENSOR_TYPES[kind]
        found = [
            getattr(made, field) for field in type(made)._fields if isinstance(getattr(made, field), types)
        ]
        assert found[0].name.strip("_") == quantity
    world = sx.World.from_scene(scene)
    world.actuator_controls = [0.5, 0.5]
    world.step(n=20)
    value = world.sensors[0].value
    assert value.size and np.isfinite(value).all()


# ---- closures, integrators, solvers, formats


def closed(**policy: object) -> sx.LoopClosure:
    world, a, b = pair(gravity=(0, 0, 0))
    a.is_static = True
    b.linear_velocity = (0.3, 0.2, 0.1)
    family = policy.pop("family", sx.LoopClosureFamily.POINT)
    closure = world.add_loop_closure("c", frame_a=a, frame_b=b, family=family)
    for name, value in policy.items():
        setattr(closure, name, value)
    world.step(n=5)
    return closure


def try_closure(name: str) -> None:
    free = closed(family=sx.LoopClosureFamily[name], dynamics=sx.ClosureDynamicsPolicy.RESIDUAL_ONLY)
    kept = closed(family=sx.LoopClosureFamily[name])
    assert free.compute_residual().norm > kept.compute_residual().norm
    assert kept._world.step_report().rows > 0 and free._world.step_report().rows == 0


def try_closure_kinematics(name: str) -> None:
    closure = closed(kinematics=sx.ClosureKinematicsPolicy[name])
    closure.frame_b.translation = (1, 2, 3)
    assert (closure.compute_residual().norm < 1e-9) is (name == "PROJECT")


def try_closure_dynamics(name: str) -> None:
    closure = closed(dynamics=sx.ClosureDynamicsPolicy[name])
    assert bool(closure._world.step_report().rows) is (name == "SOLVE")


def try_integrator(name: str) -> None:
    text = "<mujoco><worldbody><body><joint axis='0 1 0' damping='.1'/><geom size='.1' pos='.2 0 0' contype='0' conaffinity='0'/></body></worldbody></mujoco>"
    scene = read(text)
    scene.simulate_option.integrator = msd.IntegratorMethod[name]
    world = sx.World.from_scene(scene)
    assert moved(world).any()
    family = world.multibody_options.integration_family.value
    wanted = {"RungeKutta4": "runge-kutta-4", "Variational": "variational", "Explicit": "semi-implicit"}
    assert family == wanted.get(name, "implicit-damping" if name == "SemiImplicit" else "implicit-velocity")


def try_solver(name: str) -> None:
    text = """<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .099'><freejoint/><geom size='.1'/></body></worldbody>
      </mujoco>"""
    scene = read(text)
    scene.simulate_option.solver_type = msd.SolverType[name]
    world = sx.World.from_scene(scene)
    world.step(n=3)
    method = "boxed-lcp" if name in ("Dantzig", "Lemke") else "newton"
    assert world.step_report().methods == {method: 1} and world.step_report().converged


TEXTS = {
    "mjcf": "<mujoco><worldbody><body name='a'><freejoint/><geom size='.1'/></body></worldbody></mujoco>",
    "urdf": "<robot name='a'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' "
    "iyz='0'/></inertial></link></robot>",
    "sdf": "<sdf version='1.9'><model name='a'><link name='a'><inertial><mass>1</mass></inertial></link></model></sdf>",
    "msd": msd.World().to_str(),
    "usd": "#usda 1.0",
}


def try_reading(name: str) -> None:
    msd.from_str(TEXTS[name], format=name)


def try_writing(name: str) -> None:
    scene = read(TEXTS["mjcf"])
    if name == "msgpack":
        assert msd.from_msgpack(scene.to_msgpack()) == scene
    else:
        again = msd.from_str(scene.to_str(format=name), format=name)
        assert sx.World.from_scene(again).state_vector.size


TRIES: dict[str, Callable[[str], None]] = {
    "joints of multibodies": try_joint,
    "world-owned joints that can break": try_world_joint,
    "drives of joints": try_drive,
    "motors of world-owned joints": try_world_motor,
    "shapes of scenes": try_scene_shape,
    "shapes of bodies": try_body_shape,
    "dynamics of actuators": lambda name: law_of(name, "dyntype"),
    "gains of actuators": lambda name: law_of(name, "gain"),
    "biases of actuators": lambda name: law_of(name, "bias"),
    "targets of actuators": try_target,
    "equality constraints": try_equality,
    "sensors": try_sensor,
    "loop closures": try_closure,
    "kinematics of loop closures": try_closure_kinematics,
    "dynamics of loop closures": try_closure_dynamics,
    "integrators of scenes": try_integrator,
    "solvers of scenes": try_solver,
    "formats read": try_reading,
    "formats written": try_writing,
}


@pytest.mark.parametrize(
    ("group", "name"), [(group.name, name) for group in GROUPS.values() for name in group.available]
)
def test_what_is_claimed_works(group: str, name: str) -> None:
    TRIES[group](name)


@pytest.mark.parametrize(
    ("group", "name"), [(group.name, name) for group in GROUPS.values() for name in group.unavailable]
)
def test_what_is_not_claimed_is_refused_by_name(group: str, name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"(?i){name}"):
        TRIES[group](name)


def test_groups_are_complete() -> None:
    """Each group has a way to try it, is in the matrix, and names all that its code knows."""
    assert set(TRIES) == set(GROUPS)
    row = next(row for row in sx.capabilities() if row.row == "supported features")
    for group in GROUPS.values():
        assert str(group) in row.available
        missing = f"{group.name}: {', '.join(group.unavailable)}"
        assert not group.unavailable or missing in row.unavailable
    assert set(SENSOR_TYPES) == set(SensorSet._fields) - {"order"}
    assert set(TARGETS) == set(msd.ActuatorTarget._cases)
