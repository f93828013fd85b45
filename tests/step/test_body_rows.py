# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Large islands of free bodies with soft contacts, rolling friction, explicit pairs and no-slip sweeps.

Their rows have twelve columns each, so memory is linear in the bodies; the solution is that of MuJoCo, and of
the dense methods where MuJoCo has no such contact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.jit import entry
from worldline._src.kernels.constraints import body_blocks
from worldline._src.kernels.constraints import tables as t
from worldline._src.step import constraints as laid_out

KINDS = ("condim 3", "condim 4", "condim 6", "pairs", "no slip")


def heap(kind, count, cone="pyramidal", gap=-2e-4, shapes=("sphere",), layer=5):
    """MJCF of bodies on a grid that overlap by 0.2 mm, `layer` along each edge of a layer; one island."""
    side, sizes = 0.2 + gap, {"sphere": ".1", "box": ".1 .1 .1", "capsule": ".1 .02"}
    spots = [
        (side * (k % layer), side * (k // layer % layer), 0.1 + 0.5 * gap + side * (k // layer**2))
        for k in range(count)
    ]
    condim = {"condim 4": 4, "condim 6": 6}.get(kind, 3)
    bodies = "".join(
        f'<body pos="{x} {y} {z + 1e-5 * (7 * k % 11)}"><freejoint/>'
        f'<geom name="g{k}" type="{shapes[k % len(shapes)]}" size="{sizes[shapes[k % len(shapes)]]}" mass="{1 + 0.1 * (k % 3)}"/></body>'
        for k, (x, y, z) in enumerate(spots)
    )
    pairs = ""
    if kind == "pairs":
        floor = "".join(
            f'<pair geom1="floor" geom2="g{k}" condim="4" friction=".6 .9 .02 .01 .01"/>'
            for k in range(layer**2)
        )
        apart = np.linalg.norm(np.array(spots)[:, None] - np.array(spots), axis=2)
        near = [(a, b) for a, b in zip(*np.nonzero(apart < 1.05 * side), strict=True) if a < b]
        others = "".join(f'<pair geom1="g{a}" geom2="g{b}" friction=".5 .7 .01 .001 .001"/>' for a, b in near)
        pairs = f"<contact>{floor}{others}</contact>"
    alone = 'contype="0" conaffinity="0"' if kind == "pairs" else ""
    slip = 'noslip_iterations="4" noslip_tolerance="0"' if kind == "no slip" else ""
    return f"""<mujoco><option timestep="0.002" tolerance="1e-12" iterations="200" cone="{cone}" {slip}/>
      <default><geom condim="{condim}" friction=".7 .03 .01" {alone}/></default>
      <worldbody><geom name="floor" type="plane" size="9 9 1"/>{bodies}</worldbody>{pairs}</mujoco>"""


def shoved(world, seed=2):
    """Bodies with small velocities, so that contacts slide, spin, roll and stick."""
    sim = world._live().sim
    sim.v[:] = 0.3 * np.random.default_rng(seed).normal(size=sim.v.shape)
    sim.written()
    return sim


def dense(monkeypatch):
    """From here on islands of any size have rows over all of their columns."""
    monkeypatch.setattr(laid_out, "_FREE_COLUMNS", np.inf)


def has_body_rows(world):
    """Whether large islands have rows of two bodies; none of these has a matrix of all columns then."""
    live = world._live().constraints
    found = live.column["option"][t.BODY_ROWS] == 1.0 and live.sizes["nblock"] > 0
    assert not found or live.sizes["nsquare"] < live.sizes["nv"] ** 2
    return found


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("kind", KINDS[:4])
def test_a_heap_moves_as_in_mujoco(kind, cone):
    text = heap(kind, 50, cone, shapes=("sphere",) if kind == "pairs" else ("sphere", "capsule"))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    data.qvel[:] = shoved(world).v
    for _ in range(6):
        mujoco.mj_step(model, data)
        world.step()
        report = world.step_report()
        assert report.converged and report.methods.keys() == {"newton"} and has_body_rows(world)
        assert report.rows == data.nefc > 200
        # MuJoCo itself ends some 1e-8 m/s from where it would with more iterations on elliptic cones
        np.testing.assert_allclose(world._live().sim.v, data.qvel, rtol=0, atol=2e-7)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_heap_moves_as_with_dense_rows(kind, cone, monkeypatch):
    """MuJoCo sweeps against slip in another order, so dense rows are what a few sweeps compare with."""
    text = heap(kind, 50, cone, shapes=("sphere", "capsule", "box"))
    ends = []
    for _ in range(2):
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        sim = shoved(world)
        for _ in range(4):
            world.step()
        ends.append(sim.v.copy())
        assert has_body_rows(world) == (len(ends) == 1) and world.step_report().converged
        forces = np.array([contact.force for contact in world.contacts])
        dense(monkeypatch)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)
    assert np.linalg.norm(forces, axis=1).max() > 1.0


def test_conjugate_gradients_find_what_factors_find(monkeypatch):
    """Without room for the blocks of factors, directions come from conjugate gradients."""
    text, ends = heap("condim 3", 50, "elliptic", shapes=("sphere", "box")), []
    for _ in range(2):
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        sim = shoved(world)
        world.step(4)
        assert has_body_rows(world) and world.step_report().converged
        assert (world._live().constraints.sizes["nfactor"] == 0) == (len(ends) == 1)
        ends.append(sim.v.copy())
        monkeypatch.setattr(laid_out, "_FACTOR_BLOCKS", 0)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)
    assert not np.array_equal(ends[0], ends[1])


def test_worlds_that_are_differentiated_keep_dense_rows():
    scene = msd.from_str(heap("condim 3", 30), format="mjcf")
    world = sx.World.from_scene(scene, options=sx.WorldOptions(differentiable=True))
    world.contact_solver_method = sx.ContactSolverMethod.NEWTON
    world.step()
    assert not has_body_rows(world) and world.step_report().methods.keys() == {"newton"}


def hard_world(text, restitution=0.0, method=sx.ContactSolverMethod.AUTOMATIC):
    scene = msd.from_str(text, format="mjcf")
    law = msd.ConstraintForceModel.hard(erp=0.2, bounciness=restitution)
    for geom in [*scene.hierarchy.geoms, *(geom for link in scene.hierarchy.links() for geom in link.geoms)]:
        geom.physics_material.contact_model = law
    world = sx.World.from_scene(scene)
    world.contact_solver_method = method
    return world


@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("kind", ["condim 4", "condim 6", "no slip"])
def test_hard_contacts_are_solved_as_by_dense_rows(kind, restitution, monkeypatch):
    """Sweeps over the rows of all columns are the reference: the same law and the same problem."""
    found = []
    for _ in range(2):
        text = heap(kind, 30, "elliptic", gap=-1e-5).replace('iterations="200"', 'iterations="3000"')
        world = hard_world(text, restitution, sx.ContactSolverMethod.SEQUENTIAL_IMPULSE)
        sim = shoved(world, 5)
        world.step()
        report = world.step_report()
        assert report.converged and has_body_rows(world) == (not found)
        assert report.methods.keys() == {"sequential-impulse"}
        found.append((sim.v.copy(), report.rows))
        dense(monkeypatch)
    assert found[0][1] == found[1][1] > 50
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-6)


def test_a_heap_on_a_plate_that_is_moved(monkeypatch):
    """The motion of a prescribed body goes to the reference accelerations of the rows that touch it."""
    text = heap("condim 6", 30).replace(
        "<worldbody>",
        '<worldbody><body name="plate" pos=".4 .4 -.05"><freejoint/><geom type="box" size="2 2 .05" mass="1"/></body>',
    )
    ends = []
    for _ in range(2):
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        plate = world.rigid_bodies["plate"]
        plate.is_kinematic = True
        plate.linear_velocity, plate.angular_velocity = (0.3, 0.0, 0.2), (0.0, 0.0, 1.0)
        world.step(3)
        assert has_body_rows(world) == (not ends) and world.step_report().converged
        ends.append(world._live().sim.v.copy())
        dense(monkeypatch)
    assert np.abs(ends[0][6:]).max() > 0.15
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)


def memory_of_400(heap_of):
    """Bytes of one island of 400 bodies; what a hundred more bodies take stays the same."""
    used = []
    for count in (100, 200, 400):
        world = heap_of(count)
        world.step()
        report = world.step_report()
        assert report.islands == 1 and report.converged and report.dropped_contacts == 0
        used.append(sum(value for value in world.memory_diagnostics if isinstance(value, int)))
    # arrays that are too small double
    assert used[2] - used[1] < 3.0 * max(used[1] - used[0], 1e6)
    return used[2]


@pytest.mark.parametrize("kind", KINDS)
def test_memory_of_one_island_grows_with_the_bodies_and_not_with_their_square(kind):
    # 400 bodies with condim 6 had 360 MB of matrices
    def heap_of(count):
        return sx.World.from_scene(msd.from_str(heap(kind, count, layer=10), format="mjcf"))

    assert memory_of_400(heap_of) < 60_000 * 400


class Trees(NamedTuple):
    tree_node: Any
    matrix_at: Any
    matrix: Any


class Island(NamedTuple):
    counter: Any
    island_tree: Any


@entry
def keep_and_invert(M, n, trees, island):
    body_blocks.keep_mass(M, n, 5, trees.matrix)
    body_blocks.invert_masses(island, trees)


@pytest.mark.parametrize("n", [6, 12, 18])
def test_inverse_of_the_mass_matrix_of_a_tree(n):
    A = np.random.default_rng(n).normal(size=(n, n))
    matrix, M = np.zeros(5 + 2 * n * n), np.zeros((n, n + 2))
    M[:, :n] = A @ A.T + 0.1 * np.eye(n)
    counter = np.zeros(t.TREE_END + 1, dtype=np.int64)
    counter[t.TREE_END] = 1
    trees = Trees(np.array([0, n // 6]), np.array([5]), matrix)
    keep_and_invert(M, n, trees, Island(counter, np.array([0])))
    kept, inverse = matrix[5 : 5 + n * n].reshape(n, n), matrix[5 + n * n :].reshape(n, n)
    np.testing.assert_allclose(inverse, np.linalg.inv(kept), rtol=1e-9, atol=1e-12)
    assert np.array_equal(kept, M[:, :n]) and not matrix[:5].any()


def on_an_arm(kind, count, dofs, cone="pyramidal", layer=5):
    """A heap on a plate at the end of an arm, so heavy to move that contacts leave its velocity as it is."""
    axes = ("0 0 1", "1 0 0", "0 1 0")
    arm = "".join(
        f'<body pos=".01 .02 -.01"><joint axis="{axes[k % 3]}" type="{("hinge", "slide")[k % 2]}" armature="1e9"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        for k in range(dofs)
    )
    at = f'pos="{0.4 - 0.01 * dofs} {0.4 - 0.02 * dofs} {-0.05 + 0.01 * dofs}"'
    arm += f'<geom type="box" {at} size="9 9 .05" mass="1"/>' + dofs * "</body>"
    text = heap(kind, count, cone, layer=layer).replace('<geom name="floor" type="plane" size="9 9 1"/>', arm)
    return text


def driven(text):
    """A world of this text in which the joints of the arm move at velocities that do not change."""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    arm = next(multibody for multibody in world.multibodies if len(multibody.joints) > 1)
    for k, joint in enumerate(arm.joints):
        joint.actuator_type = sx.ActuatorType.VELOCITY
        joint.command_velocity = joint.velocity = [0.05 * (-1) ** k]
    return world


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize(
    ("kind", "dofs"), [("condim 3", 7), ("condim 4", 12), ("condim 6", 7), ("no slip", 9)]
)
def test_a_heap_on_a_prescribed_robot(kind, dofs, cone, monkeypatch):
    """More than six degrees of freedom of a prescribed tree: as with dense rows, and as in MuJoCo."""
    text, ends = on_an_arm(kind, 30, dofs, cone), []
    for _ in range(2):
        world = driven(text)
        sim = world._live().sim
        start = sim.v.copy()
        world.step(4)
        report = world.step_report()
        assert report.converged and has_body_rows(world) == (not ends) and report.rows > 100
        force = np.concatenate([contact.force for contact in world.contacts])
        ends.append((sim.v.copy(), force))
        dense(monkeypatch)
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=0, atol=1e-6)
    assert np.abs(ends[0][1]).max() > 0.5
    if kind != "no slip":
        # MuJoCo measures its tolerance by the mean inertia
        model = mujoco.MjModel.from_xml_string(text.replace('tolerance="1e-12"', 'tolerance="0"'))
        data = mujoco.MjData(model)
        data.qvel[:] = start
        mujoco.mj_step(model, data, 4)
        assert np.abs(data.qvel[:dofs] - start[:dofs]).max() < 1e-6
        np.testing.assert_allclose(ends[0][0], data.qvel, rtol=0, atol=2e-7)


@pytest.mark.parametrize("kind", ["condim 3", "condim 4", "condim 6", "no slip"])
def test_memory_of_a_heap_on_a_prescribed_robot_is_linear(kind):
    assert memory_of_400(lambda count: driven(on_an_arm(kind, count, 9, layer=10))) < 90_000 * 400
