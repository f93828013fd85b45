# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every argument of `worldline.math` acts, and what is no number is refused by name."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from effects import Fresh, arguments, called, check, complete_for_all, rows

from worldline import WorldlineError
from worldline import math as wmath

Q = (np.array([0.1, 0.2, 0.3, 0.9]), np.array([-0.5, 0.1, 0.4, 0.7]))
V = (np.array([0.3, -0.2, 0.5]), np.array([0.1, 0.7, -0.4]))
R = tuple(wmath.so3_exp(v) for v in V)
T = tuple(wmath.make_transform(a, v) for a, v in zip(R, V, strict=True))
TWIST = (np.array([0.3, -0.2, 0.5, 1.0, 2.0, 3.0]), np.array([0.1, 0.7, -0.4, 1.0, -1.0, 0.5]))
POSE = tuple(wmath.transform_to_pose(a) for a in T)
BY_NAME = {
    "R": R,
    "T": T,
    "A": T,
    "B": T[::-1],
    "M": (R[0] + 0.1 * np.ones((3, 3)), R[1]),
    "S": tuple(wmath.skew(v) for v in V),
    "a": Q,
    "b": Q[::-1],
    "q": Q,
    "v": V,
    "w": V,
    "p": V,
    "axis": V,
    "angle": (0.3, 4.0),
    "angles": V,
    "order": ("XYZ", "ZYX"),
    "pose": POSE,
    "twist": TWIST,
    "t": (0.2, 0.7),
    "rng": (Fresh(lambda: np.random.default_rng(1)), Fresh(lambda: np.random.default_rng(2))),
    "shape": ((2,), (3,)),
}
"""Two values of every argument, by its name."""


def functions():
    return {
        name: item
        for name in wmath.__all__
        if inspect.isfunction(inspect.unwrap(item := getattr(wmath, name)))
    }


TABLES = {
    name: called(item, **{one: BY_NAME[one] for one in sorted(arguments(item)) if one in BY_NAME})
    for name, item in functions().items()
}


@rows(**TABLES)
def test_an_argument_of_a_function_of_math_acts(entry):
    check(entry)


def test_tables_of_math_are_complete():
    complete_for_all(TABLES, wmath)
    assert set(wmath.__all__) == TABLES.keys() | {"EULER_ORDERS"}


HOSTILE = (
    10**400,
    1 + 2j,
    np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "abc",
    "1.5",
    ["1", "2", "3"],
    np.array(["2020-01-01"], "M8[D]"),
    None,
    object(),
    [[1, 2], [3]],
)


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_is_no_number_is_refused_by_math(name, value):
    function = getattr(wmath, name)
    plain = {one: BY_NAME[one][0] for one in sorted(arguments(function))}
    for one in plain:
        given = {k: v.make() if isinstance(v, Fresh) else v for k, v in plain.items()} | {one: value}
        with pytest.raises(WorldlineError):
            function(**given)
