# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random scenes whose steps are differentiated, and their comparison with central differences.

A scene mixes rigid bodies, robots on fixed and floating bases, springs, dampers, drives, limits, joint friction,
tendons, actuators with and without activations, closures, welds and other equalities, contacts of the impedance law
with both cones, and of springs and hard contacts with Coulomb friction, with and without restitution, under every
integrator. The suite goes through a sample; all of them: `python tests/derivative_scenes.py 600`.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from worldline import msd
from worldline import simulation as sx

INTEGRATORS = ("Euler", "implicitfast", "RK4")
TOLERANCE = 1e-6
"""Largest error of an entry, over the largest entry of its column or one."""


def add_parameters(world: sx.World, names: dict[Any, str]) -> None:
    """Differentiate by parameters of objects, named as in `PhysicalParameter`."""
    for owner, chosen in names.items():
        for name in chosen.split():
            world.add_differentiable_parameter(owner, sx.PhysicalParameter[name])


class Result(NamedTuple):
    """What was compared: the largest error, columns compared and left out, and why a scene was refused."""

    kinds: tuple[str, ...]
    error: float = 0.0
    compared: int = 0
    changed: int = 0
    refused: str = ""


def _numbers(values) -> str:
    return " ".join(f"{x:.5g}" for x in values)


def _link(rng: np.random.Generator, name: str, depth: int, kinds: Counter) -> str:
    """A link with a joint of a random kind, and the rest of its chain."""
    kind = rng.choice(["hinge", "hinge", "slide", "ball"])
    options = f'damping="{rng.uniform(0, 0.3):.3g}" armature="{rng.uniform(0, 0.02):.3g}"'
    if rng.uniform() < 0.4:
        options += f' stiffness="{rng.uniform(0.5, 5):.3g}"'
        kinds["springs"] += 1
    if rng.uniform() < 0.3:
        options += f' frictionloss="{rng.uniform(0.05, 0.4):.3g}"'
        kinds["joint friction"] += 1
    if rng.uniform() < 0.5:
        low = 0.0 if kind == "ball" else -rng.uniform(0.001, 0.3)
        high = rng.uniform(0.005, 0.4)
        if kind != "slide":
            low, high = np.rad2deg([low, high])
        options += f' limited="true" range="{low:.4g} {high:.4g}"'
        kinds["limits"] += 1
    axis = rng.normal(size=3)
    kinds[kind] += 1
    place = "0 0 0" if depth == 0 else ".25 0 0"
    inner = ""
    if depth < rng.integers(1, 4):
        inner = _link(rng, f"{name}x", depth + 1, kinds)
    return f"""<body name="{name}" pos="{place}" euler="{_numbers(rng.uniform(-20, 20, 3))}">
      <joint name="{name}" type="{kind}" axis="{_numbers(axis)}" {options}/>
      <geom type="capsule" fromto="0 0 0 .25 0 0" size=".03" contype="0" conaffinity="0"/>
      <site name="{name}" pos=".2 .02 .03"/>{inner}</body>"""


def _names(text: str, kinds: tuple[str, ...]) -> list[str]:
    """Joints of given kinds in a text of bodies."""
    found = []
    for part in text.split("<joint name=")[1:]:
        name, kind = part.split('"')[1], part.split('type="')[1].split('"')[0]
        if kind in kinds:
            found.append(name)
    return found


def scene_text(seed: int) -> tuple[str, Counter]:
    """A scene as MJCF, and what it has."""
    rng, kinds = np.random.default_rng([77, seed]), Counter()
    integrator = INTEGRATORS[seed % len(INTEGRATORS)]
    cone = rng.choice(["pyramidal", "elliptic"])
    kinds[integrator] += 1
    bodies, more, actuators = ['<geom type="plane" size="5 5 .1"/><site name="post" pos="0 0 1.4"/>'], [], []

    # rigid bodies on the ground and on each other
    shapes = {
        "sphere": ('size=".1"', 0.1),
        "capsule": ('size=".08 .12" euler="90 0 0"', 0.08),
        "box": ('size=".1 .12 .09"', 0.09),
        "ellipsoid": ('size=".1 .12 .09"', 0.09),
    }
    for k in range(rng.integers(0, 4)):
        shape = str(rng.choice(list(shapes)))
        size, height = shapes[shape]
        kinds[shape] += 1
        kinds["rigid bodies"] += 1
        kinds[cone] += 1
        friction = _numbers(rng.uniform([0.3, 0.01, 0.005], [1, 0.03, 0.02]))
        law = f'condim="{rng.choice([1, 3, 4, 6])}" friction="{friction}" mass="{rng.uniform(0.5, 3):.3g}"'
        spot = _numbers((0.6 * k + rng.uniform(-0.02, 0.02), 2 + rng.uniform(-0.02, 0.02), height - 0.003))
        geom = f'<geom type="{shape}" {size} {law}/>'
        bodies.append(f'<body name="free{k}" pos="{spot}"><freejoint/>{geom}</body>')
        if shape == "box" and rng.uniform() < 0.5:
            kinds["stack"] += 1
            top = f"{0.6 * k:.4g} 2.01 {2 * height + 0.094:.4g}"
            bodies.append(
                f'<body name="top{k}" pos="{top}"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>'
            )

    # robots, on a fixed base or on feet
    robots = []
    for k in range(rng.integers(1, 3) if len(bodies) == 1 else rng.integers(0, 3)):
        text = _link(rng, f"r{k}", 0, kinds)
        if rng.uniform() < 0.4:
            kinds["floating base"] += 1
            kinds[cone] += 1
            text = f"""<body name="base{k}" pos="{-0.8 * k:.3g} -1 .097"><freejoint/>
              <geom type="sphere" size=".1" mass="2" condim="3"/>
              <geom type="sphere" pos=".3 0 0" size=".1" mass="1"/>
              <geom type="sphere" pos="0 .3 0" size=".1" mass="1"/>{text}</body>"""
        else:
            text = f'<body pos="{-0.8 * k:.3g} 0 1">{text}</body>'
        robots.append(text)
    bodies += robots
    joints = [name for text in robots for name in _names(text, ("hinge", "slide"))]
    kinds["multibodies"] += len(robots)

    for name in joints:
        draw = rng.uniform()
        if draw < 0.2:
            actuators.append(f'<motor joint="{name}" gear="2"/>')
        elif draw < 0.35:
            actuators.append(f'<position joint="{name}" kp="20"/>')
        elif draw < 0.5:
            actuators.append(f'<general joint="{name}" dyntype="filter" dynprm=".05" gainprm="2"/>')
        elif draw < 0.6:
            bias = 'biastype="affine" biasprm="0 -3 0"'
            actuators.append(f'<general joint="{name}" dyntype="integrator" {bias}/>')
        elif draw < 0.7 and integrator != "implicitfast":
            actuators.append(f'<velocity joint="{name}" kv=".5"/>')
    kinds["actuators"] += len(actuators)
    kinds["activations"] += sum("dyntype" in text for text in actuators)
    if len(joints) > 1 and rng.uniform() < 0.4:
        kinds["joint equality"] += 1
        more.append(
            f'<equality><joint joint1="{joints[0]}" joint2="{joints[1]}" polycoef="0 .5 .1 0 0"/></equality>'
        )
    fixed = [k for k, text in enumerate(robots) if "freejoint" not in text]
    if fixed and rng.uniform() < 0.3:
        kinds["closure"] += 1
        more.append(f'<equality><connect body1="r{fixed[0]}" body2="world" anchor=".2 0 0"/></equality>')
    if sum('name="free' in text for text in bodies) > 1 and rng.uniform() < 0.4:
        kinds["weld"] += 1
        more.append('<equality><weld body1="free0" body2="free1"/></equality>')
    if len(joints) > 1 and rng.uniform() < 0.4:
        kinds["tendons"] += 1
        damping = "" if integrator == "implicitfast" else 'damping=".1"'
        sites = f'<site site="post"/><site site="{joints[0]}"/>'
        more.append(
            f'<tendon><fixed stiffness="3" limited="true" range="-.3 .02" {damping}>'
            f'<joint joint="{joints[0]}" coef="1"/><joint joint="{joints[1]}" coef="-.7"/></fixed>'
            f'<spatial stiffness="5" range="0 1" limited="true">{sites}</spatial></tendon>'
        )
    text = f"""<mujoco><option integrator="{integrator}" cone="{cone}"/><worldbody>{"".join(bodies)}</worldbody>
      <actuator>{"".join(actuators)}</actuator>{"".join(more)}</mujoco>"""
    return text, kinds


LAWS = {
    "impedance": None,
    "force springs": msd.ConstraintForceModel.force_spring(msd.StiffnessDamping(k=4e4, d=200.0)),
    "acceleration springs": msd.ConstraintForceModel.acceleration_spring(
        msd.StiffnessDamping(k=4e4, d=200.0)
    ),
    "hard": msd.ConstraintForceModel.hard(0.0, 0.2),
    "hard with restitution": msd.ConstraintForceModel.hard(0.5, 0.2),
}


def differentiated(text: str, law: msd.ConstraintForceModel | None = None) -> sx.World:
    scene = msd.from_str(text, format="mjcf")
    for geom in [*scene.hierarchy.geoms, *(geom for link in scene.hierarchy.links() for geom in link.geoms)]:
        if law is not None:
            geom.physics_material.contact_model = law
    scene.simulate_option.policy.differentiable = True
    # what the solver leaves undone is noise of the differences
    scene.simulate_option.constraint_solver_tolerance = 1e-15
    return sx.World.from_scene(scene)


def _drive(world: sx.World, rng: np.random.Generator) -> int:
    """Drives of the joints of one degree of freedom, by a spring and a damper; returns how many."""
    count = 0
    for robot in world.multibodies:
        for joint in robot.joints:
            if joint.num_dofs == 1:
                joint.target_stiffness, joint.target_damping = rng.uniform([5.0, 0.1], [30.0, 1.0])
                joint.target_position = [rng.uniform(-0.2, 0.2)]
                count += 1
    return count


P = sx.PhysicalParameter
OF_BODIES = (P.MASS, P.CENTER_OF_MASS, P.INERTIA, P.FRICTION, P.RESTITUTION, P.SHAPE_SIZE)
OF_JOINTS = (P.DAMPING, P.STIFFNESS, P.ARMATURE, P.POSITION_GAIN, P.VELOCITY_GAIN, P.JOINT_FRAME)


def _parameters(world: sx.World, rng: np.random.Generator, count: int) -> None:
    """Differentiate by some parameters, drawn from all that the scene has."""
    links = [link for robot in world.multibodies for link in robot.links if link.mass > 0.0]
    joints = [joint for robot in world.multibodies for joint in robot.joints]
    found = [(world, P.GRAVITY)]
    found += [(body, kind) for body in (*world.rigid_bodies, *links) for kind in OF_BODIES]
    found += [(joint, kind) for joint in joints for kind in OF_JOINTS]
    for k in rng.permutation(len(found)):
        if world.num_differentiable_parameters >= count:
            return
        try:
            world.add_differentiable_parameter(*found[k])
        except NotImplementedError:
            # shapes that touch nothing
            continue


def compare(seed: int, parameters: int = 6) -> Result:
    """Step a scene, disturb it, and compare derivatives with central differences and products with matrices."""
    text, kinds = scene_text(seed)
    law = list(LAWS)[seed % len(LAWS)]
    kinds[law] += 1
    world, rng = differentiated(text, LAWS[law]), np.random.default_rng(seed)
    if rng.uniform() < 0.4:
        kinds["drives"] += _drive(world, rng)
    _parameters(world, np.random.default_rng([78, seed]), parameters)
    names = tuple(sorted(str(name) for name, count in kinds.items() if count))
    error, compared, changed = 0.0, 0, 0
    try:
        for _ in range(2):
            world.step(n=int(rng.integers(3, 20)))
            state = world.get_state(world.state_space())
            change = 1e-3 * rng.normal(size=state.tangent_dimension)
            world.set_state(sx.state.integrate(state, change))
            controls = world.control_space().dimension
            world.control_vector = 0.3 * rng.normal(size=controls)
            world.step()
            check = world.check_derivatives()
            error = max(error, check.largest_error)
            compared, changed = compared + len(check.errors), changed + len(check.changed)
            made = world.get_step_derivatives()
            g = rng.normal(size=len(made.state_names))
            back = world.apply_step_vjp(g)
            scale = 1.0 + np.abs(made.state_jacobian).max()
            assert np.abs(back.state - g @ made.state_jacobian).max() <= 1e-12 * scale
            assert np.isfinite(made.parameter_jacobian).all() and made.parameter_names
            assert np.isfinite(made.state_jacobian).all() and np.isfinite(made.control_jacobian).all()
    except NotImplementedError as refusal:
        return Result(names, refused=str(refusal))
    return Result(names, error, compared, changed)


def main(count: int) -> int:
    """Compare `count` scenes and print what they had; 1 where one of them is off."""
    seen, refused, wrong, compared, changed, worst = Counter(), Counter(), [], 0, 0, 0.0
    for seed in range(count):
        found = compare(seed)
        if found.refused:
            refused[found.refused[:90]] += 1
            continue
        seen.update(found.kinds)
        compared, changed = compared + found.compared, changed + found.changed
        worst = max(worst, found.error)
        if not found.error <= TOLERANCE:
            wrong.append((seed, found.error))
    print(f"{count} scenes, {sum(refused.values())} refused by name, {len(wrong)} wrong")
    print(f"{compared} columns compared: largest error {worst:.2g} where {TOLERANCE:g} is asked")
    print(f"{changed} columns left out: a kink within the difference")
    print("scenes with: " + ", ".join(f"{name} {n}" for name, n in sorted(seen.items())))
    for words, n in refused.items():
        print(f"refused {n}: {words}")
    for seed, error in wrong:
        print(f"WRONG: scene {seed} by {error:.2g}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 600))
