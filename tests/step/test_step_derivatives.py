# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of one step against central differences: forces, rows, contacts and integrators of every kind."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from derivative_scenes import LAWS as SCENE_LAWS
from derivative_scenes import differentiated
from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.constraints.row_derivatives import factor_with_pivots
from worldline._src.step import step_derivatives
from worldline._src.step.analytic_stages import solve_stiff

METHODS = {
    "pyramids": 'cone="pyramidal"',
    "cones": 'cone="elliptic"',
    "runge-kutta": 'integrator="RK4"',
    "implicit": 'integrator="implicitfast"',
}
PLANE = '<geom type="plane" size="5 5 .1"/>'


def body(geom: str, place: str) -> str:
    return f'<body pos="{place}"><freejoint/><geom {geom}/></body>'


def stacked(*bodies: tuple[str, str]) -> str:
    """Bodies over a plane: a geom and a place each."""
    return PLANE + "".join(body(*each) for each in bodies)


ARM = """<body><joint name="a" axis="0 1 0" range="-20 10" limited="true" frictionloss=".3" damping=".1"
    stiffness="2" armature=".01"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" contype="0" conaffinity="0"/>
  <body pos=".4 0 0"><joint name="b" type="ball" range="0 30" limited="true" damping=".05"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" contype="0" conaffinity="0"/>
    <body pos=".4 0 0"><joint name="c" type="slide" axis="1 0 0" range="-.01 .05" limited="true"/>
      <geom type="sphere" size=".05" mass="1" contype="0" conaffinity="0"/></body></body></body>"""
LOOP = """<body name="x"><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" {0}/>
  <body pos=".4 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" {0}/>
    <body name="y" pos=".4 0 0"><joint name="c" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" {0}/></body></body></body>
  <body name="z" pos="0 1 0"><freejoint/><geom type="box" size=".1 .1 .1" {0}/></body>
  <body name="w" pos="0 1 .3"><freejoint/><geom type="box" size=".1 .1 .1" {0}/></body>"""
PULLED = """<site name="o" pos="0 0 1"/>
  <geom name="g" type="cylinder" size=".05 .2" pos=".3 0 .5" euler="90 0 0" contype="0" conaffinity="0"/>
  <body><joint name="a" axis="0 1 0" damping=".1"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" {0}/>
  <site name="p" pos=".3 0 .05"/><body pos=".4 0 0"><joint name="b" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" {0}/><site name="r" pos=".3 0 .05"/></body></body>"""
APART = 'contype="0" conaffinity="0"'

SCENES = {
    "spheres": PLANE
    + "".join(
        body(f'type="sphere" size=".1" condim="{dim}" friction=".6 .02 .01"', f"{0.19 * k} .0{k} .095")
        for k, dim in enumerate((3, 4, 6, 1))
    ),
    "capsules": stacked(
        ('type="capsule" size=".1 .2"', "0 0 .29"),
        ('type="capsule" size=".1 .2" euler="90 3 0"', ".15 0 .095"),
    ),
    "box": PLANE + body('type="box" size=".1 .2 .15"', "0 0 .148"),
    "ball on box": stacked(
        ('type="box" size=".1 .2 .15"', "0 0 .148"), ('type="sphere" size=".1"', ".02 .03 .395")
    ),
    "box on box": stacked(
        ('type="box" size=".2 .2 .15"', "0 0 .148"), ('type="box" size=".1 .1 .1"', ".02 .03 .395")
    ),
    "edge on box": stacked(
        ('type="box" size=".2 .2 .15"', "0 0 .148"),
        ('type="box" size=".1 .1 .1" euler="45 30 0"', ".02 .03 .452"),
    ),
    "capsule on box": stacked(
        ('type="box" size=".2 .2 .15"', "0 0 .148"),
        ('type="capsule" size=".1 .1" euler="90 3 0"', ".02 .03 .395"),
    ),
    "ellipsoid": PLANE + body('type="ellipsoid" size=".1 .2 .15"', "0 0 .148"),
    "arm": (
        ARM,
        '<actuator><motor joint="a" gear="3"/><position joint="c" kp="50"/>'
        '<general joint="a" dyntype="filter" dynprm=".05" gainprm="2"/>'
        '<general joint="c" dyntype="integrator" biastype="affine" biasprm="0 -3 0"/></actuator>',
    ),
    "equalities": (
        LOOP.format(APART),
        '<equality><connect body1="y" body2="world" anchor=".3 0 0"/>'
        '<joint joint1="a" joint2="b" polycoef="0.1 .5 .2 0 0"/><weld body1="z" body2="w"/></equality>',
    ),
    "tendons": (
        PULLED.format(APART),
        '<tendon><spatial name="t" stiffness="20" damping=".5" range="0 1.1" limited="true" frictionloss=".2">'
        '<site site="o"/><site site="p"/><site site="r"/></spatial>'
        '<fixed name="f" stiffness="3"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/></fixed>'
        '<spatial name="u"><site site="o"/><geom geom="g"/><site site="p"/></spatial></tendon>'
        '<actuator><motor tendon="u" gear="2"/></actuator>',
    ),
    "fluid": (body('type="box" size=".1 .2 .3"', "0 0 1"), "", 'density="100" viscosity=".1"'),
}
REFUSED = {("tendons", "implicit")}
"""Forces that depend on rates are taken at the end of the step by that family."""


def differentiable(text: str) -> sx.World:
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    return sx.World.from_scene(scene)


def world_of(scene: str, method: str) -> sx.World:
    parts = SCENES[scene]
    bodies, more, option = (parts, "", "") if isinstance(parts, str) else (*parts, "", "")[:3]
    return differentiable(
        f"<mujoco><option {METHODS[method]} {option}/><worldbody>{bodies}</worldbody>{more}</mujoco>"
    )


def disturb(world: sx.World, rng: np.random.Generator, size: float = 1e-3) -> None:
    state = world.get_state(world.state_space())
    world.set_state(sx.state.integrate(state, size * rng.normal(size=state.tangent_dimension)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scene", SCENES)
def test_derivatives_are_those_of_central_differences(scene, method):
    world, rng = world_of(scene, method), np.random.default_rng(3)
    if (scene, method) in REFUSED:
        with pytest.raises(NotImplementedError, match="implicit-velocity"):
            world.step()
        return
    compared = 0
    for turn in range(4):
        world.step(n=25)
        if turn % 2 == 0:
            disturb(world, rng)
            world.step()
        check = world.check_derivatives()
        assert check.largest_error < 1e-6, check.worst
        compared += len(check.errors)
        assert np.isfinite(world.get_step_derivatives().state_jacobian).all()
    # most columns are smooth where they are looked at
    assert compared > 0.9 * 4 * len(world.get_step_derivatives().state_names)


gymnasium = pytest.importorskip("gymnasium")
ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


@pytest.mark.parametrize("robot", ["hopper", "half_cheetah", "ant", "humanoid", "walker2d"])
def test_robots_in_contact(robot):
    scene = msd.from_file(ASSETS / f"{robot}.xml")
    scene.simulate_option.policy.differentiable = True
    # what the solver leaves undone is noise of the differences
    scene.simulate_option.constraint_solver_tolerance = 1e-15
    world, rng, touched = sx.World.from_scene(scene), np.random.default_rng(1), 0
    world.actuator_controls = 0.3 * rng.uniform(-1.0, 1.0, len(world.actuator_controls))
    for _ in range(4):
        world.step(n=50)
        check = world.check_derivatives()
        assert check.largest_error < 1e-7, check.worst
        touched += world.compute_step_metrics().active_contact_count
    assert touched > 0


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_with_drives_springs_and_damping(seed):
    rng = np.random.default_rng(seed)
    world = sx.World(time_step=0.002, differentiable=True)
    family = list(sx.MultibodyIntegrationFamily)[seed % 3]
    world.multibody_options = sx.MultibodyOptions(integration_family=family)
    robot, parent = world.add_multibody("robot"), None
    for k in range(6):
        kind = [sx.JointType.REVOLUTE, sx.JointType.SPHERICAL, sx.JointType.PRISMATIC][rng.integers(3)]
        axis = {} if kind is sx.JointType.SPHERICAL else {"axis": rng.normal(size=3)}
        spec = sx.JointSpec(name=f"j{k}", type=kind, **axis)
        inertia = np.diag(rng.uniform(0.05, 0.1, 3))
        parent = robot.add_link(
            f"l{k}",
            parent=parent,
            joint=spec,
            mass=rng.uniform(0.5, 2.0),
            inertia=inertia,
            center_of_mass=rng.uniform(-0.2, 0.2, 3),
        )
        joint = robot.joints[f"j{k}"]
        joint.damping_coefficient = rng.uniform(0.0, 1.0, joint.num_dofs)
        joint.spring_stiffness = rng.uniform(0.0, 5.0, joint.num_dofs)
    disturb(world, rng, 0.5)
    world.step(n=3)
    check = world.check_derivatives()
    assert check.largest_error < 1e-7 and not check.changed, check.worst


def test_hard_contacts_obey_coulomb_at_rest_and_sliding():
    for velocity in ((0.0, 0.0, 0.0), (1.0, 0.3, 0.0)):
        world = sx.World(time_step=0.002, differentiable=True)
        ground = world.add_rigid_body("ground", position=(0, 0, -0.5))
        ground.is_static = True
        ground.set_collision_shape(sx.CollisionShape.box((5, 5, 0.5)))
        box = world.add_rigid_body("box", mass=2, position=(0, 0, 0.5))
        box.set_collision_shape(sx.CollisionShape.box((0.2, 0.2, 0.5)))
        box.linear_velocity = velocity
        for _ in range(3):
            world.step(n=30)
            check = world.check_derivatives()
            assert check.largest_error < 1e-6, check.worst
            # contacts that close exactly have a kink along what moves the ground or the box through them
            assert len(check.errors) >= 24
            assert world.compute_step_metrics().active_contact_count > 0


def sliding(law: msd.ConstraintForceModel, differentiable: bool = True) -> sx.World:
    """Two welded balls and a third one that slide on the ground."""
    balls = "".join(
        f'<body name="{name}" pos="{x} 0 .0995"><freejoint/><geom type="sphere" size=".1" mass="{mass}"/></body>'
        for name, x, mass in (("a", 0.0, 2.0), ("b", 0.6, 1.0), ("c", 1.5, 3.0))
    )
    weld = '<equality><weld body1="a" body2="b"/></equality>'
    scene = msd.from_str(f"<mujoco><worldbody>{PLANE}{balls}</worldbody>{weld}</mujoco>", format="mjcf")
    for geom in [*scene.hierarchy.geoms, *(geom for link in scene.hierarchy.links() for geom in link.geoms)]:
        geom.physics_material.contact_model = law
    scene.simulate_option.policy.differentiable = differentiable
    world = sx.World.from_scene(scene)
    for ball, speed in zip(
        world.rigid_bodies, ((1.0, 0.2, 0.0), (1.0, 0.2, 0.0), (0.4, -2.0, 0.0)), strict=True
    ):
        ball.linear_velocity = speed
    return world


SPRING = msd.StiffnessDamping(k=4e4, d=200.0)
LAWS = {
    "hard": msd.ConstraintForceModel.hard(0.0, 0.2),
    "bouncing": msd.ConstraintForceModel.hard(0.5, 0.2),
    "force spring": msd.ConstraintForceModel.force_spring(SPRING),
    "acceleration spring": msd.ConstraintForceModel.acceleration_spring(SPRING),
}


@pytest.mark.parametrize("law", LAWS)
def test_sliding_contacts_have_derivatives_of_coulombs_law(law):
    """A step stops short of the fixed point of Coulomb's law, by more than a hard contact gives."""
    world, plain = sliding(LAWS[law]), sliding(LAWS[law], differentiable=False)
    slid = 0
    for _ in range(4):
        world.step(n=3)
        plain.step(n=3)
        check = world.check_derivatives()
        assert check.largest_error < 1e-6, check.worst
        assert len(check.errors) > 4 * len(check.changed)
        slid += sum(np.hypot(*contact.force[:2]) > 0.1 for contact in world.contacts)
        # derivatives and differences leave the World as it was
        np.testing.assert_array_equal(world.state_vector, plain.state_vector)
    assert slid > 4


FEET = """<mujoco><option timestep=".004" cone="elliptic"/><worldbody>
  <geom type="plane" size="5 5 .1" friction="{mu} .01 .005" condim="{condim}"/>
  <body name="trunk" pos="0 0 .155"><freejoint/>
    <geom type="box" size=".2 .1 .05" mass="4" contype="0" conaffinity="0"/>{legs}</body></worldbody>
  <actuator>{servos}</actuator></mujoco>"""
LEG = """<body pos="{place} 0"><joint name="j{k}" axis="0 1 .2" damping=".3" limited="true" range="-60 60"/>
  <geom type="capsule" fromto="0 0 0 {foot} -.14" size=".02" mass=".4" friction="{mu} .01 .005" condim="{condim}"/>
  </body>"""


def on_feet(law: str, mu: float, condim: int) -> sx.World:
    """A trunk on four legs with servos, without bodies that move on their own."""
    places, feet = ("-.2 .1", "-.2 -.1", ".2 .1", ".2 -.1"), ("-.02 0", ".01 0", "0 .02", ".02 0")
    legs = "".join(
        LEG.format(place=place, k=k, mu=mu, condim=condim, foot=foot)
        for k, (place, foot) in enumerate(zip(places, feet, strict=True))
    )
    servos = "".join(f'<position joint="j{k}" kp="60"/>' for k in range(4))
    return differentiated(FEET.format(mu=mu, condim=condim, legs=legs, servos=servos), SCENE_LAWS[law])


@pytest.mark.parametrize(("mu", "condim"), [(0.8, 3), (0.05, 3), (0.2, 4), (0.3, 6), (0.5, 1)])
@pytest.mark.parametrize("law", ["force springs", "acceleration springs", "hard"])
def test_contacts_that_obey_coulomb_have_analytic_derivatives(law, mu, condim, monkeypatch):
    world, rng = on_feet(law, mu, condim), np.random.default_rng(condim)
    world.step(n=40)
    world.control_vector = 0.3 * rng.normal(size=world.control_space().dimension)
    world.step()
    made, check = world.get_step_derivatives(), world.check_derivatives()
    assert made.provenance["state_jacobian"].value == "analytic"
    assert check.largest_error < 1e-6
    assert len(check.errors) > 4 * len(check.changed)

    # products are those of the matrices although contacts are 1e7 times as stiff as bodies are heavy
    g, x, u = (
        rng.normal(size=len(names)) for names in (made.state_names, made.state_names, made.control_names)
    )
    back, forth = world.apply_step_vjp(g), world.apply_step_jvp(x, u)
    scale = 1.0 + np.abs(made.state_jacobian).max()
    assert np.abs(back.state - g @ made.state_jacobian).max() <= 1e-12 * scale
    assert np.abs(back.control - g @ made.control_jacobian).max() <= 1e-12 * scale
    assert np.abs(forth - made.state_jacobian @ x - made.control_jacobian @ u).max() <= 1e-12 * scale

    # the same in dual numbers, to what stiffness leaves of their digits
    tangent = world._live().tangent
    assert tangent is not None
    monkeypatch.setattr(tangent, "_local", (tangent._local[0], False))
    other = world.get_step_derivatives()
    assert other.provenance["state_jacobian"].value == "dual"
    assert np.abs(other.state_jacobian - made.state_jacobian).max() <= 1e-6 * scale
    assert np.abs(other.control_jacobian - made.control_jacobian).max() <= 1e-6 * scale


ARMS = """<mujoco><option timestep=".004" cone="elliptic"/><worldbody>
  <body pos="0 0 1"><joint axis="0 1 0" damping=".1"/><joint axis="1 0 0" damping=".1"/>
    <geom type="capsule" fromto="0 0 0 .1 0 -.4" size=".05" mass="1" friction=".8 .01 .005"/></body>
  <body pos=".295 .01 1"><joint axis="0 1 .1" damping=".1"/><joint axis="1 0 0" damping=".1"/>
    <geom type="capsule" fromto="0 0 0 -.1 0 -.4" size=".05" mass="2" friction=".8 .01 .005"/></body>
  </worldbody></mujoco>"""


@pytest.mark.parametrize("law", ["acceleration springs", "hard"])
def test_arms_that_push_each_other_have_analytic_derivatives(law):
    """Both bodies of a contact move, and each is displaced alone."""
    world, rng, touched = differentiated(ARMS, SCENE_LAWS[law]), np.random.default_rng(4), False
    for _ in range(4):
        forces = np.zeros(world.control_space().dimension)
        forces[0], forces[2] = -40.0, 40.0
        world.control_vector = forces
        world.step()
        made, check = world.get_step_derivatives(), world.check_derivatives()
        assert made.provenance["state_jacobian"].value == "analytic"
        assert check.largest_error < 1e-6
        g = rng.normal(size=len(made.state_names))
        scale = 1.0 + np.abs(made.state_jacobian).max()
        assert np.abs(world.apply_step_vjp(g).state - g @ made.state_jacobian).max() <= 1e-12 * scale
        touched = touched or any(np.linalg.norm(one.force) > 0.0 for one in world.contacts)
    assert touched


def test_stiff_systems_are_solved_to_rounding():
    """Against rational numbers: inertias of one beside a contact of 1e8, whose matrix is not symmetric."""
    rng, n = np.random.default_rng(3), 6
    J = rng.normal(size=(2, n))
    H = np.eye(n) + 1e8 * J.T @ np.array([[1.0, 0.3], [0.0, 1.0]]) @ J
    b = 1e8 * J.T @ rng.normal(size=2) + rng.normal(size=n)
    for transposed in (False, True):
        rows = [
            [Fraction(x) for x in row] + [Fraction(y)]
            for row, y in zip(H.T if transposed else H, b, strict=True)
        ]
        for k in range(n):
            rows[k] = [x / rows[k][k] for x in rows[k]]
            for i in range(n):
                if i != k:
                    rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
        exact = [row[-1] for row in rows]
        factors, pivot, work, x = H.copy(), np.zeros(n), np.zeros((2, n)), b.copy()
        factor_with_pivots(factors, pivot)
        solve_stiff(H, factors, pivot, work, transposed, x)
        largest = max(abs(float(y)) for y in exact)
        for found, low, wanted in zip(x, work[1], exact, strict=True):
            assert abs(Fraction(found) - wanted) <= 1e-15 * largest
            assert abs(Fraction(found) + Fraction(low) - wanted) <= 1e-22 * largest


def test_touching_resting_and_coincident_shapes_have_finite_derivatives():
    for height in (0.1, 0.1 - 1e-12, 0.0, 0.05):
        ball = body('type="sphere" size=".1"', f"0 0 {height}")
        box = body('type="box" size=".1 .1 .1"', f"1 0 {height}")
        world = differentiable(f"<mujoco><worldbody>{PLANE}{ball}{ball}{box}</worldbody></mujoco>")
        for _ in range(3):
            world.step()
            made = world.get_step_derivatives()
            assert np.isfinite(made.state_jacobian).all() and np.isfinite(made.control_jacobian).all()


ROLLING = """<mujoco><option timestep=".004" cone="elliptic"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .095"><freejoint/><geom type="sphere" size=".1" mass="2"/>
    <body pos=".1 0 0"><joint name="h" axis="0 1 0" damping=".2" stiffness="2"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass=".5"/></body></body></worldbody>
  <actuator><motor joint="h" gear="3"/></actuator></mujoco>"""


def test_differences_of_steps_do_not_end_where_the_solver_is_content():
    """A small force across the slip changes less than the solver's tolerance: differences saw no answer."""
    scene = msd.from_str(ROLLING, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(scene)
    world.step(n=40)
    world.actuator_controls = [0.5]
    for _ in range(8):
        world.step()
        check = world.check_derivatives()
        assert check.largest_error < 1e-8
        assert len(check.errors) > 8 * len(check.changed)


@pytest.mark.parametrize("geom", ['type="cylinder" size=".1 .1"', 'type="ellipsoid" size=".1 .12 .1"'])
def test_curved_shapes_on_each_other_are_refused_where_they_touch(geom):
    low, high = body(geom, "0 0 1"), body(f'{geom} euler="70 10 0"', ".02 .03 1.17")
    world = differentiable(f"<mujoco><worldbody>{low}{high}</worldbody></mujoco>")
    world.step()
    assert world.compute_step_metrics().active_contact_count > 0
    with pytest.raises(NotImplementedError, match="touch and are another pair"):
        world.get_step_derivatives()


@pytest.mark.parametrize("scene", ["arm", "equalities", "tendons", "half_cheetah"])
def test_inverse_and_forward_form_of_a_step_agree(scene, monkeypatch):
    if scene in SCENES:
        parts = SCENES[scene]
        # without free bodies on their own, whose spin is integrated exactly in the forward form
        bodies = parts[0].split('<body name="z"')[0] if scene == "equalities" else parts[0]
        more = parts[1].replace('<weld body1="z" body2="w"/>', "")
        text = f"<mujoco><worldbody>{bodies}</worldbody>{more}</mujoco>"
    else:
        text = (ASSETS / f"{scene}.xml").read_text().replace('integrator="RK4"', 'integrator="Euler"')
    world, rng = differentiable(text), np.random.default_rng(6)
    world.step(n=50)
    disturb(world, rng)
    world.step()
    tangent = world._live().tangent
    monkeypatch.setattr(step_derivatives, "has_local_forces", lambda sim: False)
    made = world.get_step_derivatives()
    assert type(tangent._made).__name__ == "ColumnStep"
    monkeypatch.setattr(step_derivatives, "has_inverse_form", lambda sim: False)
    tangent._made = None
    other = world.get_step_derivatives()
    assert type(tangent._made).__name__ == "DualStep"
    for ours, theirs in (
        (made.state_jacobian, other.state_jacobian),
        (made.control_jacobian, other.control_jacobian),
    ):
        scale = 1.0 + np.abs(theirs).max(initial=0.0)
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-11 * scale)
