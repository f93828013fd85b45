# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled LCP solvers as Python calls them; kernels are merged into these."""

from __future__ import annotations

from worldline._src.jit import entry
from worldline._src.kernels.lcp import dantzig as _dantzig
from worldline._src.kernels.lcp import lemke as _lemke
from worldline._src.kernels.lcp import newton as _newton
from worldline._src.kernels.lcp import pgs as _pgs
from worldline._src.kernels.lcp import problem as _problem


@entry
def measure(problem, x, w_out):
    """See `kernels.lcp.problem.measure`."""
    return _problem.measure(problem, x, w_out)


@entry
def lemke(problem, max_iterations, T_out, basis_out, x_out):
    """See `kernels.lcp.lemke.lemke`."""
    return _lemke.lemke(problem, max_iterations, T_out, basis_out, x_out)


@entry
def dantzig(problem, tolerance, max_iterations, work_out, state_out, x_io):
    """See `kernels.lcp.dantzig.dantzig`."""
    return _dantzig.dantzig(problem, tolerance, max_iterations, work_out, state_out, x_io)


@entry
def pgs(problem, relaxation, tolerance, max_iterations, w_out, x_io):
    """See `kernels.lcp.pgs.pgs`."""
    return _pgs.pgs(problem, relaxation, tolerance, max_iterations, w_out, x_io)


@entry
def newton(problem, tolerance, max_iterations, work_out, state_out, x_io):
    """See `kernels.lcp.newton.newton`."""
    return _newton.newton(problem, tolerance, max_iterations, work_out, state_out, x_io)
