# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One order over the whole public surface: torque before force, angular before linear velocity.

Every public name whose documentation speaks of six numbers is listed here, with a probe where they are a
wrench: a force along z with no torque must stand in the last number.
"""

from __future__ import annotations

import importlib
import inspect
import re

import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline._src.model.model import State

PUSH = 3.0
"""Force along z that every probe applies or meets [N]."""
FORCE_LAST = pytest.approx([0, 0, 0, 0, 0, PUSH], abs=1e-6)
MODULES = ("simulation", "model", "msd", "collision", "lcp")
SIX = re.compile(r"\(6,\)|(?<!\), )\b\w+, 6\)|\((\.\.\., )?6, \w+\)|\(6, 6\)")
MOTIONS = {
    *(f"{kind}.get_world_jacobian" for kind in ("Branch", "Chain", "Group", "Linkage", "Multibody")),
    *(f"EndEffector.{name}" for name in ("jacobian", "world_jacobian", "jacobian_derivative")),
    *(
        f"Multibody.{name}"
        for name in (
            "centroidal_momentum_matrix",
            "compute_centroidal_derivatives",
            "get_jacobian_classic_derivative",
            "get_jacobian_derivative_times_velocity",
            "get_jacobian_spatial_derivative",
        )
    ),
    "Inertia.spatial_tensor",
    "body_regressor",
    "link_accelerations",
    "link_velocities",
}
"""Motions and matrices over them, angular first."""
ACTED = {"Simulation.acted"}
"""What `body_f` was in an evaluation, in its order."""
CENTER_VELOCITIES = {
    "Simulation.fresh_velocities",
    "ArticulationView.get_root_velocities",
    "FlatArticulationView.get_link_velocities",
    "FlatArticulationView.get_root_velocities",
    "BatchStepContext.body_qd",
}
"""Velocities of centres of mass with angular velocities: `State.body_qd`, the one array that is linear first,
as are the velocities of free joints, which are generalized velocities and no twists."""


def floating() -> tuple[sx.World, sx.RigidBody]:
    world = sx.World(gravity=(0, 0, 0), time_step=0.001)
    return world, world.add_rigid_body("box", mass=2.0, inertia=np.diag([0.1, 0.2, 0.3]))


def welded() -> sx.WorldJoint:
    """The joint holds a body that is pulled up: it pulls its parent, the world, along z."""
    world, box = floating()
    weld = world.add_joint(box, sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    box.force = (0, 0, PUSH)
    world.step(5)
    return weld


def carried() -> sx.Joint:
    """A link that hangs on a hinge above its centre of mass."""
    world = sx.World(gravity=(0, 0, -PUSH), time_step=0.001)
    arm = world.add_multibody("arm")
    link = arm.add_link("link", joint=sx.JointSpec(name="hinge", axis=(0, 1, 0)))
    link.mass, link.center_of_mass = 1.0, (0, 0, -0.5)
    world.step()
    return arm.joints["hinge"]


def equality() -> np.ndarray:
    text = """<mujoco><option gravity="0 0 -3"/><worldbody><body name="a" pos="0 0 1"><freejoint/>
        <geom size=".1" mass="1"/></body></worldbody><equality><weld name="hold" body1="a"/></equality></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.step(500)
    return world.get_equality_force("hold")


def wanted() -> np.ndarray:
    """The wrench that holds a free body against gravity, by inverse dynamics."""
    builder = wm.ModelBuilder()
    builder.add_body(mass=1.0, inertia=np.eye(3))
    builder.gravity = (0, 0, -PUSH)
    model = builder.finalize()
    z = np.zeros(6)
    wrench = np.array([[0, 0, 0, 0, 0, PUSH]])
    left = wm.inverse_dynamics(model, model.state().joint_q, z, z, wrenches=wrench)
    assert np.abs(left).max() < 1e-12
    return wrench[0]


def held_by(write) -> np.ndarray:
    """The acceleration times the mass that a force along z brings, if its place is the last."""
    world, box = floating()
    write(world, box)
    world.step(100)
    assert not box.angular_velocity.any()
    return np.r_[box.angular_velocity, box.linear_velocity * box.mass / 0.1]


def by_control(world, box):
    control = world.get_control(world.control_space())
    control["box.wrench"] = [0, 0, 0, 0, 0, PUSH]
    world.set_control(control)


def by_vector(world, box):
    world.rigid_body_control_vector = [0, 0, 0, 0, 0, PUSH]
    assert world.control_vector.tolist() == [0, 0, 0, 0, 0, PUSH]


def recorded() -> np.ndarray:
    world, box = floating()
    box.force = (0, 0, PUSH)
    world.replay_recording_enabled = True
    world.step(2)
    return world.recording["box.wrench"][-1]


def keyframed() -> np.ndarray:
    world, box = floating()
    box.force = (0, 0, PUSH)
    (state,) = [k for k in world.to_scene().keyframes if len(k.link_force)]
    return state.link_force[0]


def stepped() -> np.ndarray:
    builder = wm.ModelBuilder()
    builder.add_body(mass=1.0, inertia=np.eye(3))
    builder.gravity = (0, 0, 0)
    model = builder.finalize()
    state, lanes = model.state(), wm.LaneSimulation(model, 3, time_step=0.01)
    one = wm.Simulation(model, 0.01)
    for body_f in (state.body_f, lanes.body_f, one.body_f):
        body_f[..., 5] = PUSH
    one.forces_written()
    wm.step(model, state, steps=100, dt=0.01)
    lanes.step(100)
    one.step(100)
    for v in (state.joint_qd, lanes.v[1], one.v):
        assert v == pytest.approx([0, 0, PUSH, 0, 0, 0])
    return state.joint_qd[[3, 4, 5, 0, 1, 2]]


def batched() -> np.ndarray:
    batch = sx.WorldBatch(floating()[0], 2)
    batch.rigid_bodies["box"].force = (0, 0, PUSH)
    assert np.array_equal(batch.worlds[1].body_wrenches, batch.body_wrenches[1])
    assert np.array_equal(batch.select([1]).body_wrenches, batch.body_wrenches[1:])
    return batch.body_wrenches[1, 0]


def seen_in_a_batch() -> np.ndarray:
    """A force element of a batch that lifts the box; six numbers that it reads after writing them."""
    batch, seen = sx.WorldBatch(floating()[0], 2), []

    def lift(step):
        step.body_f[:, 0, 5] += PUSH
        seen.append(step.body_f[1, 0].copy())

    batch.add_force_element("lift", lift)
    batch.step()
    assert batch.rigid_bodies["box"].linear_velocity[1] == pytest.approx([0, 0, PUSH / 2.0 * 0.001])
    return seen[0]


WRENCHES = {
    "BatchStepContext": seen_in_a_batch,
    "WorldBatch.body_wrenches": batched,
    "BatchSelection.body_wrenches": batched,
    "BatchWorld.body_wrenches": batched,
    "Joint.compute_wrench_to_child": lambda: carried().compute_wrench_to_child(sx.Frame.world()),
    "Joint.compute_wrench_to_parent": lambda: -carried().compute_wrench_to_parent(sx.Frame.world()),
    "WorldJoint.wrench": lambda: welded().wrench,
    "WorldJointCollection.wrenches": lambda: welded()._world.joints.wrenches[0],
    "World.get_equality_force": equality,
    "inverse_dynamics": wanted,
    "Keyframe": keyframed,
    # without six numbers in a documentation of their own
    "State.body_f": stepped,
    "WorldControl": lambda: held_by(by_control),
    "World.rigid_body_control_vector": lambda: held_by(by_vector),
    "Recording": recorded,
}


@pytest.mark.parametrize("name", WRENCHES)
def test_a_force_along_z_is_the_last_of_six(name):
    assert WRENCHES[name]() == FORCE_LAST


def documented() -> dict[str, str]:
    """Public names whose documentation speaks of six numbers, and what it says."""
    found = {}
    for module in MODULES:
        public = importlib.import_module(f"worldline.{module}")
        for name in public.__all__:
            value = getattr(public, name)
            members = {name: value}
            if inspect.isclass(value):
                members |= {f"{name}.{key}": inspect.getattr_static(value, key) for key in dir(value)}
            for key, member in members.items():
                words = [
                    line
                    for line in (inspect.getdoc(member) or "").splitlines()
                    if ">>>" not in line and SIX.search(line)
                ]
                if words and "._" not in key:
                    found[key] = " ".join(words)
    return found


def test_every_array_of_six_numbers_has_its_place_here():
    known = MOTIONS | CENTER_VELOCITIES | ACTED | WRENCHES.keys()
    assert documented().keys() <= known, sorted(documented().keys() - known)
    assert MOTIONS | CENTER_VELOCITIES <= documented().keys()


def test_a_motion_turns_first():
    world = sx.World()
    arm = world.add_multibody("arm")
    link = arm.add_link("link", joint=sx.JointSpec(name="hinge", axis=(0, 0, 1)))
    arm.joints["hinge"].velocity = [2.0]
    assert arm.get_world_jacobian(link, (1, 0, 0))[:, 0] == pytest.approx([0, 0, 1, 0, 1, 0])
    model, sim = world._live().model, world._live().sim
    assert wm.link_velocities(model, sim.q, sim.v)[0] == pytest.approx([0, 0, 2, 0, 0, 0])


def test_the_state_says_its_order():
    source = inspect.getsource(State)
    assert "External torque about the centre of mass [N m], then force [N]" in source
    assert "Velocity of the centre of mass [m/s], then angular velocity" in source
