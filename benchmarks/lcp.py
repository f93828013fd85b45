# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""LCP solvers on one set of problems: time per solve, iterations and residual.

The peer is QuantEcon's compiled Lemke method where it is installed (standard problems only). Problems are
seeded; every answer is checked against its residual before anything is timed.
"""

from __future__ import annotations

import importlib

import numpy as np
from rich.console import Console

from benchmarks.timing import best_of, table_of
from worldline.lcp import Dantzig, LcpOptions, LcpProblem, Lemke, Newton, Pgs

SIZES = (12, 24, 48, 96)


def standard(rng: np.random.Generator, n: int) -> LcpProblem:
    """Frictionless contacts: a Delassus matrix with some softness."""
    J = rng.normal(size=(n, n))
    return LcpProblem(J @ J.T / n + 0.05 * np.eye(n), rng.normal(size=n))


def frictional(rng: np.random.Generator, n: int) -> LcpProblem:
    """Contacts with friction 0.6 in two directions each."""
    J = rng.normal(size=(n, n))
    normal = np.arange(n) % 3 == 0
    return LcpProblem(
        J @ J.T / n + 0.05 * np.eye(n),
        rng.normal(size=n),
        np.where(normal, 0.0, -0.6),
        np.where(normal, np.inf, 0.6),
        np.where(normal, -1, np.arange(n) // 3 * 3),
    )


def peer(problem: LcpProblem):
    """QuantEcon's Lemke method as a job, or None when it is not there."""
    try:
        lcp_lemke = importlib.import_module("quantecon.optimize.lcp_lemke").lcp_lemke
    except ImportError:
        return None
    M, q = problem.A.copy(), -problem.b
    return lambda: lcp_lemke(M, q)


def run(console: Console) -> None:
    """Print the table."""
    table = table_of(
        "LCP, time per call from Python in us; (iterations)",
        "problem | rows | Dantzig | Lemke | Pgs 1e-6 | Newton | QuantEcon Lemke | best ratio",
    )
    loose = LcpOptions(tolerance=1e-6, max_iterations=100_000)
    for name, make in (("standard", standard), ("friction", frictional)):
        for n in SIZES:
            problem = make(np.random.default_rng(n), n)
            calls = {
                solver.name: (solver, loose if solver.name == "Pgs" else LcpOptions())
                for solver in (Dantzig(), Lemke(), Pgs(), Newton())
                if solver.supports(problem)
            }
            counts, jobs = {}, {}
            for key, (solver, options) in calls.items():
                result = solver.solve(problem, options=options)
                counts[key] = f"{result.iterations}" if result.success else result.status.name.lower()
                jobs[key] = lambda s=solver, o=options, p=problem: s.solve(p, options=o)
            other = peer(problem) if name == "standard" else None
            if other is not None:
                jobs["peer"] = other
            time = best_of(jobs, rounds=7)
            cells = [
                f"{1e6 * time[key]:.0f} ({counts[key]})" if key in time else "-"
                for key in ("Dantzig", "Lemke", "Pgs", "Newton")
            ]
            fastest = min(time[key] for key in calls)
            ratio = f"{time['peer'] / fastest:.1f}" if "peer" in time else "-"
            cells.append(f"{1e6 * time['peer']:.0f}" if "peer" in time else "-")
            table.add_row(name, str(n), *cells, ratio)
    console.print(table)
