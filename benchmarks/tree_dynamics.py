# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tree algorithms against Pinocchio: one thread, random states, time per evaluation.

Pinocchio runs forward and inverse dynamics through its own C++ loop over states. It has no such loop for
kinematics and the mass matrix; `pinocchio_loops.cpp` is compiled for them where a C++ compiler and the
headers of Pinocchio and Eigen are found (pip install pin cmeel-eigen), so that no wrapper of Python is
charged. Elsewhere the time of a call from Python is taken, less that of the same call on a model of one
joint, and the row says so. Results are compared before anything is timed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import worldline.model as wm
from benchmarks import peers_in_cpp
from benchmarks.pinocchio_models import from_pinocchio, pinocchio_model, to_pinocchio
from benchmarks.real_robots import urdf_file
from benchmarks.timing import best_of, turns_of
from worldline import msd
from worldline._src.step.samples import chain, humanoid

WORLDS = 1024
ASKED = {
    "forward dynamics": (1.5, 5.0),
    "inverse dynamics": (1.0, 4.0),
    "forward kinematics": (1.5, 4.0),
    "mass matrix": (1.5, 3.0),
}
_LOOPS = ("forward kinematics", "mass matrix")
"""What `pinocchio_loops.cpp` measures, in this order."""


def agree(ours: np.ndarray, theirs: np.ndarray, what: str) -> None:
    error = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not error < 1e-9:
        raise AssertionError(f"{what} differs from Pinocchio by {error:.1e}; not timing wrong results")


def build_loops(folder: Path) -> Path | None:
    """Pinocchio's loops in C++, kept in `folder` once they are built; None where they cannot be."""
    casadi = importlib.util.find_spec("casadi")
    headers = (
        [] if casadi is None or casadi.origin is None else [Path(casadi.origin).parent / "include" / "eigen3"]
    )
    source = Path(__file__).parent / "pinocchio_loops.cpp"
    words = f"{pin.__version__} {platform.node()} ".encode() + source.read_bytes()
    program = folder / f"pinocchio_loops_{hashlib.sha256(words).hexdigest()[:12]}"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    # Pinocchio's joints are a variant of more types than Boost allows by default
    defines = ["-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS"]
    return peers_in_cpp.build(pin, source, program, "pinocchio_default", headers=headers, defines=defines)


def loop_times(program: Path, model: wm.Model, q: np.ndarray) -> dict[str, tuple[float, ...]]:
    """Least and median time of an evaluation in the C++ loops [us]."""
    kinds = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}
    lines, number = [f"{model.joint_count} {len(q)}"], {-1: 0}
    for j in range(model.joint_count):
        child = int(model.joint_child[j])
        free = model.joint_type[j] == wm.JointType.FREE
        kind = "f" if free else kinds[tuple(model.joint_axis[model.joint_qd_start[j]])]
        inertia = (model.body_mass[child], *model.body_com[child], *np.ravel(model.body_inertia[child]))
        numbers = " ".join(repr(float(x)) for x in (*model.joint_X_p[j], *inertia))
        lines.append(f"{number[int(model.joint_parent[j])]} {kind} {numbers}")
        number[child] = j + 1
    lines += [" ".join(map(repr, row)) for row in q.tolist()]
    text = "\n".join(lines) + "\n"
    done = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    found = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    return dict(zip(_LOOPS, found, strict=True))


def call_cost(function: Callable[..., object]) -> float:
    """What a call from Python costs Pinocchio: the same function on one joint."""
    tiny = pin.Model()
    tiny.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "only")
    tiny.appendBodyToJoint(1, pin.Inertia.Random(), pin.SE3.Identity())
    data, q = tiny.createData(), np.zeros(1)
    return best_of({"call": lambda: [function(tiny, data, q) for _ in range(1000)]})["call"] / 1000


def measure(name: str, model: wm.Model, table: Table, program: Path | None) -> None:
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
    in_cpp = {} if program is None else loop_times(program, model, q)

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
        times = turns_of(
            {
                "theirs": loops[what],
                "one": lambda job=job, one=one: job(lanes=1, out=one),
                "lanes": lambda job=job, lanes=lanes: job(out=lanes),
            }
        )
        found = {k: (x.min() / WORLDS * 1e6, np.median(x) / WORLDS * 1e6) for k, x in times.items()}
        if program is not None and what in in_cpp:
            # in turns with ours as far as another process can be
            again = loop_times(program, model, q)[what]
            found["theirs"] = min(in_cpp[what][0], again[0]), min(in_cpp[what][1], again[1])
        else:
            spent = cost.get(what, 0.0) * 1e6
            found["theirs"] = found["theirs"][0] - spent, found["theirs"][1] - spent
        t = {k: x[0] for k, x in found.items()}
        ratios = t["theirs"] / t["one"], t["theirs"] / t["lanes"]
        shown = [
            f"{r:.2f} x ({a:g})" + ("" if r >= a else " [red]below[/red]")
            for r, a in zip(ratios, ASKED[what], strict=True)
        ]
        middle = [f"{found['theirs'][1] / found[k][1]:.2f}" for k in ("one", "lanes")]
        shown = [shown[0], middle[0], shown[1], middle[1]]
        label = what if what in in_cpp or what not in cost else f"{what} (Python calls)"
        table.add_row(name, label, f"{t['theirs']:.2f}", f"{t['one']:.2f}", f"{t['lanes']:.2f}", *shown)


def talos_model() -> wm.Model | None:
    """Talos on a free base, links without joints merged; None where its file is not installed."""
    path = urdf_file("talos_data/robots/talos_full_v2.urdf")
    if path is None:
        return None
    scene = msd.from_file(path)
    scene.hierarchy.bodies[0].free = msd.FreeJoint()
    scene.compile_options.fuse_static = True
    model = msd.build(scene)
    # Pinocchio's algorithms know no passive forces
    none = np.zeros(model.joint_dof_count)
    model.update(joint_damping=none, joint_stiffness=none, joint_armature=none)
    return model


def run(console: Console) -> None:
    """Print the table."""
    table = Table(title=f"tree algorithms, microseconds per evaluation, {WORLDS} states, one thread")
    for column in ("model", "algorithm"):
        table.add_column(column)
    for column in ("Pinocchio", "one world", "lanes", "one / asked", "median", "lanes / asked", "median"):
        table.add_column(column, justify="right")
    program = build_loops(Path("build") / "benchmarks")
    for n in (7, 30, 100, 200):
        measure(f"chain of {n}", chain(n), table, program)
        table.add_section()
    measure("humanoid of 38", humanoid(), table, program)
    talos = talos_model()
    if talos is None:
        console.print("example-robot-data is not installed: no row of Talos")
    else:
        table.add_section()
        measure("Talos", talos, table, program)
    console.print(table)
