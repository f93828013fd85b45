# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bound calls: the bits of the function they bind, checked operands, and parameters that change."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import worldline.model as wm
from worldline._src.errors import ArgumentError, BusyError, CapabilityError
from worldline._src.jit import DISABLED
from worldline._src.step import runner
from worldline._src.step.runner import _one_at_a_time
from worldline._src.step.samples import chain

_OF_POSITION = (
    "forward_kinematics",
    "mass_matrix",
    "mass_matrix_inverse",
    "center_of_mass",
    "gravity_forces",
)
_OF_VELOCITY = ("link_velocities", "momentum", "kinetic_energy", "bias_forces")


def _numbers(model: wm.Model, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    return [rng.normal(size=model.joint_dof_count) for _ in range(count)]


@pytest.mark.parametrize("name", [*_OF_POSITION, *_OF_VELOCITY, "forward_dynamics", "inverse_dynamics"])
def test_a_bound_call_has_the_bits_of_the_function(name: str) -> None:
    model, function = chain(7), getattr(wm, name)
    count = 1 if name in _OF_POSITION else 2 if name in _OF_VELOCITY else 3
    operands = _numbers(model, count)
    bound = wm.bind(function, model, *operands)
    for turn in range(3):
        for array in operands:
            array += 0.1 * turn
        expected = function(model, *operands)
        found = bound()
        assert found is bound.out
        np.testing.assert_array_equal(found, expected)


def test_jacobians_take_a_link_a_point_and_axes() -> None:
    model = chain(7)
    (q,) = _numbers(model, 1)
    bound = wm.bind(wm.jacobian, model, q, 6, (0.1, 0.0, 0.2), axes="link")
    q += 0.3
    np.testing.assert_array_equal(bound(), wm.jacobian(model, q, 6, (0.1, 0.0, 0.2), axes="link"))
    point = np.zeros(3)
    moving = wm.bind(wm.jacobian, model, q, 6, point)
    point[:] = (0.3, 0.2, 0.1)
    np.testing.assert_array_equal(moving(), wm.jacobian(model, q, 6, point))


def test_a_result_of_ones_own() -> None:
    model = chain(7)
    q, out = np.zeros(7), np.empty((7, 7))
    assert wm.bind(wm.mass_matrix, model, q, out=out)() is out
    with pytest.raises(ArgumentError, match="shape"):
        wm.bind(wm.mass_matrix, model, q, out=np.empty((6, 7)))
    with pytest.raises(ArgumentError, match="share memory"):
        wm.bind(wm.gravity_forces, model, q, out=q)


@pytest.mark.parametrize(
    "q",
    [
        np.zeros(6),
        np.zeros(8),
        np.zeros((1, 7)),
        np.zeros((3, 7)),
        np.zeros(7, np.float32),
        np.zeros(14)[::2],
    ],
)
def test_arrays_that_do_not_fit_are_refused_when_bound(q: np.ndarray) -> None:
    with pytest.raises(ArgumentError, match="q must"):
        wm.bind(wm.forward_kinematics, chain(7), q)


def test_read_only_arrays_are_refused_when_bound() -> None:
    q = np.zeros(7)
    q.setflags(write=False)
    with pytest.raises(ArgumentError, match="q must be contiguous, aligned and writable"):
        wm.bind(wm.forward_kinematics, chain(7), q)


def test_numbers_that_are_not_finite_are_refused_when_called() -> None:
    model = chain(7)
    q, qd, tau = _numbers(model, 3)
    bound = wm.bind(wm.forward_dynamics, model, q, qd, tau)
    qd[3] = np.nan
    with pytest.raises(ArgumentError, match="qd must be finite"):
        bound()
    qd[3] = 0.0
    np.testing.assert_array_equal(bound(), wm.forward_dynamics(model, q, qd, tau))


def test_calls_follow_the_parameters_of_the_model() -> None:
    model = chain(7)
    q, qd, tau = _numbers(model, 3)
    bound = wm.bind(wm.forward_dynamics, model, q, qd, tau)
    before = bound().copy()
    model.update(body_mass=2.0 * model.body_mass, gravity=(0.0, 0.0, -1.0))
    assert not np.allclose(before, bound())
    np.testing.assert_array_equal(bound(), wm.forward_dynamics(model, q, qd, tau))


def test_a_model_that_lost_its_inertia_is_noticed() -> None:
    model = chain(2)
    q, qd, tau = _numbers(model, 3)
    bound = wm.bind(wm.forward_dynamics, model, q, qd, tau)
    bound()
    model.update(body_mass=np.zeros(2), body_inertia=np.zeros((2, 3, 3)))
    with pytest.raises(ArgumentError, match="inertia"):
        bound()


def test_what_is_no_evaluation_of_one_world_is_refused() -> None:
    model = chain(7)
    q = np.zeros(7)
    with pytest.raises(ArgumentError, match="threads"):
        wm.bind(wm.forward_kinematics, model, q, threads=2)
    with pytest.raises((CapabilityError, TypeError)):
        wm.bind(wm.neutral, model)


def test_threads_take_turns_or_are_refused() -> None:
    model = chain(7)
    (q,) = _numbers(model, 1)
    bound, expected = wm.bind(wm.forward_kinematics, model, q), wm.forward_kinematics(model, q)
    refused = []

    def work() -> None:
        for _ in range(300):
            # compiled code lets no other thread run, plain Python does
            try:
                bound()
            except BusyError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(bound(), expected)
    assert all("bind one for each thread" in text for text in refused)
    assert DISABLED or not refused


def test_a_call_within_a_call_is_refused() -> None:
    inner = _one_at_a_time(lambda: inner())
    with pytest.raises(BusyError, match="bind one for each thread"):
        inner()


def test_a_bound_call_keeps_its_arrays() -> None:
    model = chain(7)
    (q,) = _numbers(model, 1)
    expected = wm.forward_kinematics(model, q)
    run = runner.bound(wm.bind(wm.forward_kinematics, model, q)._prepared.call)
    out = wm.bind(wm.forward_kinematics, model, q, out=np.zeros((7, 7)))
    del q, model
    gc.collect()
    filler = [np.full((7, 7), 3.0) for _ in range(200)]
    assert run() == -1
    np.testing.assert_array_equal(out(), expected)
    assert len(filler) == 200
