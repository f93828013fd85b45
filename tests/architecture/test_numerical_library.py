# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Models do not depend on the numerical library of NumPy, whose results depend on the processor."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import worldline
from worldline._src import linear_algebra
from worldline._src.jit import DISABLED

SOURCE = Path(worldline.__file__).parent / "_src"
GOLDEN = Path(__file__).parents[1] / "golden"
BUILDING = (
    "scene/**/*.py",
    "model/*.py",
    "collision/*.py",
    "step/pack*.py",
    "step/build.py",
    "step/*weights.py",
    "step/*ratios.py",
)
"""What turns a file or a World into the numbers of a step."""
LIBRARY = {"dot", "vdot", "matmul", "tensordot", "norm", "solve", "inv", "pinv", "eigh", "eigvalsh"}
LIBRARY |= {"svd", "lstsq", "qr", "cholesky", "det", "matrix_rank"}
"""Functions of NumPy that call it; `norm` does unless it is given an axis."""
DECISIONS = {
    # comparisons with thresholds far from rounding, and pseudo-inverses of masses that have no inverse
    "model/records.py": {"norm", "matrix_rank", "@"},
    "model/checks.py": {"norm", "eigvalsh"},
    "scene/rules.py": {"norm", "eigvalsh"},
    "scene/mass_properties.py": {"det"},
    "scene/assets/collada.py": {"det"},
    "scene/assets/mesh_files.py": {"det"},
    "scene/formats/mjcf/possible_inertia.py": {"norm"},
    "step/pack_loops.py": {"svd"},
    "collision/transforms.py": {"det", "@"},
    "step/inverse_weights.py": {"pinv", "cholesky", "eigvalsh"},
}
"""Where its result does not become a number of a Model, or nothing else can be had."""
OTHER = """
import json, sys
sys.path[:0] = sys.argv[1:]
import golden_set
print(json.dumps({name: golden_set.run(name) for name in golden_set.SCENES}))
"""


def library_calls(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            found.add("@")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LIBRARY:
            if not any(keyword.arg == "axis" for keyword in node.keywords):
                found.add(node.func.attr)
    return found


def test_numbers_of_models_come_from_sums_in_one_order():
    files = {path.relative_to(SOURCE).as_posix(): path for of in BUILDING for path in SOURCE.glob(of)}
    assert len(files) > 100
    found = {name: calls for name, path in files.items() if (calls := library_calls(path))}
    assert found == DECISIONS


@pytest.mark.skipif(DISABLED, reason="the golden set is recorded with compiled kernels")
def test_scenes_have_the_same_bits_with_code_for_other_processors():
    """OpenBLAS takes its code for a processor without fused products, which rounds otherwise."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]  # type: ignore[index]
    if "openblas" not in blas:
        pytest.skip(f"NumPy comes with {blas}, which takes no such choice")
    env = {**os.environ, "OPENBLAS_CORETYPE": "Prescott"}
    tests = [str(GOLDEN), str(GOLDEN.parent)]
    other = subprocess.run(
        [sys.executable, "-c", OTHER, *tests], env=env, capture_output=True, text=True, check=True
    )
    sys.path[:0] = tests
    import golden_set

    for name, (early, digest) in json.loads(other.stdout.splitlines()[-1]).items():
        assert (early, digest) == golden_set.run(name), name


def test_products_and_norms():
    rng = np.random.default_rng(0)
    A, B, C = rng.normal(size=(3, 5, 4, 3)), rng.normal(size=(5, 3, 6)), rng.normal(size=(6, 2))
    v = rng.normal(size=3)
    close = {"rtol": 0, "atol": 1e-13}
    np.testing.assert_allclose(linear_algebra.matmul(A, B, C), A @ B @ C, **close)
    np.testing.assert_allclose(linear_algebra.matmul(A, v), A @ v, **close)
    assert np.isclose(linear_algebra.dot(v, v), v @ v) and np.isclose(
        linear_algebra.norm(v), np.linalg.norm(v)
    )
    assert np.isclose(linear_algebra.norm(linear_algebra.unit_vector(v)), 1.0)
    np.testing.assert_allclose(
        linear_algebra.weighted_sum(A[0, :, 0, 0], B[:, :, 0]), A[0, :, 0, 0] @ B[:, :, 0]
    )


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_equations_are_solved_as_by_lapack(n):
    rng = np.random.default_rng(n)
    A, b, many = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=(n, 3))
    # without exchanges of rows the first pivot is rounding
    A[0, 0] = 1e-18 if n > 1 else 2.0
    np.testing.assert_allclose(linear_algebra.solve(A, b), np.linalg.solve(A, b), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(linear_algebra.solve(A, many), np.linalg.solve(A, many), rtol=1e-9, atol=1e-9)


def test_a_singular_matrix_has_no_finite_solution():
    assert not np.isfinite(linear_algebra.solve(np.ones((2, 2)), np.array([1.0, 2.0]))).all()
