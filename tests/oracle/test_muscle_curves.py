# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Muscles against MuJoCo's own functions, over lengths, speeds, activations and controls."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.jit import entry
from worldline._src.kernels import muscles

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

# range (2), force, scale, shortest, longest, fastest, passive, most when stretched
SETTINGS = [
    (0.75, 1.05, 100.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2),
    (0.6, 1.3, 40.0, 200.0, 0.4, 2.0, 3.0, 0.7, 1.5),
]
LENGTHS = (0.1, 0.45)
"""Range of lengths of the transmission [m]."""


@entry
def curves(numbers, bounds, length, rate):
    """Gain, its slope by the rate, and passive force."""
    return (
        muscles.muscle_gain(numbers, bounds, 0, length, rate),
        muscles.muscle_slope(numbers, bounds, 0, length, rate),
        muscles.muscle_bias(numbers, bounds, 0, length),
    )


@entry
def rate_of(control, activation, rise, fall, width):
    return muscles.muscle_rate(control, activation, rise, fall, width)


def table(setting):
    return np.array([setting])


@pytest.mark.parametrize("setting", SETTINGS)
def test_force_by_length_and_speed(setting):
    """`acc0` of MuJoCo only counts where no force is given."""
    numbers, best = table(setting), (LENGTHS[1] - LENGTHS[0]) / (setting[1] - setting[0])
    scaled = np.linspace(0.3, 2.2, 24)
    for length in LENGTHS[0] + (scaled - setting[0]) * best:
        for rate in np.linspace(-1.3, 1.3, 21) * best * setting[6]:
            gain, _, bias = curves(numbers, np.array([LENGTHS]), length, rate)
            wanted = mujoco.mju_muscleGain(length, rate, LENGTHS, 1.0, setting)
            assert gain == pytest.approx(wanted, rel=1e-12, abs=1e-12)
            wanted = mujoco.mju_muscleBias(length, LENGTHS, 1.0, setting)
            assert bias == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
def test_slope_by_the_speed_is_that_of_the_force(setting):
    """Away from the speeds at which the curve changes its piece."""
    numbers, best = table(setting), (LENGTHS[1] - LENGTHS[0]) / (setting[1] - setting[0])
    length, d = LENGTHS[0] + (0.93 - setting[0]) * best, 1e-6
    speeds = best * setting[6]
    for v in (-1.2, -0.7, -0.2, 0.1 * (setting[8] - 1.0), 0.8 * (setting[8] - 1.0), 1.1):
        high, low = (
            curves(numbers, np.array([LENGTHS]), length, (v + s * d) * speeds)[0] for s in (1.0, -1.0)
        )
        wanted = (high - low) / (2.0 * d * speeds)
        assert curves(numbers, np.array([LENGTHS]), length, v * speeds)[1] == pytest.approx(
            wanted, rel=1e-7, abs=1e-6
        )


@pytest.mark.parametrize("width", [0.0, 0.3])
def test_activation_rises_and_falls(width):
    times = (0.01, 0.04)
    for activation in (0.0, 0.2, 0.5, 0.97, 1.1):
        for control in (-0.2, 0.0, 0.1, 0.35, 0.5, 0.8, 1.0, 1.4):
            wanted = mujoco.mju_muscleDynamics(control, activation, (*times, width))
            assert rate_of(control, activation, *times, width) == pytest.approx(wanted, rel=1e-12, abs=1e-12)
