# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""System identification from clean and noisy recordings."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from worldline import optimize
from worldline import simulation as sx

P = sx.PhysicalParameter
scene = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "identify_parameters.py"))["build"]
"""A World of the example by mass, friction and damping: a box pushed over the ground, a swinging arm."""
TRUE = {"mass": 2.0, "friction": 0.4, "damping": 0.3}
GUESS = {"mass": 1.4, "friction": 0.6, "damping": 0.1}
DEVIATIONS = {"box.pose[0]": 1e-3, "box.velocity[0]": 5e-3, "arm.q": 1e-3, "arm.dq": 5e-3}
FORCE = "box.wrench[3]"


def recorded(steps: int = 16) -> tuple[np.ndarray, np.ndarray]:
    world = scene(**TRUE)
    names = [f"{v.name}[{k}]" for v in world.control_space().variables for k in range(v.dimension)]
    controls = np.zeros((steps, len(names)))
    controls[:, names.index(FORCE)] = 10.0 + 4.0 * np.sin(0.5 * np.arange(steps))
    states = [world.state_vector.copy()]
    for row in controls:
        world.control_vector = row
        world.step()
        states.append(world.state_vector.copy())
    return np.array(states), controls


def guessed() -> sx.World:
    world = scene(**GUESS)
    world.add_differentiable_parameter(world.rigid_bodies["box"], P.MASS)
    world.add_differentiable_parameter(
        world.rigid_bodies["box"], P.FRICTION, lower_bound=0.05, upper_bound=1.0
    )
    world.add_differentiable_parameter(world.multibodies["arm"].joints["hinge"], P.DAMPING)
    return world


def test_a_clean_recording_gives_the_parameters_it_was_made_with():
    states, controls = recorded()
    world = guessed()
    before = world.state_vector.copy()
    found = optimize.identify(world, states, controls, deviations=DEVIATIONS)
    assert found.converged
    np.testing.assert_allclose(found.values, list(TRUE.values()), rtol=1e-4)
    np.testing.assert_array_equal(found.start, list(GUESS.values()))
    # the World that was given is as it was
    np.testing.assert_array_equal(world.state_vector, before)
    assert world.rigid_bodies["box"].mass == GUESS["mass"]


def test_a_noisy_recording_gives_them_within_their_deviations():
    states, controls = recorded()
    space, rng, noisy = scene(**TRUE).state_space(), np.random.default_rng(0), states.copy()
    noise = 0.0
    for name, deviation in DEVIATIONS.items():
        column = space.get_variable(name.partition("[")[0]).start_index
        errors = rng.normal(size=len(noisy))
        noisy[:, column] += deviation * errors
        noise += 0.5 * float(errors @ errors)
    for window in (None, 8):
        found = optimize.identify(guessed(), noisy, controls, deviations=DEVIATIONS, window=window)
        off = np.abs(found.values - list(TRUE.values()))
        assert (off < 4.0 * found.standard_deviations).all(), repr(found)
        assert (found.standard_deviations < 0.5 * np.array(list(TRUE.values()))).all()
        if window is None:
            # not more is left than the true parameters leave, and nearly all of it
            assert 0.6 * noise < found.cost <= noise


def test_what_identification_is_given_is_checked():
    states, controls = recorded(5)
    with pytest.raises(RuntimeError, match="nothing to identify"):
        optimize.identify(scene(**GUESS), states, controls)
    world = guessed()
    with pytest.raises(ValueError, match="states must have shape"):
        optimize.identify(world, states[:, :2], controls)
    with pytest.raises(ValueError, match="controls must have shape"):
        optimize.identify(world, states, controls[:2])
    with pytest.raises(ValueError, match="window"):
        optimize.identify(world, states, controls, window=0)
    with pytest.raises(KeyError, match=r"no 'box\.w'"):
        optimize.identify(world, states, controls, deviations={"box.w": 1.0})
