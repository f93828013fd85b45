# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as plain Python: with the compiler off, every function gives the same numbers.

The parent process computes with compiled kernels and saves operands and results; a child process
without the compiler computes them again. Rounding differs where the compiler fuses multiply and add.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import worldline.model as wm
from builders import empty_state
from functions import FUNCTIONS, random_operands
from trees import KINDS, random_tree

WORLDS = 2


def tree() -> wm.Model:
    """One link for every joint type."""
    return random_tree(np.random.default_rng(2), len(KINDS), passive=True)


def results(model: wm.Model) -> dict[str, np.ndarray]:
    """Every public function on one world and on several."""
    rng = np.random.default_rng(3)
    found = {}
    for name, function in FUNCTIONS.items():
        values = random_operands(model, function, rng, WORLDS)
        found[name] = function.call(model, *values)
        found[f"{name} of one world"] = function.call(model, *[v[0] for v in values])
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    v = rng.normal(size=(WORLDS, model.joint_dof_count))
    state = empty_state(model, WORLDS)
    wm.eval_fk(model, q, v, state)
    wm.eval_ik(model, state, state.joint_q, state.joint_qd)
    found |= {name: getattr(state, name) for name in ("body_q", "body_qd", "joint_q", "joint_qd")}
    found["neutral"] = wm.neutral(model)
    return found


CHILD = """
import sys
import numpy as np
from worldline._src.jit import DISABLED
from test_plain_python import results, tree
import worldline.model as wm

assert DISABLED
model = tree()
mine, theirs = results(model), np.load(sys.argv[1])
assert set(mine) == set(theirs.files)
worst = {}
for name in mine:
    a, b = mine[name], theirs[name]
    assert a.shape == b.shape, name
    worst[name] = np.abs(a - b).max(initial=0.0) / (np.abs(b).max(initial=0.0) + 1.0)
bad = {name: gap for name, gap in worst.items() if not gap < 1e-11}
assert not bad, bad

# options and checks work as they do compiled
q = np.array(model.joint_q)
assert np.array_equal(wm.mass_matrix(model, q[None], threads=2)[0], wm.mass_matrix(model, q))
out = np.zeros((model.body_count, 7))
assert wm.forward_kinematics(model, q, out=out, lanes=4) is out
for call in (
    lambda: wm.forward_kinematics(model, q, lanes=3),
    lambda: wm.forward_kinematics(model, q, threads=-1),
    lambda: wm.forward_kinematics(model, np.full_like(q, np.nan)),
    lambda: wm.forward_kinematics(model, np.full((2, q.size), np.inf), threads=2),
):
    try:
        call()
    except ValueError:
        continue
    raise AssertionError("a bad call went through")
print("all alike")
"""


def test_every_function_without_the_compiler(tmp_path):
    saved = tmp_path / "compiled.npz"
    np.savez(saved, **results(tree()))
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", CHILD, str(saved)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "all alike"


ISLANDS = """
import sys
import numpy as np
from worldline import simulation as sx
from worldline.collision import CollisionShape

world = sx.World(time_step=0.004)
world.add_ground_plane(friction=0.5)
for name, place in (("alone", (3, 0, 0.099)), ("low", (0, 0, 0.099)), ("high", (0.02, 0, 0.298))):
    body = world.add_rigid_body(name, position=place, inertia=0.01 * np.eye(3))
    body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    body.linear_velocity = (0.5, 0.2, 0.0)
for _ in range(5):
    world.step()
assert world.step_report().islands == 2
np.save(sys.argv[1], world.state_vector)
"""


SENSORS = """
import sys
import numpy as np
from worldline import msd
from worldline import simulation as sx

text = '''
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="ball" pos="0 0 0.099">
      <freejoint/>
      <geom name="ball" size="0.1"/>
      <site name="all" size="0.2"/>
      <site name="down" pos="0 0 -0.12" euler="180 0 0"/>
    </body>
  </worldbody>
  <sensor>
    <accelerometer site="all"/>
    <touch site="all"/>
    <rangefinder site="all"/>
    <contact geom1="ball" geom2="floor" data="found force dist pos"/>
    <subtreeangmom body="ball"/>
  </sensor>
</mujoco>'''
world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
found = []
for _ in range(3):
    world.step()
    found += [world.sensors.values, world.state_vector]
np.save(sys.argv[1], np.concatenate(found))
"""


def both_ways(script: str, tmp_path: Path) -> list[np.ndarray]:
    """What a script saves with the compiler and without it."""
    found = []
    for disabled in "01":
        saved = tmp_path / f"{disabled}.npy"
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-c", script, str(saved)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        found.append(np.load(saved))
    return found


DIFFERENTIABLE = """
import sys
import numpy as np
from worldline import msd, simulation as sx
from worldline._src.jit import DISABLED

text = '''<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
  <body name="crate" pos="0 0 .098"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>
  <body pos="1 0 1"><joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body>
</worldbody><actuator><motor name="push" joint="hinge"/></actuator></mujoco>'''
scene = msd.from_str(text, format="mjcf")
scene.simulate_option.policy.differentiable = True
world = sx.World.from_scene(scene)
world.control_vector = np.linspace(-0.5, 0.5, world.control_space().dimension)
for _ in range(3):
    world.step(n=2)
np.save(sys.argv[1], world.state_vector)
if DISABLED:
    try:
        world.get_step_derivatives()
    except RuntimeError as error:
        assert "NUMBA_DISABLE_JIT" in str(error)
        assert np.array_equal(world.state_vector, np.load(sys.argv[1]))
    else:
        raise AssertionError("there are no dual numbers in plain Python")
"""


@pytest.mark.parametrize(
    "script", [ISLANDS, SENSORS, DIFFERENTIABLE], ids=["islands", "sensors", "differentiable"]
)
def test_worlds_without_the_compiler(script, tmp_path):
    """A small island first: its arrays must not be those of the larger one. Readings between the steps: what
    is saved for them must not take the place of the arenas in the list of known addresses."""
    compiled, plain = both_ways(script, tmp_path)
    np.testing.assert_allclose(plain, compiled, rtol=0, atol=1e-9)


GOLDEN = """
from golden_scenes import SCENES

steps = 0
for name, make in SCENES.items():
    # heaps take minutes, and there are no lanes
    if "heap" not in name and "lanes" not in name:
        world = make()
        world.step(n=2)
        steps += 2
        if len(world.sensors):
            world.sensors.values
print(steps)
"""


def test_no_kernel_counts_an_index_from_the_end():
    # compiled kernels would read what is in memory before an array; plain Python refuses it
    path = os.pathsep.join([str(Path(__file__).parent / "golden"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", GOLDEN],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60


def test_arrays_of_kernels_have_no_index_from_the_end():
    script = """
from worldline._src.scalar.memory import matrix, vector
from worldline._src.spatial.vec3 import load_three
import numpy as np

rows = matrix(np.arange(12.0), 3, 3, 3)
assert load_three(rows[0], 0) == (3.0, 4.0, 5.0)
assert rows[-1, -1] == 11.0, "functions of users may"
try:
    load_three(vector(np.arange(12.0), 3, 9), -2)
except IndexError as error:
    assert "-2" in str(error), error
else:
    raise AssertionError("not refused")
"""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
