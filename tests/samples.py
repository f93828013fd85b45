# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random models with random operands, and how results are compared.

A sample holds many worlds of one tree. The trees have every joint type; they stand on a hinge, float on
a free joint, or are two, with and without springs, dampers and armature.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import worldline.model as wm
from trees import KINDS, random_tree

ROUND_OFF = 1e-12
"""Two exact formulas for one number: a thousand operations and what cancels in them; measured 4e-14."""
WELL_POSED = 1e6
"""Largest condition of M in a sample: what its inverse loses beyond that is nobody's fault."""
SOLVE = 1e-9
"""Two ways to solve with such an M: round-off times its condition; measured 1e-11."""
WORLDS = 16


class Sample(NamedTuple):
    model: wm.Model
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


class Flavour(NamedTuple):
    root: str
    passive: bool
    trees: int
    seed: int


FLAVOURS = [
    Flavour(root, passive, trees, seed)
    for seed, (root, trees) in enumerate([("revolute", 1), ("free", 1), ("free", 1), ("planar", 2)])
    for passive in (False, True)
]

every_flavour = pytest.mark.parametrize(
    "flavour",
    FLAVOURS,
    ids=[f"{f.root}-{'passive' if f.passive else 'plain'}-{f.trees}-{f.seed}" for f in FLAVOURS],
)


def random_model(flavour: Flavour) -> wm.Model:
    """The tree of a flavour: every joint type twice."""
    rng = np.random.default_rng(100 + flavour.seed)
    model = random_tree(rng, 2 * len(KINDS), passive=flavour.passive, trees=flavour.trees, root=flavour.root)
    model.update(gravity=rng.normal(size=3) * 5.0)
    if flavour.passive:
        model.update(joint_spring_ref=wm.random_configuration(model, rng))
    return model


def conditions(M) -> np.ndarray:
    """Condition numbers of symmetric positive matrices."""
    eigenvalues = np.linalg.eigvalsh(M)
    return eigenvalues[:, -1] / eigenvalues[:, 0]


@cache
def _operands(flavour: Flavour, worlds: int, condition: float) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(200 + flavour.seed)
    model = random_model(flavour)
    q = wm.random_configuration(model, rng, worlds=16 * worlds)
    q = q[conditions(wm.mass_matrix(model, q)) < condition][:worlds]
    assert len(q) == worlds
    return q, *rng.normal(size=(3, worlds, model.joint_dof_count))


def draw(flavour: Flavour, worlds: int = WORLDS, condition: float = WELL_POSED) -> Sample:
    """A random tree, a new one at every call, and random states and operands for it.

    States near singular mass matrices are left out.
    """
    return Sample(random_model(flavour), *(x.copy() for x in _operands(flavour, worlds, condition)))


def gap(ours, theirs) -> float:
    """The largest difference, relative to the largest number of its world, or absolute below 1."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    rows = (len(theirs), -1) if theirs.ndim > 1 else (-1, 1)
    size = np.maximum(1.0, np.abs(theirs.reshape(rows)).max(axis=1, initial=0.0))
    return float((np.abs((ours - theirs).reshape(rows)).max(axis=1, initial=0.0) / size).max())


STENCIL = ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0))


def slope(f, h: float = 1e-3) -> np.ndarray:
    """Derivative of f(t) at 0 by the central difference of order 4."""
    return sum(weight * f(k * h) for k, weight in STENCIL) / (12.0 * h)


def times(matrix, vector) -> np.ndarray:
    """Matrix times vector in every world."""
    return np.einsum("...ij,...j->...i", matrix, vector)


def dot(a, b) -> np.ndarray:
    return (a * b).sum(axis=-1)


def forces_and_motion(model, q, v, a, tau) -> dict[str, np.ndarray]:
    """What does not depend on where the world is, in the order of degrees of freedom."""
    return {
        "mass matrix": wm.mass_matrix(model, q),
        "bias": wm.bias_forces(model, q, v),
        "inverse dynamics": wm.inverse_dynamics(model, q, v, a),
        "forward dynamics": wm.forward_dynamics(model, q, v, tau),
        "solve": wm.solve_mass_matrix(model, q, tau),
        "kinetic energy": wm.kinetic_energy(model, q, v),
    }
