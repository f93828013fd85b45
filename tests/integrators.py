# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Time stepping for tests, of known order, generic over joint types through `worldline.model.integrate`.

All of them take one world or many, `(n,)` or `(worlds, n)`, with one step or one a world, `(worlds, 1)`.
They return the state after `steps` steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import worldline.model as wm

Force = Callable[[np.ndarray, np.ndarray], np.ndarray]
State = tuple[np.ndarray, np.ndarray]
Step = float | np.ndarray


def _acceleration(model: wm.Model, force: Force | None) -> Force:
    if force is None:
        none = np.zeros(model.joint_dof_count)
        return lambda q, v: wm.forward_dynamics(model, q, v, none)
    return lambda q, v: wm.forward_dynamics(model, q, v, force(q, v))


def rk4(model: wm.Model, q, v, h: Step, steps: int, force: Force | None = None) -> State:
    """The commutator-free method of order 4 of Celledoni, Marthinsen and Owren (2003).

    Displacements are composed and never converted, so it holds for any joint; where displacements
    commute, as they do for axes, it is the classical Runge-Kutta method.
    """
    a = _acceleration(model, force)
    q, v = np.array(q, float), np.array(v, float)
    for _ in range(steps):
        v1, a1 = v, a(q, v)
        q2, v2 = wm.integrate(model, q, 0.5 * h * v1), v + 0.5 * h * a1
        a2 = a(q2, v2)
        q3, v3 = wm.integrate(model, q, 0.5 * h * v2), v + 0.5 * h * a2
        a3 = a(q3, v3)
        q4, v4 = wm.integrate(model, q2, h * v3 - 0.5 * h * v1), v + h * a3
        a4 = a(q4, v4)
        middle = 2.0 * (v2 + v3)
        q = wm.integrate(model, q, h / 12.0 * (3.0 * v1 + middle - v4))
        q = wm.integrate(model, q, h / 12.0 * (middle + 3.0 * v4 - v1))
        v = v + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
    return q, v


def semi_implicit_euler(model: wm.Model, q, v, h: Step, steps: int, force: Force | None = None) -> State:
    """Order 1: the new velocity moves the coordinates."""
    a = _acceleration(model, force)
    q, v = np.array(q, float), np.array(v, float)
    for _ in range(steps):
        v = v + h * a(q, v)
        q = wm.integrate(model, q, h * v)
    return q, v


def order(coarse, fine) -> float:
    """The observed order from the largest errors with a step and with half of it."""
    return float(np.log2(np.abs(coarse).max() / np.abs(fine).max()))
