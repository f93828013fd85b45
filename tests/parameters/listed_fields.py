# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Fields of a scene that need a scene of their own: two values of each, and what tells them apart.

`CHECKS[kind, field]` is a function of a value of the field and two values; it must differ between them. What
it gives is motion, readings, a picture, a mass, a text in another format, or the error that names the field.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from worldline import collision as wc
from worldline import msd
from worldline import simulation as sx

Check = tuple[Callable[[Any], Any], Any, Any]


def read(text: str) -> msd.World:
    return msd.from_str(text, format="mjcf")


def run(scene: msd.World, n: int = 20, control: float = 0.7) -> Any:
    """Motion, readings and rows after n steps; the text of an error that refuses the scene."""
    try:
        world = sx.World.from_scene(scene)
        world.actuator_controls = np.full(len(world.actuator_controls), control)
        world.step(n=n)
    except (NotImplementedError, ValueError, RuntimeError) as error:
        return str(error)
    values = [sensor.value.tolist() for sensor in world.sensors]
    return repr([world.state_vector.tolist(), values, len(world.contacts)])


def put(scene: msd.World, path: str, value: Any) -> msd.World:
    """A copy of a scene with one field set; a path has names and numbers."""
    made = copy.deepcopy(scene)
    *way, last = path.split(".")
    owner: Any = made
    for step in way:
        owner = owner[int(step)] if step.isdigit() else getattr(owner, step)
    setattr(owner, last, value)
    return made


def moved(scene: msd.World, path: str, a: Any, b: Any, n: int = 20) -> Check:
    """A field that motion or readings show."""
    return (lambda value: run(put(scene, path, value), n), a, b)


def refused(scene: msd.World, path: str, usual: Any, value: Any, name: str | None = None) -> Check:
    """A field whose value is refused by the field's name."""

    def text(given: Any) -> str:
        found = run(put(scene, path, given), 1)
        if given == value:
            assert (name or path.rsplit(".", 1)[-1]) in found, found
        return found

    return (text, usual, value)


def built(scene: msd.World, path: str, a: Any, b: Any) -> Check:
    """A field that the bodies of a Model show."""

    def bodies(value: Any) -> Any:
        try:
            model = msd.build(put(scene, path, value))
        except ValueError as error:
            return str(error)
        shapes = () if model.shapes is None else (np.ravel(model.shapes.size).tolist(), len(model.shapes))
        return repr(
            [
                model.body_label,
                np.ravel(model.body_mass).tolist(),
                np.ravel(model.body_inertia).tolist(),
                shapes,
            ]
        )

    return (bodies, a, b)


def written(scene: msd.World, path: str, a: Any, b: Any) -> Check:
    """A field that other programs read: MJCF text, or the note of what is lost."""

    def text(value: Any) -> str:
        report = msd.Report()
        return put(scene, path, value).to_str(format="mjcf", report=report) + str(report)

    return (text, a, b)


def pictured(scene: msd.World, path: str, a: Any, b: Any) -> Check:
    """A field that a picture shows, by the scene's own camera."""

    def pixels(value: Any) -> Any:
        world = sx.World.from_scene(put(scene, path, value))
        try:
            return sx.render(world, "eye", width=32, height=24).rgb.tolist()
        except NotImplementedError as error:
            return str(error)

    return (pixels, a, b)


def derivatives_of(world: sx.World) -> Any:
    """Whether a step can be differentiated."""
    world.step()
    try:
        return world.get_step_derivatives().state_jacobian.shape
    except RuntimeError:
        return None


def kept_in_world(scene: msd.World, path: str, a: Any, b: Any, look: Callable[[sx.World], Any]) -> Check:
    """A field that an option of the World shows."""
    return (lambda value: repr(look(sx.World.from_scene(put(scene, path, value)))), a, b)


# ---- scenes

HINGE = """<mujoco><option timestep=".004"/><worldbody><body name="arm" {body}><joint name="j" axis="0 1 0" {joint}/>
  <geom name="g" size=".1" pos=".3 0 0" mass="1" contype="0" conaffinity="0"/></body></worldbody>{more}</mujoco>"""


def hinge(**parts: str) -> msd.World:
    return read(HINGE.format(**({"body": "", "joint": "", "more": ""} | parts)))


JOINT = "hierarchy.bodies.0.link.joints.0"
LINK = "hierarchy.bodies.0.link"
DRIVEN = hinge(more='<actuator><motor joint="j" gear="5"/></actuator>')
DRIVEN.simulate_option.disabled_actuator_groups = [3]
FALLS = hinge(joint='range="-90 3"')
STUCK = hinge(joint='frictionloss="9"')
CHAIN = read("""<mujoco><worldbody><body name="a"><joint axis="0 1 0"/><geom name="ga" size=".1"/><body name="b" pos=".15 0 0">
  <joint axis="0 1 0"/><geom name="gb" size=".01" contype="0" conaffinity="0"/><body name="c" pos=".01 0 0"><joint axis="0 1 0"/>
  <geom name="gc" size=".1"/></body></body></body></worldbody></mujoco>""")
MASSES = read("""<mujoco><compiler fusestatic="true"/><asset><mesh name="m" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .4"/></asset><worldbody>
  <body name="a"><joint axis="0 1 0"/><inertial pos=".1 0 0" mass="1" diaginertia=".01 .02 .03"/><geom name="g" type="box" mesh="m"/>
  <body name="in" pos=".2 0 0"><geom size=".1"/></body></body>
  <body name="b" pos="0 2 0"><joint axis="0 1 0"/><geom name="h" type="mesh" mesh="m"/></body></worldbody></mujoco>""")
IMPOSSIBLE = copy.deepcopy(MASSES)
IMPOSSIBLE.hierarchy.bodies[0].link.inertial.diag_inertia = [0.01, 0.02, 0.09]
PUSHED = """<mujoco><option timestep=".004"/><worldbody><geom name="floor" type="plane" size="5 5 1" {floor}/><body name="b" pos="0 0 .095">
  <freejoint/><geom name="g" size=".1" {geom}/></body></worldbody></mujoco>"""
BALL = read(PUSHED.format(floor='solref=".03 1"', geom='solref="-500 -20"'))
SPIN = read("""<mujoco><option gravity="0 0 0"/><worldbody><body name="b"><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody>
  </mujoco>""")
SPIN.hierarchy.bodies[0].angular_velocity = [20.0, 30.0, 10.0]
SWEPT = read("""<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos=".03 0 .31"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>""")
SWEPT.simulate_option.policy.contact_solver_method = msd.ContactSolverMethod.SequentialImpulse
EYED = read("""<mujoco><worldbody><light name="lamp" pos="0 0 4" dir="0 .2 -1"/><camera name="eye" pos="0 -4 1.5" xyaxes="1 0 0 0 0.3 1"/>
  <geom name="floor" type="plane" size="5 5 .1"/><geom name="ball" size=".5" pos="0 0 .5"/><geom name="far" size="1" pos="1 8 1"/>
  <body name="b" pos="1 0 1"><freejoint/><geom size=".2"/><site name="s" size=".1"/></body></worldbody></mujoco>""")
TENDONS = read("""<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0" contype="0" conaffinity="0"/>
  <site name="s" pos=".3 0 .1"/></body><site name="w" pos="0 0 .5"/></worldbody><tendon><fixed name="f"><joint joint="j" coef="1"/></fixed>
  <spatial name="t" range=".1 .55"><site site="w"/><site site="s"/></spatial></tendon></mujoco>""")
SENSED = read("""<mujoco><worldbody><camera name="eye" pos="0 -4 1.5" xyaxes="1 0 0 0 0.3 1"/><body name="b" pos="0 0 .5"><joint name="j" axis="0 1 0"/>
  <geom name="g" size=".1" pos=".3 0 0"/><site name="s" pos=".3 0 .1" size=".02 .02 .02"/><site name="in" pos=".315 .015 .115" size=".02"/></body>
  <geom name="floor" type="plane" size="3 3 1"/></worldbody><tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
  <actuator><motor name="m" joint="j"/></actuator><sensor><jointpos joint="j"/><framepos objtype="site" objname="s"/><subtreecom body="b"/>
  <actuatorfrc actuator="m"/><tendonpos tendon="t"/><distance geom1="g" geom2="floor" cutoff="5"/><camprojection site="s" camera="eye"/>
  <clock/><insidesite site="s" objtype="site" objname="in"/></sensor></mujoco>""")
NOISY = put(SENSED, "simulate_option.policy.sensor_noise_seed", 1)
TWO = msd.World()
for _name, _x in (("p", 0.0), ("q", 0.5)):
    _geom = msd.Geometry(name=f"g{_name}", shape="Sphere", size=[0.3, 0.3, 0.3], mass=1.0)
    TWO.hierarchy.bodies.append(
        msd.Body(
            link=msd.Link(name=_name, geoms=[_geom], local_translation=[_x, 0.0, 0.0]), free=msd.FreeJoint()
        )
    )
_ENDS = {"frame_a": msd.FrameRef(link="p"), "frame_b": msd.FrameRef(link="q", position=[-0.5, 0.0, 0.0])}
CLOSED = copy.deepcopy(TWO)
CLOSED.loop_closures.append(msd.LoopClosure(name="c", family="Rigid", **_ENDS))
CLOSED.hierarchy.bodies[0].angular_velocity = [1.0, 2.0, 3.0]


def projected(value: str) -> float:
    """What is left of a closure after one of its bodies was moved away."""
    world = sx.World.from_scene(put(CLOSED, "loop_closures.0.kinematics", value))
    moved_body = next(iter(world.rigid_bodies))
    moved_body.translation = moved_body.translation + np.array([0.0, 0.0, 0.3])
    return round(float(world.loop_closures["c"].compute_residual().norm), 6)


def starts(value: float | None) -> bool:
    """Whether a World starts with an open closure."""
    world = sx.World.from_scene(put(CLOSED, "loop_closures.0.initial_tolerance", value))
    body = next(iter(world.rigid_bodies))
    body.translation = body.translation + np.array([0.0, 0.0, 0.3])
    try:
        world.step()
    except ValueError:
        return False
    return True


WELDED = copy.deepcopy(TWO)
WELDED.joints.append(
    msd.WorldJoint(parent=_ENDS["frame_a"], child=_ENDS["frame_b"], joint=msd.Joint(name="w", type_="Fixed"))
)
WELDED.hierarchy.bodies[0].angular_velocity = [10.0, 20.0, 30.0]
EQUAL = read("""<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body><body pos="0 1 0">
  <joint name="k" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/></body></worldbody><equality><joint name="e" joint1="j" joint2="k"/></equality>
  </mujoco>""")
COUPLED = EQUAL.deepcopy()
COUPLED.equality_constraint_set.joints.clear()
for _body in COUPLED.hierarchy.bodies:
    _body.link.joints[0].type_, _body.link.joints[0].axis2 = "Universal", [1.0, 0.0, 0.0]
    _body.link.geoms[0].position = [0.3, 0.2, 0.0]
COUPLED.couplers.append(msd.JointCoupler(name="c", joint="j", reference="k", multiplier=0.5))
TURNS = {kind: hinge() for kind in ("Universal", "Screw", "Euler")}
for _kind, _scene in TURNS.items():
    _scene.hierarchy.bodies[0].link.joints[0].type_ = _kind
    _scene.hierarchy.bodies[0].link.geoms[0].position = [0.3, 0.2, 0.1]


def masked(field: str) -> msd.World:
    """A ball that touches the floor by its group or by what it touches, and not by the other."""
    return put(BALL, f"{LINK}.geoms.0.collision_mask.{field}", 2)


def shaped(field: str, value: float) -> Any:
    """A ball that gets a shape with the friction and restitution of its body, and slides and bounces."""
    scene = copy.deepcopy(TWO)
    for body in scene.hierarchy.bodies:
        body.link.geoms.clear()
        body.link.inertial = msd.Inertia(mass=1.0, diag_inertia=[0.1, 0.1, 0.1])
        setattr(body, field, value)
    world = sx.World.from_scene(scene)
    world.add_ground_plane()
    ball = world.rigid_bodies["p"]
    ball.add_collision_shape(wc.CollisionShape.sphere(0.1))
    ball.translation, ball.linear_velocity = (0, 0, 0.1), (2.0, 0, -1.0)
    world.step(n=50)
    return ball.linear_velocity


def driven(field: str, value: Any) -> Any:
    """A commanded joint with a limit of its commands."""
    scene = put(hinge(), f"{JOINT}.{field}", value)
    world = sx.World.from_scene(scene)
    joint = world.multibodies[0].joints[0]
    if field == "acceleration_limit":
        joint.actuator_type = sx.ActuatorType.ACCELERATION
        joint.command_acceleration = [5.0]
    joint.force = [5.0]
    world.step(n=10)
    return joint.velocity


def rules(field: str, value: Any) -> Any:
    """Two balls of other coefficients under a rule that combines them."""
    scene = read(PUSHED.format(floor='friction=".2"', geom='friction=".8"'))
    for geom in (scene.hierarchy.geoms[0], scene.hierarchy.bodies[0].link.geoms[0]):
        setattr(geom.physics_material, field, value)
        geom.physics_material.contact_model = msd.ConstraintForceModel.hard(0.0, 0.2)
    scene.hierarchy.geoms[0].physics_material.restitution = 0.2
    scene.hierarchy.bodies[0].link.geoms[0].physics_material.restitution = 0.8
    scene.hierarchy.bodies[0].linear_velocity = [2.0, 0.0, -1.0]
    return run(scene)


def hulls(value: Any) -> Any:
    """The hull of a mesh, the same from every maker of hulls."""
    scene = put(MASSES, "simulate_option.convex_strategy", value)
    shapes = msd.build(scene).shapes
    return len(shapes)


def gravcomp(value: bool) -> Any:
    scene = hinge(body='gravcomp="1"', more='<actuator><motor joint="j"/></actuator>')
    joint = scene.hierarchy.bodies[0].link.joints[0]
    joint.actuator_force_limit, joint.actuator_gravcomp = msd.Range(-1.0, 1.0), value
    return run(scene)


POLICY = "simulate_option.policy"
OPTION = "simulate_option"
REST = read(PUSHED.format(floor="", geom=""))
REST.simulate_option.policy.deactivation.enabled = True
REST.simulate_option.policy.deactivation.time_until_sleep = 0.1
SLOWLY = copy.deepcopy(REST)
SLOWLY.hierarchy.bodies[0].linear_velocity = [0.0, 0.0, 0.0]


def asleep(field: str, value: Any) -> Any:
    """Steps until a ball that settles is asleep."""
    world = sx.World.from_scene(put(SLOWLY, f"{POLICY}.deactivation.{field}", value))
    ball = world.rigid_bodies[0]
    for k in range(40):
        world.step(n=20)
        if field == "disturbance_force_threshold" and k == 30:
            ball.force = (0.0, 0.0, 0.5)
        if ball.is_sleeping and field != "disturbance_force_threshold":
            return k
    return ball.is_sleeping


def slow(axis: str, value: float) -> Any:
    """Whether a body that turns or slides slowly without friction falls asleep."""
    scene = put(SLOWLY, f"{POLICY}.deactivation.{axis}", value)
    world = sx.World.from_scene(scene)
    ball = world.rigid_bodies[0]
    if axis == "generalized_speed_threshold":
        scene = put(
            hinge(joint='range="-90 90"'), f"{POLICY}.deactivation", scene.simulate_option.policy.deactivation
        )
        scene.simulate_option.gravity = [0.0, 0.0, 0.0]
        world = sx.World.from_scene(scene)
        world.multibodies[0].joints[0].velocity = [0.05]
        world.step(n=200)
        return world.multibodies[0].is_sleeping
    if axis.startswith("linear"):
        # a ball that rolls turns as well
        scene.simulate_option.policy.deactivation.angular_speed_threshold = 9.0
        world = sx.World.from_scene(scene)
        ball = world.rigid_bodies[0]
    ball.angular_velocity = (0.0, 0.0, 0.05) if axis.startswith("angular") else (0, 0, 0)
    ball.linear_velocity = (0.0, 0.05, 0.0) if axis.startswith("linear") else (0, 0, 0)
    world.gravity = (0, 0, -9.81)
    for _ in range(10):
        world.step(n=20)
        if ball.is_sleeping:
            return True
    return ball.is_sleeping


def variational(tolerance: float) -> Any:
    scene = hinge()
    scene.simulate_option.integrator = "Variational"
    scene = put(scene, f"{POLICY}.multibody.variational_tolerance", tolerance)
    return run(scene, 5)


def diverges(field: str, value: Any) -> Any:
    scene = copy.deepcopy(SPIN)
    scene.simulate_option.policy.divergence.limit = 5.0
    return run(put(scene, f"{POLICY}.divergence.{field}", value), 3)


def family(value: Any) -> Any:
    scene = hinge()
    scene.simulate_option.integrator = None
    return run(put(scene, f"{POLICY}.multibody.integration_family", value), 5)


CHECKS: dict[tuple[str, str], Check] = {
    ("Actuator", "group"): moved(DRIVEN, "actuators.0.group", 0, 3),
    ("Range", "upper"): moved(FALLS, f"{JOINT}.pos_limit.upper", 0.05, 0.5, 60),
    ("CompileOptions", "shape_fit"): built(MASSES, "compile_options.shape_fit", "Aabb", "InertiaBox"),
    ("CompileOptions", "inertia_source"): built(
        MASSES, "compile_options.inertia_source", "Given", "Geometry"
    ),
    ("CompileOptions", "balance_inertia"): built(IMPOSSIBLE, "compile_options.balance_inertia", False, True),
    ("CompileOptions", "fuse_static"): built(MASSES, "compile_options.fuse_static", True, False),
    ("EqualityJoint", "break_torque"): refused(
        EQUAL, "equality_constraint_set.joints.0.break_torque", 0.0, 1.0
    ),
    ("ImpedanceSpring", "direct"): moved(
        BALL, f"{LINK}.geoms.0.physics_material.contact_model.value.direct", True, False
    ),
    ("ImpedanceDamping", "damping"): moved(STUCK, f"{JOINT}.friction_damping.damping", 20.0, 100.0),
    ("ImpedanceDamping", "direct"): moved(
        put(STUCK, f"{JOINT}.friction_damping.damping", 600.0),
        f"{JOINT}.friction_damping.direct",
        False,
        True,
    ),
    ("Body", "friction"): (lambda value: shaped("friction", value), 0.1, 0.9),
    ("Body", "restitution"): (lambda value: shaped("restitution", value), 0.1, 0.9),
    ("Link", "disable_self_collision"): moved(CHAIN, f"{LINK}.disable_self_collision", False, True),
    ("Link", "may_fuse"): built(MASSES, f"{LINK}.children.0.may_fuse", True, False),
    ("Geometry", "mesh_inertia"): built(
        MASSES, "hierarchy.bodies.1.link.geoms.0.mesh_inertia", "Auto", "Shell"
    ),
    ("Geometry", "fit_scale"): built(MASSES, f"{LINK}.geoms.0.fit_scale", 1.0, 1.5),
    ("Geometry", "mesh_surface"): built(MASSES, "hierarchy.bodies.1.link.geoms.0.mesh_surface", False, True),
    ("CollisionMask", "collide_group"): moved(
        masked("collide_with"), f"{LINK}.geoms.0.collision_mask.collide_group", 1, 2
    ),
    ("CollisionMask", "collide_with"): moved(
        masked("collide_group"), f"{LINK}.geoms.0.collision_mask.collide_with", 1, 2
    ),
    ("PhysicsMaterial", "density"): built(BALL, f"{LINK}.geoms.0.physics_material.density", 1000.0, 500.0),
    ("PhysicsMaterial", "friction_rule"): (lambda value: rules("friction_rule", value), "Maximum", "Minimum"),
    ("PhysicsMaterial", "restitution_rule"): (
        lambda value: rules("restitution_rule", value),
        "Maximum",
        "Minimum",
    ),
    ("GeomVisualAttrs", "group"): pictured(EYED, "hierarchy.geoms.1.visual.group", 0, 5),
    ("Inertia", "is_checked"): built(IMPOSSIBLE, f"{LINK}.inertial.is_checked", True, False),
    ("Inertia", "has_own_moments"): written(MASSES, f"{LINK}.inertial.has_own_moments", True, False),
    ("Inertia", "has_own_pos"): written(MASSES, f"{LINK}.inertial.has_own_pos", True, False),
    ("Joint", "axis2"): moved(TURNS["Universal"], f"{JOINT}.axis2", [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
    ("Joint", "pitch"): moved(TURNS["Screw"], f"{JOINT}.pitch", 0.1, 0.4),
    ("Joint", "euler_order"): moved(TURNS["Euler"], f"{JOINT}.euler_order", "XYZ", "ZYX"),
    ("Joint", "acceleration_limit"): (lambda value: driven("acceleration_limit", value), np.inf, 1.0),
    ("Joint", "effort_limit"): (lambda value: driven("effort_limit", value), np.inf, 1.0),
    ("Joint", "actuator_gravcomp"): (gravcomp, False, True),
    ("Joint", "group"): written(hinge(), f"{JOINT}.group", 0, 3),
    ("Site", "group"): written(SENSED, f"{LINK}.sites.0.group", 0, 3),
    ("Site", "shape"): moved(SENSED, f"{LINK}.sites.0.shape", "Sphere", "Box"),
    ("Camera", "depth_only"): written(EYED, "hierarchy.cameras.0.depth_only", False, True),
    ("Camera", "znear"): pictured(EYED, "hierarchy.cameras.0.znear", 0.0, 3.9),
    ("Camera", "zfar"): pictured(EYED, "hierarchy.cameras.0.zfar", 0.0, 8.0),
    ("Camera", "track_position_speed"): pictured(EYED, "hierarchy.cameras.0.track_position_speed", 0.0, 1.0),
    ("Camera", "track_rotation_speed"): pictured(EYED, "hierarchy.cameras.0.track_rotation_speed", 0.0, 1.0),
    ("Light", "cast_shadows"): pictured(EYED, "hierarchy.lights.0.cast_shadows", True, False),
    ("Light", "direction"): pictured(
        EYED, "hierarchy.lights.0.direction", [0.0, 0.2, -1.0], [1.0, 0.0, -1.0]
    ),
    # the light of a picture is far away
    ("Light", "position"): written(EYED, "hierarchy.lights.0.position", [0.0, 0.0, 4.0], [2.0, 0.0, 4.0]),
    ("Light", "active"): pictured(EYED, "hierarchy.lights.0.active", True, False),
    ("SimulateOption", "compute_energy"): written(hinge(), f"{OPTION}.compute_energy", False, True),
    ("SimulationPolicy", "contact_gradient_mode"): kept_in_world(
        hinge(),
        f"{POLICY}.contact_gradient_mode",
        "Analytic",
        "ComplementarityAware",
        lambda w: w.contact_gradient_mode,
    ),
    ("SimulationPolicy", "differentiable"): kept_in_world(
        hinge(), f"{POLICY}.differentiable", False, True, derivatives_of
    ),
    ("SimulationPolicy", "accelerator"): kept_in_world(
        hinge(), f"{POLICY}.accelerator", "CpuOnly", "PreferAccelerated", lambda w: w.resolved_configuration
    ),
    ("SimulationPolicy", "strict_solver_resolution"): (
        lambda value: run(
            put(
                put(hinge(), f"{POLICY}.accelerator", "PreferAccelerated"),
                f"{POLICY}.strict_solver_resolution",
                value,
            )
        ),
        False,
        True,
    ),
    ("SimulationPolicy", "contact_sweeps"): moved(SWEPT, f"{POLICY}.contact_sweeps", 0, 1),
    ("SimulationPolicy", "fixed_layout"): kept_in_world(
        hinge(), f"{POLICY}.fixed_layout", False, True, lambda w: w._live().sim.plan().fixed
    ),
    ("SimulationPolicy", "sensor_noise_seed"): moved(
        put(SENSED, "sensors.joint.0.noise", 0.1), f"{POLICY}.sensor_noise_seed", None, 1
    ),
    ("SimulationPolicy", "sensor_noise_world"): moved(
        put(NOISY, "sensors.joint.0.noise", 0.1), f"{POLICY}.sensor_noise_world", 0, 1
    ),
    ("SimulationPolicy", "free_spin_turn"): moved(SPIN, f"{POLICY}.free_spin_turn", 0.0, 9.0),
    ("MultibodyOptions", "integration_family"): (family, "SemiImplicit", "Variational"),
    ("MultibodyOptions", "variational_tolerance"): (variational, 1e-10, 0.5),
    ("DeactivationOptions", "enabled"): (lambda value: asleep("enabled", value), True, False),
    ("DeactivationOptions", "time_until_sleep"): (lambda value: asleep("time_until_sleep", value), 0.1, 0.5),
    ("DeactivationOptions", "disturbance_force_threshold"): (
        lambda value: asleep("disturbance_force_threshold", value),
        1e-9,
        100.0,
    ),
    ("DeactivationOptions", "linear_speed_threshold"): (
        lambda value: slow("linear_speed_threshold", value),
        1e-3,
        1.0,
    ),
    ("DeactivationOptions", "angular_speed_threshold"): (
        lambda value: slow("angular_speed_threshold", value),
        1e-3,
        1.0,
    ),
    ("DeactivationOptions", "generalized_speed_threshold"): (
        lambda value: slow("generalized_speed_threshold", value),
        1e-3,
        1.0,
    ),
    ("DivergenceOptions", "action"): (lambda value: diverges("action", value), "Raise", "Freeze"),
    ("DivergenceOptions", "limit"): (lambda value: diverges("limit", value), 5.0, 1e10),
    ("JointTendon", "group"): written(TENDONS, "tendon_set.joint_tendons.0.group", 0, 3),
    ("SpatialTendon", "group"): written(TENDONS, "tendon_set.spatial_tendons.0.group", 0, 3),
    ("SpatialTendon", "width"): written(TENDONS, "tendon_set.spatial_tendons.0.width", 0.003, 0.01),
    ("SpatialTendon", "margin"): moved(TENDONS, "tendon_set.spatial_tendons.0.margin", 0.0, 0.3),
    ("LoopClosure", "kinematics"): (projected, "ResidualOnly", "Project"),
    ("LoopClosure", "initial_tolerance"): (starts, None, 1e-9),
    ("LoopClosure", "allow_collision"): moved(CLOSED, "loop_closures.0.allow_collision", False, True),
    ("FrameRef", "orientation"): moved(
        CLOSED, "loop_closures.0.frame_a.orientation", [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.3, 0.95393920141694]
    ),
    ("JointCoupler", "joint_dof"): moved(COUPLED, "couplers.0.joint_dof", 0, 1),
    ("JointCoupler", "reference_dof"): moved(COUPLED, "couplers.0.reference_dof", 0, 1),
    ("WorldJoint", "break_torque"): moved(WELDED, "joints.0.break_torque", 0.0, 1e-3),
    ("ProjectionPolicy", "linear_stiffness"): moved(
        WELDED, "joints.0.projection.linear_stiffness", np.inf, 1e6
    ),
    ("ProjectionPolicy", "angular_stiffness"): moved(
        WELDED, "joints.0.projection.angular_stiffness", np.inf, 1e6
    ),
    **{
        (f"{kind}Sensor", "noise"): moved(NOISY, f"sensors.{place}.0.noise", 0.0, 0.1)
        for kind, place in (
            ("Frame", "frame"),
            ("Joint", "joint"),
            ("Subtree", "subtree"),
            ("Actuator", "actuator"),
            ("Tendon", "tendon"),
            ("Distance", "distance"),
            ("CameraProjection", "projection"),
            ("World", "world"),
        )
    },
    ("JointSensor", "cutoff"): moved(SENSED, "sensors.joint.0.cutoff", 0.0, 0.001),
}
"""Fields with two values that something tells apart."""

SAME = {
    ("SimulateOption", "convex_strategy"): (hulls, "QHull", "QuickConvex"),
}
"""Fields whose values all give the same, as they are documented to."""
