# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tree algorithms against Pinocchio: one thread, random states, time per evaluation.

Pinocchio runs forward and inverse dynamics through its own C++ loop over states. It has no such loop for
kinematics and the mass matrix; there the time of a call from Python is taken, less the time of the same
call on a model of one joint. Results are compared before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import worldline.model as wm
from benchmarks.pinocchio_models import from_pinocchio, pinocchio_model, to_pinocchio
from benchmarks.timing import best_of
from worldline._src.step.samples import chain, humanoid

WORLDS = 1024
ASKED = {
    "forward dynamics": (1.5, 5.0),
    "inverse dynamics": (1.0, 4.0),
    "forward kinematics": (1.0, 4.0),
    "mass matrix": (1.0, 3.0),
}


def agree(ours: np.ndarray, theirs: np.ndarray, what: str) -> None:
    error = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not error < 1e-9:
        raise AssertionError(f"{what} differs from Pinocchio by {error:.1e}; not timing wrong results")


def call_cost(function: Callable[..., object]) -> float:
    """What a call from Python costs Pinocchio: the same function on one joint."""
    tiny = pin.Model()
    tiny.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "only")
    tiny.appendBodyToJoint(1, pin.Inertia.Random(), pin.SE3.Identity())
    data, q = tiny.createData(), np.zeros(1)
    return best_of({"call": lambda: [function(tiny, data, q) for _ in range(1000)]})["call"] / 1000


def measure(name: str, model: wm.Model, table: Table) -> None:
    rng = np.random.default_rng(0)
    n = model.joint_dof_count
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    v, u = rng.normal(size=(2, WORLDS, n))
    theirs = pinocchio_model(model)
    data = theirs.createData()
    pool = pin.ModelPool(theirs, 1)
    V, U = to_pinocchio(model, q, v, u)
    Q, V, U = (np.asfortranarray(x.T) for x in (q, V, U))
    out = np.zeros((n, WORLDS), order="F")
    floating = bool((model.joint_type == wm.JointType.FREE).any())

    ours = {
        "forward dynamics": lambda **k: wm.forward_dynamics(model, q, v, u, **k),
        "inverse dynamics": lambda **k: wm.inverse_dynamics(model, q, v, u, **k),
        "forward kinematics": lambda **k: wm.forward_kinematics(model, q, **k),
        "mass matrix": lambda **k: wm.mass_matrix(model, q, **k),
    }
    loops: dict[str, Callable[[], object]] = {
        "forward dynamics": lambda: pin.abaInParallel(1, pool, Q, V, U, out),
        "inverse dynamics": lambda: pin.rneaInParallel(1, pool, Q, V, U, out),
        "forward kinematics": lambda: [pin.forwardKinematics(theirs, data, x) for x in q],
        "mass matrix": lambda: [pin.crba(theirs, data, x) for x in q],
    }
    cost = {"forward kinematics": call_cost(pin.forwardKinematics), "mass matrix": call_cost(pin.crba)}

    loops["forward dynamics"]()
    agree(ours["forward dynamics"](), from_pinocchio(model, q, V.T, out.T), "forward dynamics")
    if not floating:
        loops["inverse dynamics"]()
        agree(ours["inverse dynamics"](), out.T, "inverse dynamics")
        M = np.triu(pin.crba(theirs, data, q[0]))
        agree(np.triu(wm.mass_matrix(model, q[0])), M, "mass matrix")
    pin.forwardKinematics(theirs, data, q[0])
    places = np.array([m.translation for m in data.oMi[1:]])
    agree(wm.forward_kinematics(model, q[0])[:, :3], places, "forward kinematics")

    for what, job in ours.items():
        one, lanes = job(lanes=1), job()
        if not np.array_equal(one, lanes):
            raise AssertionError(f"{what}: lanes and one world differ")
        times = best_of(
            {
                "theirs": loops[what],
                "one": lambda job=job, one=one: job(lanes=1, out=one),
                "lanes": lambda job=job, lanes=lanes: job(out=lanes),
            }
        )
        t = {k: x / WORLDS * 1e6 for k, x in times.items()}
        t["theirs"] -= cost.get(what, 0.0) * 1e6
        ratios = t["theirs"] / t["one"], t["theirs"] / t["lanes"]
        shown = [
            f"{r:.2f} x ({a:g})" + ("" if r >= a else " [red]below[/red]")
            for r, a in zip(ratios, ASKED[what], strict=True)
        ]
        table.add_row(name, what, f"{t['theirs']:.2f}", f"{t['one']:.2f}", f"{t['lanes']:.2f}", *shown)


def run(console: Console) -> None:
    """Print the table."""
    table = Table(title=f"tree algorithms, microseconds per evaluation, {WORLDS} states, one thread")
    for column in ("model", "algorithm"):
        table.add_column(column)
    for column in ("Pinocchio", "one world", "lanes", "one / asked", "lanes / asked"):
        table.add_column(column, justify="right")
    for n in (7, 30, 100):
        measure(f"chain of {n}", chain(n), table)
        table.add_section()
    measure("humanoid of 38", humanoid(), table)
    console.print(table)
