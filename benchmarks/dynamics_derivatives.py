# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""First derivatives of inverse and of forward dynamics beside Pinocchio: one thread, time per evaluation.

Asked: as fast one world at a time, five times as fast in lanes, for 7 to 38 degrees of freedom and more.
Pinocchio is called from Python; the time of the same call on a model of one joint is taken off. Both write to
the same memory in every call. The jobs take turns in processor time, and results of fixed bases are compared
before anything is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from rich.console import Console

import worldline.model as wm
from benchmarks.pinocchio_models import pinocchio_model, to_pinocchio
from benchmarks.timing import table_of, turns_of
from worldline._src.step.samples import chain, humanoid

WORLDS = 256


def _tiny() -> pin.Model:
    """A model of one joint: what a call of Pinocchio costs."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "only")
    model.appendBodyToJoint(1, pin.Inertia.Random(), pin.SE3.Identity())
    return model


def _measure(model: wm.Model, ours: Callable[..., Any], call: Callable[..., Any]) -> dict[str, float]:
    """Microseconds of an evaluation: Pinocchio, one world at a time, in lanes."""
    rng, n = np.random.default_rng(0), model.joint_dof_count
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    v, u = rng.normal(size=(2, WORLDS, n))
    theirs, tiny, zero = pinocchio_model(model), _tiny(), np.zeros(1)
    data, small = theirs.createData(), tiny.createData()
    V, U = to_pinocchio(model, q, v, u)
    if model.joint_coord_count == n:
        error = np.abs(ours(model, q[0], v[0], u[0])[0] - call(theirs, data, q[0], v[0], u[0])[0]).max()
        if not error < 1e-6:
            raise AssertionError(f"differs from Pinocchio by {error:.1e}; not timing wrong results")
    out = np.zeros((WORLDS, 3, n, n))
    times = turns_of(
        {
            "one": lambda: ours(model, q, v, u, lanes=1, out=out),
            "lanes": lambda: ours(model, q, v, u, out=out),
            "pinocchio": lambda: [call(theirs, data, q[i], V[i], U[i]) for i in range(WORLDS)],
            "call": lambda: [call(tiny, small, zero, zero, zero) for _ in range(WORLDS)],
        },
        clock=time.thread_time,
    )
    micro = {job: 1e6 * float(spent.min()) / WORLDS for job, spent in times.items()}
    micro["pinocchio"] -= micro["call"]
    return micro


def run(console: Console) -> None:
    """Print the table."""
    table = table_of(
        "Derivatives of dynamics, microseconds an evaluation",
        "model | dofs | of | pinocchio | one world | ratio | in lanes | ratio",
    )
    models = {f"chain of {n}": chain(n) for n in (7, 12, 24, 38)} | {"humanoid": humanoid()}
    for name, model in models.items():
        for what, ours, call in (
            ("inverse dynamics", wm.inverse_dynamics_derivatives, pin.computeRNEADerivatives),
            ("forward dynamics", wm.forward_dynamics_derivatives, pin.computeABADerivatives),
        ):
            micro = _measure(model, ours, call)
            theirs, one, lanes = (micro[job] for job in ("pinocchio", "one", "lanes"))
            figures = (theirs, one, theirs / one, lanes, theirs / lanes)
            table.add_row(name, str(model.joint_dof_count), what, *(f"{x:.2f}" for x in figures))
    console.print(table)
