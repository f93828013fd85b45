# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random models with random operands, and how results are compared.

A sample holds many worlds of one tree. The trees have every joint type; they stand on a hinge, float on
a free joint, or are two, with and without springs, dampers and armature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import worldline.model as wm
from trees import KINDS, random_tree

ROUND_OFF = 1e-12
"""Two exact formulas for one number: a thousand operations and what cancels in them; measured 4e-14."""
WELL_POSED = 1e6
"""Largest condition of M in a sample: what its inverse loses beyond that is nobody's fault."""
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


def random_model(flavour: Flavour, rng: np.random.Generator, links: int = 2 * len(KINDS)) -> wm.Model:
    model = random_tree(rng, links, passive=flavour.passive, trees=flavour.trees, root=flavour.root)
    model.update(gravity=rng.normal(size=3) * 5.0)
    if flavour.passive:
        model.update(joint_spring_ref=wm.random_configuration(model, rng))
    return model


def draw(flavour: Flavour, links: int = 2 * len(KINDS), worlds: int = WORLDS) -> Sample:
    """A random tree and `worlds` random states and operands, away from singular mass matrices."""
    rng = np.random.default_rng(100 + flavour.seed)
    model = random_model(flavour, rng, links)
    q = wm.random_configuration(model, rng, worlds=8 * worlds)
    q = q[np.linalg.cond(wm.mass_matrix(model, q)) < WELL_POSED][:worlds]
    assert len(q) == worlds
    v, a, tau = rng.normal(size=(3, worlds, model.joint_dof_count))
    return Sample(model, q, v, a, tau)


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
