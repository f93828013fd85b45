# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Linear complementarity problems: make one, classify it, solve it, check the answer.

>>> from worldline.lcp import LcpProblem, solve
>>> result = solve(LcpProblem.standard([[2, 1], [1, 2]], [-5, -6]))
>>> result.x.round(4), result.status.name
(array([1.3333, 2.3333]), 'SUCCESS')
"""

from worldline._src.lcp.classify import LcpClass, classify
from worldline._src.lcp.problem import LcpKind, LcpProblem
from worldline._src.lcp.solvers import (
    Dantzig,
    LcpOptions,
    LcpResult,
    LcpSolver,
    LcpStatus,
    Lemke,
    Newton,
    Pgs,
    solve,
)
from worldline._src.lcp.validate import LcpValidation, validate

__all__ = [
    "Dantzig", "LcpClass", "LcpKind", "LcpOptions", "LcpProblem", "LcpResult", "LcpSolver", "LcpStatus",
    "LcpValidation", "Lemke", "Newton", "Pgs", "classify", "solve", "validate",
]  # fmt: skip
