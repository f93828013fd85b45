# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Fields of a scene act: each is changed in a scene that has everything, and motion, sensors or a report change.

What introspection finds and no change shows is listed below with what shows it instead; a new field fails
until it acts or is listed.
"""

from __future__ import annotations

import copy
import enum
import math
from typing import Any

import numpy as np
import pytest
from listed_fields import CHECKS, SAME

from worldline import msd
from worldline import simulation as sx
from worldline._src.scene.base import Struct

MJCF = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <light name="lamp" pos="0 0 4" dir="0 0 -1"/>
    <camera name="eye" pos="0 -4 1.5" xyaxes="1 0 0 0 0.3 1" fovy="50"/>
    <geom name="floor" type="plane" size="5 5 .1" friction=".8"/>
    <body name="arm" pos="0 0 1.5">
      <joint name="shoulder" axis="0 1 0" range="-60 40" damping=".3" stiffness="2" springref="10" armature=".02"
        frictionloss=".05" limited="true"/>
      <geom name="upper" type="capsule" fromto="0 0 0 .4 0 0" size=".04" mass=".8"/>
      <site name="mid" pos=".2 0 .05" size=".02"/>
      <body name="fore" pos=".4 0 0">
        <joint name="elbow" axis="0 1 0" range="-90 90"/>
        <geom name="lower" type="box" size=".15 .03 .03" pos=".15 0 0" mass=".5"/>
        <site name="tip" pos=".3 0 0" size=".02"/>
      </body>
    </body>
    <body name="slider" pos="0 1 .5"><joint name="slide" type="slide" axis="1 0 0" damping=".5"/>
      <geom name="block" type="box" size=".1 .1 .1" mass="1"/><site name="peg" pos="0 0 .1" size=".02"/></body>
    <body name="ballroot" pos="0 2 1"><joint name="ball" type="ball"/>
      <geom name="bob" type="ellipsoid" size=".1 .05 .05" pos=".2 0 0" mass=".3"/></body>
    <body name="free" pos="-1 0 .095"><freejoint name="root"/><geom name="cube" type="box" size=".1 .1 .1" mass="1"/></body>
    <body name="top" pos="-1 0 .29"><freejoint name="toproot"/><geom name="ball2" type="sphere" size=".1" mass=".4"/></body>
  </worldbody>
  <contact><pair geom1="cube" geom2="ball2" friction=".4 .4 .01 .001 .001" margin=".01"/></contact>
  <tendon>
    <fixed name="belt" stiffness="3" damping=".2" limited="true" range="-1 1"><joint joint="shoulder" coef="1"/>
      <joint joint="elbow" coef="-.5"/></fixed>
    <spatial name="rope" stiffness="5" width=".01" springlength=".3"><site site="tip"/><site site="peg"/></spatial>
  </tendon>
  <equality><joint name="gear" joint1="elbow" joint2="slide" polycoef="0 .5 0 0 0"/></equality>
  <actuator>
    <motor name="m1" joint="shoulder" gear="2" ctrlrange="-3 3" forcerange="-2 2" ctrllimited="true"/>
    <position name="p1" joint="elbow" kp="4" kv=".2"/>
    <general name="g1" joint="slide" dyntype="filter" dynprm=".1" gainprm="2" biastype="affine" biasprm=".1 -1 -.1"/>
  </actuator>
  <sensor>
    <jointpos joint="shoulder" cutoff="5"/><tendonpos tendon="rope"/><actuatorfrc actuator="m1"/>
    <framepos objtype="site" objname="tip"/><accelerometer site="tip"/><subtreecom body="arm"/>
    <distance geom1="cube" geom2="upper" cutoff="10"/><camprojection site="tip" camera="eye"/><e_kinetic/>
  </sensor>
</mujoco>"""


def everything() -> msd.World:
    scene = msd.from_str(MJCF, format="mjcf")
    here, there = msd.FrameRef(link="free"), msd.FrameRef(link="top")
    scene.couplers.append(msd.JointCoupler(name="cpl", joint="shoulder", reference="slide", multiplier=0.2))
    scene.distance_springs.append(
        msd.DistanceSpring(
            name="sp", frame_a=here, frame_b=there, rest_length=0.3, stiffness=10.0, damping=0.1
        )
    )
    closure = msd.LoopClosure(
        name="loop", frame_a=msd.FrameRef(link="arm"), frame_b=there, family="Distance", distance=1.6
    )
    scene.loop_closures.append(closure)
    joint = msd.WorldJoint(
        parent=here,
        child=msd.FrameRef(link="top", position=[0.0, 0.0, -0.2]),
        joint=msd.Joint(name="wj", type_="Ball"),
    )
    scene.joints.append(joint)
    return scene


def observed(scene: msd.World) -> str:
    """Motion, sensors, contacts, losses and notes after a few steps."""
    world = sx.World.from_scene(scene)
    world.actuator_controls = np.full(len(world.actuator_controls), 0.7)
    world.step(n=6)
    seen: list[Any] = [world.state_vector.tolist(), world.actuator_activations.tolist()]
    for sensor in world.sensors:
        try:
            seen.append(sensor.value.tolist())
        except NotImplementedError as error:
            seen.append(str(error))
    seen += (
        [[contact.point.tolist(), contact.force.tolist()] for contact in world.contact_forces]
        if hasattr(world, "contact_forces")
        else []
    )
    return repr(seen) + str(world.step_report().notes) + str([str(loss) for loss in world.report.losses])


def parts(part: Struct, path: tuple = ()):
    """Every part of a scene with the way to it."""
    yield part, path
    for name in type(part)._fields:
        value = getattr(part, name)
        inner = [((name,), value)]
        if isinstance(value, list):
            inner = [((name, k), one) for k, one in enumerate(value)]
        elif isinstance(value, dict):
            inner = [((name, k), one) for k, one in value.items()]
        for step, one in inner:
            if isinstance(one, Struct):
                yield from parts(one, path + step)


def follow(scene: Any, path: tuple) -> Any:
    for step in path:
        scene = getattr(scene, step) if isinstance(scene, Struct) else scene[step]
    return scene


def others(value: Any) -> list[Any]:
    """Values that differ from the given one, more and less likely to be allowed."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, enum.Enum):
        return [member for member in type(value) if member is not value]
    if isinstance(value, int):
        return [value + 1, value + 3, 0]
    if isinstance(value, float):
        return (
            [0.05, 0.5] if not math.isfinite(value) else [value * 1.3 + 0.03, value * 0.5, value + 1.0, 0.9]
        )
    if isinstance(value, np.ndarray):
        return [value * 1.3 + 0.02 * (1 + np.arange(value.size).reshape(value.shape)), value * 0.5]
    return [0.05, 0.3, True, 2, [0.1, 0.2, 0.3]] if value is None else []


STRUCTURE = (str, list, dict, Struct)
"""Names, references and containers: what is in them is changed one by one."""

BELOW = {
    "SimulateOption": (
        "disable_limit",
        "disable_control_clamp",
        "disable_reference_safety",
        "noslip_tolerance",
        "safty_damping_clamp",
    ),
}
"""Fields that tests below this one try."""
LISTED: dict[str, set[str]] = {}
for _kind, _name in (*CHECKS, *SAME, *((kind, name) for kind, names in BELOW.items() for name in names)):
    LISTED.setdefault(_kind, set()).add(_name)


@pytest.mark.parametrize("field", CHECKS, ids=".".join)
def test_a_field_with_a_scene_of_its_own_acts(field):
    observe, usual, other = CHECKS[field]
    first, again, second = (repr(observe(value)) for value in (usual, usual, other))
    assert first == again, "the observable is not repeatable"
    assert first != second, "accepted and ignored"


@pytest.mark.parametrize("field", SAME, ids=".".join)
def test_a_field_that_chooses_between_equals_changes_nothing(field):
    observe, usual, other = SAME[field]
    assert repr(observe(usual)) == repr(observe(other))


OUTSIDE = ("visual", "assets", "free_camera", "statistic", "custom")
"""Parts of a scene that pictures and compilers of meshes read."""


def _is_part(value: Any) -> bool:
    variant = hasattr(value, "value") and not isinstance(value, enum.Enum)
    return isinstance(value, STRUCTURE) or variant


def test_every_field_of_a_scene_acts_or_is_listed():
    """A field acts when one of its values changes what is observed, or is refused by its name."""
    scene = everything()
    before = observed(copy.deepcopy(scene))
    acts: set[tuple[str, str]] = set()
    silent: set[tuple[str, str]] = set()
    for part, path in parts(scene):
        kind = type(part).__name__
        for name in type(part)._fields:
            if (path and path[0] in OUTSIDE) or (kind, name) in acts or name in LISTED.get(kind, ()):
                continue
            if _is_part(getattr(part, name)):
                continue
            silent.add((kind, name))
            for value in others(getattr(part, name)):
                changed = copy.deepcopy(scene)
                try:
                    setattr(follow(changed, path), name, value)
                    shown = observed(changed) != before
                except (ValueError, NotImplementedError, RuntimeError) as error:
                    shown = name.strip("_") in str(error)
                if shown:
                    acts.add((kind, name))
                    break
    assert not silent - acts, f"accepted and ignored: {sorted(silent - acts)}"
    assert len(acts) > 150


# ---- fields that need a scene of their own


def two_balls(**given: Any) -> msd.World:
    """A ball that slides and bounces on a box, both hard and with their own coefficients."""
    scene = msd.World()
    hard = msd.ConstraintForceModel.hard(0.0, 0.2)
    for name, z, value in (("low", 0.0, 0.2), ("high", 0.2, 0.8)):
        material = msd.PhysicsMaterial(friction=(value, 0.0, 0.0), restitution=value, contact_model=hard)
        geom = msd.Geometry(
            name=name,
            shape="Box" if name == "low" else "Sphere",
            size=[0.1, 0.1, 0.1],
            physics_material=material,
        )
        body = msd.Body(link=msd.Link(name=name, geoms=[geom], local_translation=[0.0, 0.0, z]))
        if name == "high":
            body.free = msd.FreeJoint()
            body.linear_velocity, body.angular_velocity = [0.5, 0.0, -1.0], [1.0, 2.0, 3.0]
        scene.hierarchy.bodies.append(body)
    for path, value in given.items():
        *way, last = path.split("__")
        for body in scene.hierarchy.bodies if way and way[0] == "geoms" else [None]:
            owner = scene.simulate_option if body is None else body.link.geoms[0]
            for step in way[1:] if body is not None else way:
                owner = getattr(owner, step)
            setattr(owner, last, value)
    return scene


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("geoms__physics_material__friction_rule", msd.CombineRule.Minimum),
        ("geoms__physics_material__restitution_rule", msd.CombineRule.Minimum),
        ("geoms__collision_mask", msd.CollisionMask.non_collidable()),
        ("policy__contact__error_reduction", 0.9),
    ],
)
def test_fields_of_contact_act(path, value):
    ends = []
    for scene in (two_balls(), two_balls(**{path: value})):
        world = sx.World.from_scene(scene)
        world.rigid_bodies["high"].linear_velocity = (5.0, 0, -1.0)
        world.rigid_bodies["high"].angular_velocity = (1.0, 2.0, 3.0)
        if "error" in path:
            world.rigid_bodies["high"].translation = (0, 0, 0.19)
        world.step(n=20)
        ends.append(world.state_vector.copy())
    assert not np.array_equal(ends[0], ends[1])


def test_restitution_combines_by_its_rule():
    """A ball of 0.8 on a box of 0.2 comes back with 0.8, 0.4, 0.5, 0.2 or 0.16 of its speed."""
    wanted = {"Maximum": 0.8, "GeometricMean": 0.4, "Average": 0.5, "Minimum": 0.2, "Product": 0.16}
    for rule in msd.CombineRule:
        world = sx.World.from_scene(two_balls(geoms__physics_material__restitution_rule=rule))
        ball = world.rigid_bodies["high"]
        world.gravity = (0, 0, 0)
        ball.translation, ball.linear_velocity, ball.angular_velocity = (0, 0, 0.21), (0, 0, -1.0), (0, 0, 0)
        world.step(n=100)
        assert ball.linear_velocity[2] == pytest.approx(wanted[rule.name], abs=1e-6), rule


@pytest.mark.parametrize(
    "name", ["penetration_allowance", "max_correction_speed", "restitution_threshold", "regularization"]
)
def test_constants_of_contact_without_a_law_are_refused(name):
    scene = two_balls(**{f"policy__contact__{name}": 0.1})
    with pytest.raises(NotImplementedError, match=name):
        sx.World.from_scene(scene).step()


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("disable_limit", True, "<joint axis='0 1 0' range='-1 1' limited='true'/>"),
        ("disable_control_clamp", True, "<joint name='j' axis='0 1 0'/>"),
        (
            "disable_reference_safety",
            True,
            "<joint axis='0 1 0' range='-1 1' limited='true' solreflimit='0.003 1'/>",
        ),
    ],
)
def test_switches_of_a_scene_act(option, value, text):
    ends = []
    for on in (False, True):
        scene = msd.from_str(
            f"""<mujoco><worldbody><body>{text}<geom size='.1' pos='.2 0 0'/></body></worldbody>
            {"<actuator><motor joint='j' ctrlrange='-.1 .1' ctrllimited='true'/></actuator>" if "name" in text else ""}</mujoco>""",
            format="mjcf",
        )
        if on:
            setattr(scene.simulate_option, option, value)
        world = sx.World.from_scene(scene)
        world.actuator_controls = np.full(len(world.actuator_controls), 0.7)
        world.step(n=60)
        ends.append(world.state_vector.copy())
    assert not np.array_equal(ends[0], ends[1])


def test_cut_offs_clip_as_in_mujoco():
    """Touch, camera projection and inside sensors are clipped; contact sensors are not."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")
    text = """<mujoco><worldbody><geom type="plane" size="5 5 1"/>
      <camera name="eye" pos="0 -4 1.5" xyaxes="1 0 0 0 0.3 1" resolution="100 80"/>
      <body name="b" pos="0 0 .09"><freejoint/><geom name="cube" type="box" size=".1 .1 .1"/>
      <site name="s" type="box" size=".2 .2 .2"/></body></worldbody><sensor><touch site="s" cutoff=".5"/>
      <camprojection site="s" camera="eye" cutoff=".5"/><insidesite site="s" objtype="body" objname="b" cutoff=".5"/>
      <contact geom1="cube" data="found force dist" num="1" cutoff=".5"/></sensor></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 5)
    mujoco.mj_forward(model, data)
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.step(n=5)
    np.testing.assert_allclose(world.sensors.values, data.sensordata, atol=1e-5)


def test_the_tolerance_of_sweeps_against_slip_ends_them():
    """A box on a slope creeps by the impedance of friction; sweeps take that off, and a large tolerance ends them."""
    text = """<mujoco><option cone="elliptic" noslip_iterations="50" noslip_tolerance="{}" gravity="3 0 -9.81"/><worldbody>
      <geom type="plane" size="5 5 1"/><body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""
    creep = []
    for tolerance in (1e-12, 1e3):
        world = sx.World.from_scene(msd.from_str(text.format(tolerance), format="mjcf"))
        world.step(n=300)
        creep.append(abs(world.rigid_bodies[0].linear_velocity[0]))
    assert creep[0] < 1e-3 * creep[1]


def test_dampers_beyond_a_step_are_clamped():
    """A limit whose damper is d: with d h > 2 velocities turn round and grow; clamped at d h = 1 they end."""
    text = """<mujoco><option timestep=".01" gravity="0 0 0"><flag eulerdamp="disable"/></option><worldbody><body>
      <joint axis="0 1 0" range="-10 10" solreflimit="-1 -{}" solimplimit=".99 .99 .01"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
      </mujoco>"""
    speeds = []
    for clamps in (False, True):
        scene = msd.from_str(text.format(330), format="mjcf")
        scene.simulate_option.safty_damping_clamp = clamps
        world = sx.World.from_scene(scene)
        joint = world.multibodies[0].joints[0]
        # beyond the limit of 10 degrees and on the way out
        joint.position, joint.velocity = [0.3], [0.5]
        world.step()
        speeds.append(joint.velocity[0])
    # a = -d v: with d h = 1 the motion ends within the step, but for the spring that pushes back
    assert speeds[1] == pytest.approx(0.0, abs=2e-3)
    assert speeds[0] < -0.5
