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

_FLOATS, _INTS, _MATRIX = "float64[::1]", "int64[::1]", "float64[:, ::1]"
_PROBLEM = (_problem.Problem, (_MATRIX, _FLOATS, _FLOATS, _FLOATS, _INTS))


@entry(signature=(_PROBLEM, _FLOATS, _FLOATS), label="the check of a solution")
def measure(problem, x, w_out):
    """See `kernels.lcp.problem.measure`."""
    return _problem.measure(problem, x, w_out)


@entry(signature=(_PROBLEM, "int64", _MATRIX, _INTS, _FLOATS), label="Lemke's method")
def lemke(problem, max_iterations, T_out, basis_out, x_out):
    """See `kernels.lcp.lemke.lemke`."""
    return _lemke.lemke(problem, max_iterations, T_out, basis_out, x_out)


@entry(signature=(_PROBLEM, "float64", "int64", _MATRIX, _INTS, _FLOATS), label="Dantzig's method")
def dantzig(problem, tolerance, max_iterations, work_out, state_out, x_io):
    """See `kernels.lcp.dantzig.dantzig`."""
    return _dantzig.dantzig(problem, tolerance, max_iterations, work_out, state_out, x_io)


@entry(signature=(_PROBLEM, "float64", "float64", "int64", _FLOATS, _FLOATS), label="projected Gauss-Seidel")
def pgs(problem, relaxation, tolerance, max_iterations, w_out, x_io):
    """See `kernels.lcp.pgs.pgs`."""
    return _pgs.pgs(problem, relaxation, tolerance, max_iterations, w_out, x_io)


@entry(signature=(_PROBLEM, "float64", "int64", _MATRIX, _INTS, _FLOATS), label="Newton's method")
def newton(problem, tolerance, max_iterations, work_out, state_out, x_io):
    """See `kernels.lcp.newton.newton`."""
    return _newton.newton(problem, tolerance, max_iterations, work_out, state_out, x_io)
