# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Large islands of free bodies and articulated trees, and of articulated trees alone.

Rows have the columns of their two trees, so memory is linear in the trees; the solution is that of the dense
methods and of MuJoCo.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from tests.step.test_body_rows import dense, hard_world, on_an_arm, shoved

from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.constraints import tables as t
from worldline._src.step import constraints as laid_out

KINDS = ("condim 1", "condim 3", "condim 4", "condim 6", "pairs", "no slip")
OPTIONS = 'tolerance="1e-12" iterations="200"'


def on_a_moving_arm(kind, count, dofs=7, cone="pyramidal", layer=5):
    """A heap on a tray at the end of an arm that gives way: limits that act, dry friction, a coupling.

    Beside it a pendulum of two links that a ball joint ties to the tray.
    """
    text = on_an_arm("condim 3" if kind == "condim 1" else kind, count, dofs, cone, layer)
    text = text.replace('armature="1e9"/>', 'armature="0.5" damping="1"/>', dofs)
    # joints of the arm in turn: a limit, dry friction
    pieces = text.split(' armature="0.5"')
    extras = (' limited="true" range="-2 -.01"', ' frictionloss="3"', "")
    text = pieces[0] + "".join(
        f'{extras[k % 3]} name="j{k}" armature="0.5"' + piece for k, piece in enumerate(pieces[1:])
    )
    text = text.replace('<geom type="box" pos', '<site name="tip"/><geom name="floor" type="box" pos', 1)
    pendulum = (
        '<body name="p0" pos=".4 .4 -.3"><joint axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02"/>'
        '<body name="p1" pos="0 0 -.2"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>'
        "</body></body>"
    )
    ties = (
        '<equality><joint joint1="j3" joint2="j4" polycoef="0 1 0 0 0"/>'
        '<connect body1="p1" body2="last" anchor=".2 0 0"/></equality>'
    )
    text = text.replace("</worldbody>", pendulum + "</worldbody>").replace("</mujoco>", ties + "</mujoco>")
    at = text.rindex("<body", 0, text.index('<site name="tip"/>'))
    text = text[: at + 5] + ' name="last"' + text[at + 5 :]
    return text.replace('condim="3"', 'condim="1"') if kind == "condim 1" else text


def has_tree_rows(world):
    """Whether large islands with articulated trees have rows of two trees and no matrix of all columns."""
    live = world._live().constraints
    found = np.isfinite(live.column["option"][t.TREE_COLUMNS]) and live.sizes["nblock"] > 0
    assert not found or live.sizes["nsquare"] < live.sizes["nv"] ** 2
    return found


def made(text):
    return sx.World.from_scene(msd.from_str(text, format="mjcf"))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_heap_on_an_arm_moves_as_with_dense_rows(kind, cone, monkeypatch):
    text, ends = on_a_moving_arm(kind, 30, cone=cone), []
    for _ in range(2):
        world = made(text)
        sim = shoved(world)
        rows = set()
        for _ in range(4):
            world.step()
            report = world.step_report()
            assert report.converged and report.methods.keys() == {"newton"}
            rows.add(report.rows)
        assert has_tree_rows(world) == (not ends) and report.rows > 30
        assert report.active_limits
        ends.append((sim.v.copy(), np.concatenate([contact.force for contact in world.contacts]), rows))
        dense(monkeypatch)
    assert ends[0][2] == ends[1][2] and np.abs(ends[0][1]).max() > 0.5
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("kind", KINDS[:5])
def test_a_heap_on_an_arm_moves_as_in_mujoco(kind, cone):
    text = on_a_moving_arm(kind, 30, cone=cone)
    # MuJoCo measures its tolerance by the mean inertia
    model = mujoco.MjModel.from_xml_string(text.replace('tolerance="1e-12"', 'tolerance="0"'))
    data, world = mujoco.MjData(model), made(text)
    data.qvel[:] = shoved(world).v
    for _ in range(4):
        mujoco.mj_step(model, data)
        world.step()
        assert has_tree_rows(world) and world.step_report().rows == data.nefc > 30
        np.testing.assert_allclose(world._live().sim.v, data.qvel, rtol=0, atol=2e-7)


def robots(count, layer=4, condim=3):
    """Four-legged robots of fourteen degrees of freedom; torsos and feet overlap by 0.2 mm, limits act."""
    legs = "".join(
        f'<body pos="{0.05 * x} {0.05 * y} 0"><joint axis="0 0 1" range="-20 20"/>'
        '<inertial pos="0 0 0" mass=".1" diaginertia="1e-4 1e-4 1e-4"/>'
        f'<body pos="{0.02 * x} {0.02 * y} 0"><joint axis="{-y} {x} 0" range="1 60" frictionloss=".01"/>'
        f'<geom type="sphere" pos="{0.015 * x} {0.015 * y} 0" size=".015"/></body></body>'
        for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    )
    torsos = "".join(
        f'<body pos="{0.1998 * (k % layer)} {0.1998 * (k // layer % layer)} {0.0999 + 0.1998 * (k // layer**2)}">'
        f'<freejoint/><geom type="sphere" size=".1" mass="1"/>{legs}</body>'
        for k in range(count)
    )
    return f"""<mujoco><option timestep="0.002" {OPTIONS}/>
      <default><geom condim="{condim}" friction=".7 .03 .01"/><joint limited="true" armature=".01"/></default>
      <worldbody><geom type="plane" size="9 9 1"/>{torsos}</worldbody></mujoco>"""


def chains(count, links=8, layer=5):
    """Chains of balls, side by side and in layers that overlap by 0.2 mm; one island."""
    bodies = ""
    for k in range(count):
        x, z = 0.0998 * (k % layer), 0.0499 + 0.0998 * (k // layer)
        inner = "".join(
            f'<body pos="0 .11 0"><joint axis="{j % 2} 0 {1 - j % 2}"/><geom type="sphere" size=".05"/>'
            for j in range(links - 1)
        )
        first = f'<body pos="{x} 0 {z}"><freejoint/><geom type="sphere" size=".05"/>'
        bodies += f"{first}{inner}{'</body>' * links}"
    return f"""<mujoco><option timestep="0.002" {OPTIONS}/><default><joint armature=".001"/></default>
      <worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>"""


@pytest.mark.parametrize("text", [robots(16), chains(16)], ids=["robots", "chains"])
def test_robots_that_touch_move_as_with_dense_rows_and_in_mujoco(text, monkeypatch):
    model = mujoco.MjModel.from_xml_string(text.replace('tolerance="1e-12"', 'tolerance="0"'))
    data, ends = mujoco.MjData(model), []
    for _ in range(2):
        world = made(text)
        sim = shoved(world)
        if not ends:
            data.qvel[:] = sim.v
            mujoco.mj_step(model, data, 4)
        world.step(4)
        report = world.step_report()
        assert report.converged and has_tree_rows(world) == (not ends)
        assert report.rows == data.nefc > 200
        ends.append(sim.v.copy())
        dense(monkeypatch)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ends[0], data.qvel, rtol=0, atol=2e-7)


SCENES = {
    "arm": lambda count: on_a_moving_arm("condim 3", 4 * count, layer=10),
    "arm, condim 6": lambda count: on_a_moving_arm("condim 6", 4 * count, layer=10),
    "arm, no slip": lambda count: on_a_moving_arm("no slip", 4 * count, layer=10),
    "robots": lambda count: robots(count, layer=5),
    "chains": lambda count: chains(2 * count),
}


@pytest.mark.parametrize("name", SCENES)
def test_memory_of_one_island_with_trees_is_linear(name):
    used = []
    for count in (25, 50, 100):
        world = made(SCENES[name](count))
        world.step()
        report = world.step_report()
        assert report.converged and report.dropped_contacts == 0
        live = world._live().constraints
        assert live is not None and np.diff(live.column.island_trees[: report.islands + 1]).max() >= count
        used.append(sum(value for value in world.memory_diagnostics if isinstance(value, int)))
    # what another body takes; arrays that are too small double
    assert used[2] - used[1] < 3.0 * max(used[1] - used[0], 1e6)


@pytest.mark.parametrize("method", ["AUTOMATIC", "SEQUENTIAL_IMPULSE"])
@pytest.mark.parametrize("restitution", [0.0, 0.7])
def test_hard_contacts_beside_an_arm_are_solved_as_by_dense_rows(method, restitution, monkeypatch):
    text, found = on_a_moving_arm("condim 3", 30, cone="elliptic").replace('"200"', '"3000"'), []
    monkeypatch.setattr(laid_out, "_HARD_COLUMNS", 132)
    for _ in range(2):
        world = hard_world(text, restitution, sx.ContactSolverMethod[method])
        sim = shoved(world, 5)
        world.step()
        report = world.step_report()
        assert report.converged and has_tree_rows(world) == (not found)
        found.append((sim.v.copy(), report.rows))
        monkeypatch.setattr(laid_out, "_HARD_COLUMNS", np.inf)
    assert found[0][1] == found[1][1] > 30
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-5)


def test_memory_of_hard_contacts_beside_an_arm_is_linear():
    used = []
    for count in (100, 200, 400):
        world = hard_world(on_a_moving_arm("condim 3", count, layer=10))
        world.step()
        assert world.step_report().converged and has_tree_rows(world)
        used.append(sum(value for value in world.memory_diagnostics if isinstance(value, int)))
    assert used[2] - used[1] < 3.0 * max(used[1] - used[0], 1e6)
    assert used[2] < 60_000 * 400


def test_conjugate_gradients_beside_an_arm_find_what_factors_find(monkeypatch):
    """Without room for blocks between trees, directions come from conjugate gradients."""
    text, ends = on_a_moving_arm("condim 3", 30, cone="elliptic"), []
    for _ in range(2):
        world = made(text)
        sim = shoved(world)
        world.step(4)
        assert has_tree_rows(world) and world.step_report().converged
        ends.append(sim.v.copy())
        monkeypatch.setattr(laid_out, "_FACTOR_BLOCKS", 0)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)
    assert not np.array_equal(ends[0], ends[1])


def is_dense(world):
    """Whether there is a matrix over all columns of an island of more than 132."""
    return world._live().constraints.sizes["nsquare"] > 132**2


def test_what_keeps_dense_rows():
    """A tendon over three trees, a tree that is a quarter of its island, pivoting, derivatives."""
    text = on_a_moving_arm("condim 3", 30)
    tendon = (
        '<tendon><fixed limited="true" range="-9 9"><joint joint="j1" coef="1"/><joint joint="h0" coef="1"/>'
        '<joint joint="h1" coef="1"/></fixed></tendon>'
    )
    hung = "".join(
        f'<body pos="0 {k} 9"><joint name="h{k}" axis="1 0 0"/><geom size=".1"/></body>' for k in range(2)
    )
    tied = text.replace("</worldbody>", hung + "</worldbody>").replace("</mujoco>", tendon + "</mujoco>")
    scene, solver = msd.from_str(text, format="mjcf"), sx.ContactSolverMethod
    pivoted, differentiable = (
        made(text),
        sx.World.from_scene(scene, options=sx.WorldOptions(differentiable=True)),
    )
    pivoted.contact_solver_method = solver.BOXED_LCP
    for world, expected in (
        (made(text), False),
        (made(tied), True),
        (made(on_a_moving_arm("condim 3", 30, dofs=70)), True),
        (pivoted, True),
        (differentiable, True),
    ):
        world.step()
        assert is_dense(world) == expected and world.step_report().converged


def test_an_arm_with_some_joints_that_are_moved(monkeypatch):
    """What prescribed joints of a tree do goes to the reference accelerations of its rows."""
    text, ends = on_a_moving_arm("condim 3", 30), []
    for _ in range(2):
        world = made(text)
        arm = next(multibody for multibody in world.multibodies if len(multibody.joints) > 2)
        for joint in list(arm.joints)[1:3]:
            joint.actuator_type = sx.ActuatorType.VELOCITY
            joint.command_velocity = joint.velocity = [0.05]
        world.step(4)
        report = world.step_report()
        assert report.converged and has_tree_rows(world) == (not ends) and report.rows > 100
        assert joint.velocity == pytest.approx([0.05], abs=1e-12)
        ends.append(world._live().sim.v.copy())
        dense(monkeypatch)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)
