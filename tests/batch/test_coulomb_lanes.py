# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Springy contacts with Coulomb friction, as URDF files have them, in lanes: Newton's method as in a World."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.jit import DISABLED
from worldline.model import LaneSimulation

G, MU = 9.81, 0.5
WORLDS = 11
_INERTIA = '<inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/>'


def _link(name, shape, xyz="0 0 0", mass=1.0):
    inertial = f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/>{_INERTIA.format(0.02)}</inertial>'
    geometry = f'<collision><origin xyz="{xyz}"/><geometry>{shape}</geometry></collision>' if shape else ""
    return f'<link name="{name}">{inertial}{geometry}</link>'


def _joint(name, kind, parent, child, axis, xyz, limits="-2 2"):
    low, high = limits.split()
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
        f'<origin xyz="{xyz}"/><limit lower="{low}" upper="{high}" effort="50" velocity="100"/>'
        '<dynamics damping="0.05"/></joint>'
    )


GRIPPER = (
    '<robot name="gripper">'
    + _link("base", '<box size="2 2 0.2"/>', "0 0 -0.1")
    + _link("arm", None)
    + _joint("lift", "prismatic", "base", "arm", "0 0 1", "0 0 0.35", "-1 1")
    + _link("hand", '<box size="0.2 0.2 0.1"/>')
    + _joint("turn", "revolute", "arm", "hand", "0 1 0", "0 0 0", "-0.4 0.4")
    + "".join(
        _link(f"finger{k}", '<sphere radius="0.06"/>', "0 0 -0.2", 0.3)
        + _joint(f"bend{k}", "revolute", "hand", f"finger{k}", "0 1 0", f"{x} 0 0", "-1.2 1.2")
        for k, x in enumerate((-0.1, 0.1))
    )
    + "</robot>"
)
"""A hand on a vertical slide: its fingers swing against each other and slide on the base."""


def _scene():
    scene = msd.from_str(GRIPPER, format="urdf")
    scene.simulate_option.constraint_solver_tolerance = 1e-14
    return scene


def _batch(count=WORLDS, **options):
    batch = sx.WorldBatch(_scene(), count, layout="lanes", **options)
    rng = np.random.default_rng(2)
    batch.joint_velocities[:] = 2.0 * rng.normal(size=(WORLDS, batch.joint_velocities.shape[1]))[:count]
    return batch


def test_springy_contacts_of_a_step_that_resolves_them_run_in_lanes():
    assert sx.WorldBatch(_scene(), 2).layout == "lanes"
    # k h^2 = 2500 * 0.1^2 is beyond what a step resolves: the World solves for positions and for velocities
    coarse = _scene()
    coarse.simulate_option.timestep = 0.1
    batch = sx.WorldBatch(coarse, 2)
    assert batch.layout == "threads" and "split impulse" in batch.resolved_configuration[0].reason


def test_newton_solves_every_step_as_a_world_does():
    batch = _batch()
    sim = batch._worlds.sim
    assert sim.solver == "newton"
    world = sx.World.from_scene(_scene())
    one = world._live().sim
    touching, sliding = 0, 0
    for _ in range(60):
        batch.step(2)
        q, v = batch.joint_positions.copy(), batch.joint_velocities.copy()
        batch.step()
        assert not sim.unconverged.any()
        for w in range(0, WORLDS, 3):
            one.q[:], one.v[:] = q[w], v[w]
            one.written()
            world.step()
            # accelerations to 1e-6 of the largest slip, some 100 m/s^2 at h = 0.01 s
            assert batch.joint_velocities[w] == pytest.approx(one.v, abs=2e-5)
            touching += len(world.contacts)
            sliding += sum(np.linalg.norm(c.force[:2]) > 0.1 for c in world.contacts)
    assert touching > 60 and sliding > 20


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize(("count", "lanes"), [(1, 1), (5, 4), (11, 8)])
def test_a_world_has_the_same_bits_in_every_batch(count, lanes):
    reference = _batch()._worlds.sim
    reference.step(150, lanes=1)
    some = _batch(count)._worlds.sim
    some.step(150, lanes=lanes)
    for name in ("q", "v", "kept"):
        assert np.array_equal(getattr(some, name), getattr(reference, name)[:count])


def test_a_block_slides_by_coulombs_law():
    """On a slope of angle atan(1) with friction 0.5: a = g (sin - mu cos), and the block stays on the slope."""
    text = f"""<mujoco><option timestep="0.004"/><worldbody>
      <geom name="slope" type="plane" size="50 50 1" euler="0 45 0" friction="{MU}"/>
      <body name="block" pos="0 0 0.3" euler="0 45 0"><freejoint/>
        <geom type="box" size="0.2 0.2 0.1" mass="2" friction="{MU}"/></body></worldbody></mujoco>"""
    scene = msd.from_str(text, format="mjcf")
    law = msd.ConstraintForceModel.acceleration_spring(msd.StiffnessDamping(k=2e4, d=300.0))
    for geom in [*scene.hierarchy.geoms, *(g for link in scene.hierarchy.links() for g in link.geoms)]:
        geom.physics_material.contact_model = law
    batch = sx.WorldBatch(scene, 3, layout="lanes")
    along = np.array([np.sin(np.pi / 4), 0.0, -np.cos(np.pi / 4)])
    batch.step(200)
    before = batch.joint_velocities[:, :3] @ along
    batch.step(100)
    after = batch.joint_velocities[:, :3] @ along
    expected = G * (np.sin(np.pi / 4) - MU * np.cos(np.pi / 4))
    assert (after - before) / 0.4 == pytest.approx(np.full(3, expected), rel=1e-5)
    assert batch._worlds.sim.solver == "newton" and not batch._worlds.sim.unconverged.any()


def test_a_world_that_rests_keeps_its_bits_beside_worlds_that_bounce():
    """Restitution is weighed in worlds in which something bounces, whatever worlds beside them do."""
    source = sx.World(time_step=0.002)
    source.add_ground_plane(restitution=0.5)
    for name, radius, x, z in (("ball", 0.1, 0.0, 0.12), ("stone", 0.08, 0.05, 0.35)):
        body = source.add_rigid_body(name, mass=1.0, position=(x, 0, z))
        body.add_collision_shape(sx.CollisionShape.sphere(radius))
    model = source.model()
    rng = np.random.default_rng(4)
    velocities = 0.3 * rng.normal(size=(WORLDS, model.joint_dof_count))
    whole = LaneSimulation(model, WORLDS, time_step=0.002)
    whole.v = velocities
    alone = [LaneSimulation(model, 1, time_step=0.002) for _ in range(WORLDS)]
    for world, velocity in zip(alone, velocities, strict=True):
        world.v = velocity[None]
    whole.step(200)
    for w, world in enumerate(alone):
        world.step(200)
        assert np.array_equal(world.q[0], whole.q[w]), w
