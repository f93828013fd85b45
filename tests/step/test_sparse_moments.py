# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Moments of actuators and tendons: memory that is linear in their number, and the values of MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.facade.force_shares import late_forces
from worldline._src.step import moments
from worldline._src.step.inverse_weights import InverseMass
from worldline._src.step.tree_masses import tree_masses
from worldline.model import LaneSimulation, mass_matrix

mujoco = pytest.importorskip("mujoco")

SLIDE = (
    '<body name="b{0}" pos="{0} 0 0"><joint name="j{0}" type="{1}" axis="1 0 0"/><geom size=".1" mass="1"/>'
)
SLIDE += '<site name="s{0}" pos="0 .02 .1"/></body>'


def scene_of(count: int, actuator: str, tendon: str = "", joint: str = "slide") -> msd.World:
    bodies = "".join(SLIDE.format(k, joint) for k in range(count))
    tendons = "".join(tendon.format(k) for k in range(count))
    actuators = "".join(actuator.format(k) for k in range(count))
    return msd.from_str(
        f'<mujoco><option><flag contact="disable"/></option><worldbody><site name="w" pos="0 1 1"/>{bodies}'
        f"</worldbody><tendon>{tendons}</tendon><actuator>{actuators}</actuator></mujoco>"
    )


KINDS = {
    "joints": ('<motor joint="j{0}"/>', ""),
    "fixed tendons": (
        '<motor tendon="t{0}"/>',
        '<fixed name="t{0}" stiffness="1"><joint joint="j{0}" coef="2"/></fixed>',
    ),
    "sites": ('<motor site="s{0}" refsite="w"/>', ""),
    "spatial tendons": (
        '<motor tendon="t{0}"/>',
        '<spatial name="t{0}" damping="1"><site site="s{0}"/><site site="w"/></spatial>',
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_linear_in_actuated_bodies(kind):
    used = []
    # more columns than islands with dense rows have
    for count in (256, 512, 1024):
        world = sx.World.from_scene(scene_of(count, *KINDS[kind]))
        world.step()
        used.append(sum(value for value in world.memory_diagnostics if isinstance(value, int)))
        assert len(world._live().constraints.column["act_moment"]) == count
    assert used[2] - used[1] < 2.1 * (used[1] - used[0])


def test_two_thousand_motors_take_little_memory():
    half, whole = (moments_of(count, "joints").block for count in (1000, 2000))
    # nodes of six columns for trees of one degree of freedom; one matrix of all of them would be 32 MB
    assert whole.d.nbytes + whole.c.nbytes < min(8e6, 2.0 * (half.d.nbytes + half.c.nbytes))
    tendons = moments_of(300, "fixed tendons").model.tendons
    # the table of the model too has what is there, and no zeros
    assert len(tendons.coefficient) == len(tendons.coefficient_dof) == 300


def moments_of(count: int, kind: str):
    from worldline._src.step.constraints import Constraints

    return Constraints(msd.build(scene_of(count, *KINDS[kind])))


def test_lanes_have_the_same_columns():
    lanes = LaneSimulation(msd.build(scene_of(40, *KINDS["joints"])), 2)
    lanes.control[:] = np.arange(80.0).reshape(2, 40)
    lanes.step()
    assert lanes.v == pytest.approx(0.002 * lanes.control, rel=1e-12)


FAR = """<mujoco><option><flag contact="disable"/></option><worldbody><body name="first"><freejoint name="f"/><geom size=".1" pos=".1 .2 0"/>
  <site name="a" pos=".2 .1 0"/></body>{}<body name="arm" pos="0 2 0"><joint name="h" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
  <body pos=".4 0 0"><joint name="k" axis="0 0 1"/><geom size=".1" pos=".3 .1 0"/><body pos=".1 .1 0">
  <joint name="ball" type="ball" pos="0 .1 0"/><geom size=".1" pos=".3 .1 0"/>
  <site name="b" pos=".3 0 .1"/><site name="c" pos=".1 .2 .1"/></body></body></body></worldbody>
  <tendon><spatial name="t" stiffness="3" damping="2"><site site="a"/><site site="b"/></spatial>
  <fixed name="u"><joint joint="k" coef="2"/><joint joint="h" coef="-3"/></fixed></tendon>
  <actuator><motor tendon="t" gear="2"/><motor tendon="u" gear="-1"/><motor site="b" refsite="a" gear="1 2 3 .1 .2 .3"/>
  <motor cranksite="b" slidersite="a" cranklength="5" gear="2"/><motor joint="ball" gear="1 2 3"/><motor joint="f" gear="1 2 3 4 5 6"/>
  <motor site="c" refsite="b" gear="1 0 2 0 1 0"/></actuator></mujoco>"""


@pytest.mark.parametrize("between", [0, 7])
def test_moments_of_distant_trees_are_those_of_mujoco(between):
    text = FAR.format("".join(SLIDE.format(k, "slide") for k in range(between)))
    native = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(native)
    rng = np.random.default_rng(3)
    mujoco.mj_integratePos(native, data.qpos, rng.normal(size=native.nv), 0.3)
    mujoco.mj_forward(native, data)
    dense = np.zeros((native.nu, native.nv))
    mujoco.mju_sparse2dense(
        dense, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
    )
    world = sx.World.from_scene(msd.from_str(text))
    sim = world._live().sim
    # quaternions are w first there
    order = np.arange(native.nq)
    for start in (3, native.nq - 4):
        order[start : start + 4] = start + np.array([1, 2, 3, 0])
    sim.q[:] = data.qpos[order]
    sim.written()
    world.step()
    column = world._live().constraints.column
    for u in range(native.nu):
        dofs, values = moments.row_of(column, "act", u)
        mine = np.zeros(native.nv)
        mine[dofs] = values
        assert mine == pytest.approx(dense[u], abs=1e-12), u
        # only what can move the sites, tendons or joints that are held
        assert len(dofs) <= 11


CHAIN = """<mujoco><option integrator="implicitfast"><flag contact="disable"/></option><worldbody>{bodies}</worldbody>
  <tendon><fixed name="t" damping="2"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/><joint joint="c" coef=".5"/>
  <joint joint="d" coef="3"/></fixed></tendon><actuator><general tendon="t" biastype="affine" biasprm="0 0 -1.5" gear="2"/>
  <general joint="b" biastype="affine" biasprm="0 0 -.7" gear="-3"/></actuator></mujoco>"""
BODIES = """<body><joint name="a" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/><body pos=".5 0 0"><joint name="b" axis="0 1 0"/>
  <geom size=".1" pos=".3 0 0"/></body><body pos="0 .5 0"><joint name="c" axis="0 0 1"/><geom size=".1" pos=".3 0 0"/></body></body>
  <body pos="0 3 0"><joint name="d" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>"""


def test_late_forces_are_those_of_pairs_of_which_one_moves_the_other():
    """Q late with Q = pairs * sum of d m^T m: a moves b and c, which do not move each other, and d is apart."""
    world = sx.World.from_scene(msd.from_str(CHAIN.format(bodies=BODIES)))
    world.step()
    late = np.array([0.3, -0.8, 1.1, 0.5])
    pairs = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1.0]])
    tendon = np.array([1.0, -2.0, 0.5, 3.0])
    joint = np.array([0.0, -3.0, 0.0, 0.0])
    of_actuators, of_tendons = late_forces(world._live(), late)
    squares = 1.5 * np.outer(2 * tendon, 2 * tendon) + 0.7 * np.outer(joint, joint)
    assert of_actuators == pytest.approx((pairs * squares) @ late)
    assert of_tendons == pytest.approx((pairs * 2.0 * np.outer(tendon, tendon)) @ late)


def test_inverse_inertia_over_several_trees():
    """x M^-1 x and M^-1 x of sparse vectors, beside the inverse of the whole mass matrix."""
    model = msd.build(msd.from_str(CHAIN.format(bodies=BODIES)))
    q = np.array([0.3, -0.5, 0.7, 0.2])
    inverse, M = InverseMass(model, tree_masses(model, q)), mass_matrix(model, q)
    for dofs in ([0, 1, 2, 3], [1, 3], [2], []):
        x = np.zeros(4)
        x[dofs] = np.arange(1.0, 1.0 + len(dofs))
        given = np.array(dofs, np.int64), x[dofs]
        assert inverse.square(*given) == pytest.approx(x @ np.linalg.solve(M, x))
        # zero in trees without any of them, which are left out
        assert np.linalg.norm(inverse.times(*given)) == pytest.approx(np.linalg.norm(np.linalg.solve(M, x)))
