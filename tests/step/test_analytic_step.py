# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives of steps beside those in dual numbers, and gradients beside the Jacobians."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.jit import DISABLED
from worldline._src.step import step_derivatives

pytestmark = pytest.mark.skipif(DISABLED, reason="dual numbers need the compiler")

gymnasium = pytest.importorskip("gymnasium")
ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"

PLANE = '<geom type="plane" size="5 5 .1"/>'


def walker(place: str, geom: str, turn: str = "0 0 0") -> str:
    """A free root with a hinge, a ball and a slide below it."""
    return f"""<body pos="{place}" euler="{turn}"><freejoint/><geom {geom}/>
      <body pos=".15 0 0"><joint axis="0 1 .2" damping=".2" stiffness="3" range="-40 30" limited="true"
          armature=".01"/><geom type="capsule" fromto="0 0 0 .2 0 -.1" size=".04" condim="4"/>
        <body pos=".2 0 -.1"><joint type="ball" damping=".05"/><geom type="sphere" size=".06" condim="6"
            friction=".7 .02 .01"/>
          <body pos="0 0 .1"><joint type="slide" axis="0 0 1" stiffness="200" damping="2" frictionloss=".1"/>
            <geom type="box" size=".03 .03 .03" condim="1"/></body></body></body></body>"""


PAIRED = """<contact><pair geom1="ground" geom2="foot" friction=".5 .8 .01 .02 .03" condim="6"
    solref=".03 1" solreffriction=".05 .9"/></contact>"""
SCENES = {
    "one": (PLANE + walker("0 0 .2", 'type="box" size=".1 .08 .06"'), ""),
    "leaning on each other": (
        PLANE
        + walker("0 0 .15", 'type="box" size=".1 .08 .06"')
        + walker("0 .1 .32", 'type="capsule" size=".07 .1"', "80 10 20")
        + walker("2 0 .15", 'type="sphere" size=".1"'),
        "",
    ),
    "own pair": (
        '<geom name="ground" type="plane" size="5 5 .1"/><body pos="0 0 .1"><freejoint/>'
        '<geom name="foot" type="sphere" size=".1"/><body pos=".2 0 0"><joint axis="1 1 0"/>'
        '<geom type="capsule" fromto="0 0 0 .2 0 0" size=".05"/></body></body>',
        PAIRED,
    ),
    "actuators": (
        """<body><joint name="a" axis="0 1 0" range="-20 10" limited="true" frictionloss=".3" damping=".1"/>
          <geom type="capsule" fromto="0 0 0 .4 0 0" size=".04"/>
          <body pos=".4 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".04"
          /></body></body>""",
        """<actuator><motor joint="a" gear="3" ctrlrange="-1 1" ctrllimited="true"/><muscle joint="a"
          lengthrange=".1 2"/><general joint="b" dyntype="filter" dynprm=".05" gainprm="2" biastype="affine"
          biasprm="0 -3 -.2"/><general joint="b" dyntype="integrator" gainprm=".5"/></actuator>""",
    ),
    "equalities": (
        PLANE
        + walker("0 0 .2", 'type="box" size=".1 .08 .06"')
        + walker("0 .4 .3", 'type="capsule" size=".07 .1"', "80 10 20").replace("<body", '<body name="b"', 1)
        + """<body name="a" pos="0 -.4 .6"><joint name="a" axis="0 1 0"/><geom size=".05" pos=".1 0 0"/>
          <body name="c" pos=".2 0 0"><joint name="c" axis=".1 1 0" armature=".01"/><geom size=".05"
          pos=".1 .02 0"/></body></body><body pos="1 0 1"><joint name="d" axis="1 0 0"/><geom size=".05"
          pos="0 .1 0"/></body>""",
        """<equality><weld body1="b" body2="c" torquescale=".7"/><connect body1="a" anchor=".1 0 .1"/>
          <joint joint1="a" joint2="d" polycoef=".1 .9 .2 -.3 .1"/><joint joint1="c"/></equality>""",
    ),
    "tendons": (
        PLANE
        + walker("0 0 .2", 'type="box" size=".1 .08 .06"').replace(
            "<geom type", '<site name="w"/><geom type', 1
        )
        + """<site name="post" pos=".1 .5 1"/><body name="a" pos="0 .4 .6"><joint name="a" axis="0 1 0"/>
          <geom size=".05" pos=".1 0 0"/><site name="a" pos=".1 0 .05"/><body pos=".2 0 0"><joint name="b"
          axis=".1 1 .3"/><geom name="ball" size=".05" pos=".1 .02 0"/><body pos=".2 0 0"><joint name="c"
          type="ball"/><geom size=".05" pos=".1 0 .02"/><site name="c" pos=".1 .05 .1"/></body></body></body>
          <body pos=".4 .8 .5"><joint name="d" axis="1 0 0"/><geom name="rod" type="cylinder" size=".04 .2"
          euler="0 80 0"/><geom size=".05" pos="0 .1 .1"/><site name="d" pos="0 .2 .1"/></body>""",
        """<tendon><spatial stiffness="40" damping=".5" springlength=".1 .2"><site site="a"/><geom geom="ball"/>
          <site site="c"/><pulley divisor="2"/><site site="c"/><geom geom="rod"/><site site="d"/></spatial>
          <spatial limited="true" range="0 .5" frictionloss=".2"><site site="post"/><site site="d"/></spatial>
          <spatial stiffness="30" damping=".3"><site site="w"/><site site="c"/></spatial>
          <fixed stiffness="3" damping=".1" limited="true" range="-.1 .02" frictionloss=".1" armature=".02">
          <joint joint="a" coef=".7"/><joint joint="d" coef="-.4"/></fixed></tendon>""",
    ),
    "orientations": (
        PLANE
        + walker("0 0 .2", 'type="box" size=".1 .08 .06"').replace(
            '"ball" ', '"ball" stiffness="2" range="0 8" limited="true" '
        )
        + """<body pos="0 .5 1"><joint type="ball" stiffness="3" range="0 20" limited="true" damping=".1"/>
          <geom type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/><body pos=".3 0 .1"><joint type="ball" range="0 5"
          limited="true"/><geom type="capsule" fromto="0 0 0 .2 .1 0" size=".03"/></body></body>""",
        "",
    ),
    "in the air": (walker("0 0 3", 'type="box" size=".1 .08 .06"').replace('limited="true"', ""), ""),
}


def differentiable(text: str) -> sx.World:
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    return sx.World.from_scene(scene)


def disturb(world: sx.World, rng: np.random.Generator) -> None:
    state = world.get_state(world.state_space())
    world.set_state(sx.state.integrate(state, 1e-2 * rng.normal(size=state.tangent_dimension)))


def assert_same(world: sx.World, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Analytic derivatives are those in dual numbers, and products those of the matrices."""
    made, tangent = world.get_step_derivatives(), world._live().tangent
    assert tangent is not None and tangent.is_analytic
    g, x = rng.normal(size=len(made.state_names)), rng.normal(size=len(made.state_names))
    u = rng.normal(size=len(made.control_names))
    back, forth = world.apply_step_vjp(g), world.apply_step_jvp(x, u)
    with monkeypatch.context() as patch:
        patch.setattr(step_derivatives, "has_local_forces", lambda sim: False)
        tangent._local = None
        assert not tangent.is_analytic
        other = world.get_step_derivatives()
    tangent._local = None
    assert other.provenance["state_jacobian"] is sx.Provenance.DUAL
    assert made.provenance["state_jacobian"] is made.provenance["control_jacobian"] is sx.Provenance.ANALYTIC
    assert made.provenance["joint forces"] is sx.Provenance.DUAL
    A, B = made.state_jacobian, made.control_jacobian
    for ours, theirs in ((A, other.state_jacobian), (B, other.control_jacobian)):
        scale = 1.0 + np.abs(theirs).max(initial=0.0)
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-11 * scale)
    scale = 1.0 + np.abs(A).max()
    np.testing.assert_allclose(back.state, g @ A, rtol=0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(back.control, g @ B, rtol=0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(forth, A @ x + B @ u, rtol=0.0, atol=1e-12 * scale * len(x))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("scene", SCENES)
def test_analytic_derivatives_are_those_in_dual_numbers(scene, cone, monkeypatch):
    bodies, more = SCENES[scene]
    text = f'<mujoco><option cone="{cone}"/><worldbody>{bodies}</worldbody>{more}</mujoco>'
    world, rng, touched = differentiable(text), np.random.default_rng(2), 0
    if len(world.actuator_controls):
        world.actuator_controls = rng.uniform(0.1, 0.9, len(world.actuator_controls))
    for turn in range(4):
        world.step(n=20)
        if turn % 2 == 0:
            disturb(world, rng)
            world.step()
        touched += world.compute_step_metrics().active_contact_count
        assert_same(world, monkeypatch, rng)
        check = world.check_derivatives()
        assert check.largest_error < 1e-6, check.worst
    assert touched > 0 or scene in ("actuators", "in the air")


TIPS = """<mujoco><worldbody>
  <body pos="0 0 1"><joint axis="0 1 .1" damping=".05"/><geom size=".05" pos=".1 0 0"/>
    <body name="a" pos=".2 0 0"><joint axis="0 0 1"/><geom size=".05" pos=".1 .02 0"/></body></body>
  <body name="b" pos=".4 .3 1"><freejoint/><geom size=".05" pos=".1 0 0"/><body pos=".1 0 .1">
    <joint type="ball" damping=".02"/><geom size=".04" pos=".1 0 .05"/></body></body></worldbody></mujoco>"""


SOFT = msd.ImpedanceSpring(
    spring=msd.StiffnessDamping(k=100.0, d=20.0),
    impedance=msd.Impedance(d0=0.6, dmax=0.9, width=0.5, middle=0.4, power=3.0),
)


def tips() -> tuple[msd.Scene, dict[str, msd.FrameRef]]:
    """Two trees, and a frame on each."""
    scene, rng = msd.from_str(TIPS, format="mjcf"), np.random.default_rng(7)
    scene.simulate_option.policy.differentiable = True
    frames = {}
    for name in "ab":
        turn = rng.normal(size=4)
        frames[name] = msd.FrameRef(
            link=name, position=rng.uniform(-0.1, 0.1, 3), orientation=turn / np.linalg.norm(turn)
        )
    return scene, frames


@pytest.mark.parametrize("family", ["Rigid", "Point", "Axis", "Distance"])
def test_soft_closures(family, monkeypatch):
    scene, (a, b) = tips()[0], tips()[1].values()
    closure = msd.LoopClosure(frame_a=a, frame_b=b, family=family, dynamics="Solve")
    closure.spring, closure.distance = SOFT, 0.3 if family == "Distance" else 0.0
    scene.loop_closures.append(closure)
    world, rng = sx.World.from_scene(scene), np.random.default_rng(6)
    assert_same_in_motion(world, monkeypatch, rng)


@pytest.mark.parametrize(
    "path",
    [
        msd.PathShape.plane(),
        msd.PathShape.circle(0.2),
        msd.PathShape.spline([(-1.0, 0.2, 0.0), (0.0, 0.0, 0.1), (0.3, 0.4, 0.0), (1.0, -0.2, 0.3)]),
    ],
    ids=["plane", "circle", "spline"],
)
def test_points_on_paths(path, monkeypatch):
    scene, frames = tips()
    kept = msd.EqualityPath(point=frames["a"], frame=frames["b"], path=path, spring=SOFT)
    scene.equality_constraint_set.paths.append(kept)
    world, rng = sx.World.from_scene(scene), np.random.default_rng(8)
    assert_same_in_motion(world, monkeypatch, rng)


@pytest.mark.parametrize("kind", ["Fixed", "Ball", "Universal", "Planar", "Screw"])
def test_springy_joints_between_bodies(kind, monkeypatch):
    scene, frames = tips()
    joint = msd.Joint(name="j", type_=kind, axis=(0.3, 0.2, 1.0))
    if kind in ("Universal", "Planar"):
        joint.axis2 = (1.0, 0.0, -0.3)
    if kind == "Screw":
        joint.pitch = 0.2
    softness = msd.ProjectionPolicy(linear_stiffness=2e3, angular_stiffness=50.0)
    scene.joints.append(
        msd.WorldJoint(parent=frames["a"], child=frames["b"], joint=joint, projection=softness)
    )
    world, rng = sx.World.from_scene(scene), np.random.default_rng(9)
    assert_same_in_motion(world, monkeypatch, rng)


def assert_same_in_motion(world: sx.World, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """`assert_same` of a few steps, and the differences."""
    for _ in range(3):
        disturb(world, rng)
        world.step(n=15)
        assert_same(world, monkeypatch, rng)
        check = world.check_derivatives()
        assert check.largest_error < 1e-6, check.worst


@pytest.mark.parametrize("robot", ["hopper", "half_cheetah", "ant", "humanoid", "humanoidstandup"])
def test_robots(robot, monkeypatch):
    text = (ASSETS / f"{robot}.xml").read_text().replace('integrator="RK4"', 'integrator="Euler"')
    scene, rng = msd.from_str(text, format="mjcf"), np.random.default_rng(4)
    scene.simulate_option.policy.differentiable = True
    # what the solver leaves undone is noise of the differences
    scene.simulate_option.constraint_solver_tolerance = 1e-15
    world = sx.World.from_scene(scene)
    world.actuator_controls = 0.3 * rng.uniform(-1.0, 1.0, len(world.actuator_controls))
    for _ in range(3):
        world.step(n=40)
        assert_same(world, monkeypatch, rng)
        check = world.check_derivatives()
        assert check.largest_error < 1e-7, check.worst


def test_forces_on_links(monkeypatch):
    world, rng = (
        differentiable(f"<mujoco><worldbody>{SCENES['one'][0]}</worldbody></mujoco>"),
        np.random.default_rng(5),
    )
    world.step(n=30)
    tangent = world._live().tangent
    assert tangent is not None
    # what acts in the next step only
    f = 3.0 * rng.normal(size=world._live().sim.field("body_f").shape)
    world._live().sim.field("body_f")[:] = f
    world.step()
    assert np.abs(tangent.kept["body_f"]).max() > 0.0
    assert_same(world, monkeypatch, rng)


@pytest.mark.parametrize(
    "bodies, more",
    [
        (
            '<body><joint name="a" axis="0 1 0"/><joint name="b" axis="1 0 0"/><geom size=".1" pos=".2 0 .1"/>'
            "</body>",
            '<tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed></tendon><actuator>'
            '<position tendon="t" kp="3"/></actuator>',
        ),
        (
            '<body><joint name="a" axis="0 1 0"/><geom type="sphere" size=".1" pos=".2 0 0"/></body>',
            "<actuator>" + '<motor joint="a"/>' * 3 + "</actuator>",
        ),
    ],
    ids=["actuator of a tendon", "three actuators"],
)
def test_other_forces_are_differentiated_in_dual_numbers(bodies, more):
    world = differentiable(f"<mujoco><worldbody>{bodies}</worldbody>{more}</mujoco>")
    world.step(n=3)
    tangent = world._live().tangent
    assert tangent is not None and not tangent.is_analytic
    assert world.check_derivatives().largest_error < 1e-7
    made = world.get_step_derivatives()
    assert made.provenance["state_jacobian"] is sx.Provenance.DUAL
    g = np.arange(1.0, 1.0 + len(made.state_names))
    np.testing.assert_allclose(world.apply_step_vjp(g).state, g @ made.state_jacobian, rtol=1e-12)


def test_rows_that_sweeps_solved_are_refused_and_the_world_stays_as_it_is():
    world = differentiable(f"<mujoco><worldbody>{SCENES['one'][0]}</worldbody></mujoco>")
    world.contact_solver_method = sx.ContactSolverMethod.SEQUENTIAL_IMPULSE
    world.step(n=200)
    assert world.compute_step_metrics().active_contact_count > 0
    tangent, before = world._live().tangent, world._live().sim.data.copy()
    assert tangent is not None and tangent.is_analytic
    for derive in (world.get_step_derivatives, lambda: world.apply_step_vjp(np.ones(22))):
        with pytest.raises(NotImplementedError, match="Newton's method"):
            derive()
        assert world._live().sim.data.tobytes() == before.tobytes()


def test_a_parameter_may_change_what_acts():
    # the spring of the hinge keeps the stages of springs in every step, that of the ball comes and goes
    bodies = """<body><joint type="ball" damping=".1"/><geom type="sphere" size=".1" pos=".2 0 0"/>
      <body pos=".3 0 0"><joint axis="0 1 0" stiffness="1"/><geom type="sphere" size=".1"/></body></body>"""
    world = differentiable(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    world.step(n=20)
    tangent = world._live().tangent
    assert tangent is not None and tangent.is_analytic
    joint, stages = next(iter(world.multibodies)).joints[0], world._live().sim.schedule
    for stiffness in (3.0, 0.0, 2.0):
        joint.spring_stiffness = np.full(3, stiffness)
        world.step(n=20)
        assert world.check_derivatives().largest_error < 1e-7
        assert tangent.is_analytic
        assert world._live().sim.schedule is stages
