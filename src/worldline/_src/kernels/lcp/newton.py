# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A semismooth Newton method on the Fischer-Burmeister equations of a boxed problem.

phi(a, c) = sqrt(a^2 + c^2) - a - c vanishes exactly where a >= 0, c >= 0, a c = 0. A row with both bounds
is phi(x - lo, phi(hi - x, -w)) = 0 [after Billups 1995]; a row without bounds is w = 0. The squared norm of
these equations is smooth, which is what the line search descends on. Friction bounds enter the Jacobian
with the row they depend on.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.lcp.active_set import solve_active
from worldline._src.kernels.lcp.elimination import eliminate
from worldline._src.kernels.lcp.problem import (
    AT_HIGH,
    AT_LOW,
    FREE,
    INFINITY,
    LIMIT_REACHED,
    SINGULAR,
    SOLVED,
    bounds_of,
    natural_residual,
    place,
    slack,
)
from worldline._src.scalar.ops import sqrt

SQRT_HALF = 0.5**0.5


@inline
def _fischer(a, c):
    """phi(a, c) and its two derivatives; at the kink one of the limits of the derivative."""
    r = sqrt(a * a + c * c)
    if r == 0.0:
        return 0.0, SQRT_HALF - 1.0, SQRT_HALF - 1.0
    # the form without cancellation where both are positive
    value = r - a - c if a + c <= 0.0 else -2.0 * a * c / (r + a + c)
    return value, a / r - 1.0, c / r - 1.0


@inline
def _row(problem, x, w, i):
    """Equation of row `i`: value, derivatives by x_i, w_i, lower bound and upper bound."""
    low, high = bounds_of(problem, x, i)
    bounded_below, bounded_above = low > -INFINITY, high < INFINITY
    if not bounded_below and not bounded_above:
        return w[i], 0.0, 1.0, 0.0, 0.0
    if not bounded_above:
        # phi(x - lo, w)
        value, da, dc = _fischer(x[i] - low, w[i])
        return value, da, dc, -da, 0.0
    # phi(hi - x, -w); with both bounds phi(x - lo, phi(hi - x, -w)) by the chain rule
    upper, ua, uc = _fischer(high - x[i], -w[i])
    if not bounded_below:
        return -upper, ua, uc, 0.0, -ua
    value, da, dc = _fischer(x[i] - low, upper)
    return value, da - dc * ua, -dc * uc, -da, dc * ua


@inline
def _merit(problem, x, w):
    total = 0.0
    for i in range(x.shape[0]):
        # 1/2 |phi|^2
        value = _row(problem, x, w, i)[0]
        total += value * value
    return 0.5 * total


@inline
def _linearise(problem, x, w, G_out, phi_out):
    """Equations and one element of their generalized Jacobian."""
    A, findex = problem.A, problem.findex
    n = x.shape[0]
    for i in range(n):
        value, by_x, by_w, by_low, by_high = _row(problem, x, w, i)
        phi_out[i] = value
        for j in range(n):
            # G = diag(dphi/dx) + diag(dphi/dw) A, and the bounds of friction rows by |x_f|
            G_out[i, j] = by_w * A[i, j]
        G_out[i, i] += by_x
        f = findex[i]
        if f >= 0:
            sign = 1.0 if x[f] >= 0.0 else -1.0
            G_out[i, f] += sign * (by_low * problem.lo[i] + by_high * problem.hi[i])


@inline
def _guess_active(problem, x, w, state_out):
    """The set of active bounds that the natural map suggests."""
    for i in range(x.shape[0]):
        low, high = bounds_of(problem, x, i)
        # clamp(x - w, lo, hi): which bound it ends at
        target = x[i] - w[i]
        state_out[i] = AT_LOW if target < low else (AT_HIGH if target > high else FREE)


@inline
def _search(problem, direction, slope, start, x, trial_out, w_out):
    """Backtrack along `direction` until the merit falls enough; the step, or zero."""
    n = x.shape[0]
    step = 1.0
    for _ in range(40):
        for i in range(n):
            trial_out[i] = x[i] + step * direction[i]
        slack(problem, trial_out, w_out)
        # Armijo: f(x + t d) <= f(x) + 1e-4 t grad . d
        if _merit(problem, trial_out, w_out) <= start + 1e-4 * step * slope:
            return step
        step *= 0.5
    return 0.0


@kernel
def newton(problem, tolerance, max_iterations, work_out, state_out, x_io):
    """Solve the boxed problem from the guess in x by damped Newton steps.

    Locally quadratic; from anywhere it descends to a stationary point of the merit, which for P-matrices
    is the solution. Each iteration first tries the solution of the active set that the point suggests:
    close to the end that is exact. `work_out` is (n + 6, n). Returns (code, iterations). O(n^3) an iteration.
    """
    n = x_io.shape[0]
    G = work_out[:n]
    w, phi, direction = work_out[n], work_out[n + 1], work_out[n + 2]
    gradient, trial, spare = work_out[n + 3], work_out[n + 4], work_out[n + 5]

    place(problem, x_io)
    for iteration in range(max_iterations):
        slack(problem, x_io, w)
        error = natural_residual(problem, x_io, w)
        if error <= 1e-3 * tolerance:
            return SOLVED, iteration
        _guess_active(problem, x_io, w, state_out)
        if solve_active(problem, state_out, x_io, G, trial):
            slack(problem, trial, spare)
            sharper = natural_residual(problem, trial, spare)
            if sharper <= tolerance and sharper < error:
                for i in range(n):
                    x_io[i] = trial[i]
                return SOLVED, iteration + 1
        if error <= tolerance:
            return SOLVED, iteration

        # Newton direction, kept only when it descends
        _linearise(problem, x_io, w, G, phi)
        start = 0.0
        for j in range(n):
            gradient[j] = 0.0
        for i in range(n):
            start += 0.5 * phi[i] * phi[i]
            direction[i] = -phi[i]
            for j in range(n):
                # grad = G^T phi,  G d = -phi
                gradient[j] += G[i, j] * phi[i]
        step = 0.0
        if eliminate(G, direction):
            slope = 0.0
            for i in range(n):
                slope += gradient[i] * direction[i]
            if slope < -1e-10 * start:
                step = _search(problem, direction, slope, start, x_io, trial, spare)
        if step == 0.0:
            slope = 0.0
            for i in range(n):
                # steepest descent where Newton's direction fails
                direction[i] = -gradient[i]
                slope -= gradient[i] * gradient[i]
            step = _search(problem, direction, slope, start, x_io, trial, spare)
            if step == 0.0:
                return SINGULAR, iteration
        for i in range(n):
            x_io[i] = trial[i]
    return LIMIT_REACHED, max_iterations
