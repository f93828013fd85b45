# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Model.update: parameters change for every later call, all of them or none."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from builders import BOX, TURN_90_Z, robot, single
from worldline._src.errors import WorldlineError
from worldline._src.model.checks import UPDATABLE
from worldline.model import ModelBuilder

NAN, INF = float("nan"), float("inf")


def model() -> wm.Model:
    """A base on a distance joint and a hand on a hinge: nq 8, nv 7, two bodies, two joints."""
    return robot("distance").finalize()


def arrays(m):
    return {name: value.copy() for name, value in vars(m).items() if isinstance(value, np.ndarray)}


def unchanged(m, before, constant):
    assert all(np.array_equal(getattr(m, name), value) for name, value in before.items())
    assert np.array_equal(m.arenas.constant, constant)


# ---- what changes


@pytest.mark.parametrize("name", UPDATABLE)
def test_every_array_that_can_be_updated(name):
    m = model()
    value = np.array(getattr(m, name))
    new = value + 0.5 if not np.isinf(value).any() else np.where(value < 0, -0.5, 0.5)
    if name == "body_inertia":
        new = 2.0 * value
    if name in ("joint_X_p", "joint_X_c", "body_q"):
        new[:, 3:] = TURN_90_Z
    if name in ("joint_q", "joint_spring_ref"):
        new[3:7] = TURN_90_Z
    if name == "joint_limit_lower":
        # an orientation that is free above is free below
        new[3:6] = -INF
    given = new.copy()
    m.update(**{name: given})
    assert np.array_equal(getattr(m, name), new)
    assert not getattr(m, name).flags.writeable
    given[...] = 99.0
    assert np.array_equal(getattr(m, name), new)  # a copy


def effects():
    q = np.array([0.1, 0.2, 0.3, 0, 0, 0, 1.0, 0.4])
    v = np.ones(7)
    return {
        "gravity": (lambda m: wm.gravity_forces(m, q), (1, 2, 3)),
        "body_mass": (lambda m: wm.mass_matrix(m, q), (2.0, 3.0)),
        "body_com": (lambda m: wm.center_of_mass(m, q), np.ones((2, 3))),
        "body_inertia": (lambda m: wm.mass_matrix(m, q), [2 * BOX, 3 * BOX]),
        "joint_X_p": (lambda m: wm.forward_kinematics(m, q), [(1, 0, 0, *TURN_90_Z)] * 2),
        "joint_X_c": (lambda m: wm.forward_kinematics(m, q), [(1, 0, 0, *TURN_90_Z)] * 2),
        "joint_armature": (lambda m: wm.mass_matrix(m, q), np.ones(7)),
        "joint_damping": (lambda m: wm.passive_forces(m, q, v), np.ones(7)),
        "joint_stiffness": (lambda m: wm.passive_forces(m, q, v), np.ones(7)),
    }


@pytest.mark.parametrize("name", effects())
@pytest.mark.parametrize("worlds", [False, True])
def test_kernels_see_the_change(name, worlds):
    """A model that was updated equals one that was built so, also after it was used."""
    result, new = effects()[name]
    m = model()
    before = result(m)
    m.update(**{name: new})
    after = result(m)
    assert not np.array_equal(before, after)
    fresh = model()
    fresh.update(**{name: new})
    assert np.array_equal(result(fresh), after)


def test_screw_pitch():
    m = single("screw").finalize()
    m.update(joint_pitch=[1.0])
    assert wm.forward_kinematics(m, [2.0])[0, 0] == 2.0


def test_updates_do_not_reach_states_that_exist():
    m = model()
    state = m.state()
    m.update(joint_q=np.array([9, 9, 9, 0, 0, 0, 1, 9.0]))
    assert not (state.joint_q == 9.0).any()
    assert m.state().joint_q[0] == 9.0


def test_lists_and_integers_are_fine():
    m = model()
    m.update(gravity=[0, 0, -1], body_mass=[1, 2])
    assert m.gravity.dtype == np.float64
    assert m.body_mass.tolist() == [1.0, 2.0]


def test_quaternions_become_unit():
    m = model()
    m.update(joint_X_p=[(0, 0, 0, 0, 0, 3, 4)] * 2, joint_q=[0, 0, 0, 0, 0, 3, 4, 0])
    assert np.allclose(m.joint_X_p[:, 3:], [0, 0, 0.6, 0.8], atol=1e-15)
    assert np.allclose(m.joint_q[3:7], [0, 0, 0.6, 0.8], atol=1e-15)


def test_nearly_symmetric_inertia_becomes_symmetric():
    m = model()
    skewed = np.array([BOX, BOX])
    skewed[0, 0, 1] = 1e-12
    m.update(body_inertia=skewed)
    assert np.array_equal(m.body_inertia[0], m.body_inertia[0].T)


def test_nothing_is_an_update():
    m = model()
    before, constant = arrays(m), m.arenas.constant.copy()
    m.update()
    unchanged(m, before, constant)


# ---- what does not


BAD = [
    ({"gravty": (0, 0, 0)}, "did you mean 'gravity'"),
    ({"joint_axis": np.ones((7, 3))}, "cannot change 'joint_axis'"),
    ({"joint_type": [1, 1]}, "cannot change"),
    ({"body_flags": [1, 1]}, "cannot change"),
    ({"world_count": 2}, "cannot change"),
    ({"gravity": (0, 0)}, "shape"),
    ({"gravity": (0, 0, NAN)}, "finite"),
    ({"gravity": (0, 0, INF)}, "finite"),
    ({"gravity": "down"}, "numbers"),
    ({"gravity": None}, "numbers"),
    ({"gravity": 1j}, "numbers"),
    ({"gravity": [[1], [2, 3]]}, "numbers"),
    ({"body_mass": [-1.0, 1.0]}, "'base'"),
    ({"body_mass": [1.0, 0.0]}, "'hand'"),
    ({"body_mass": [[1.0, 1.0]]}, "shape"),
    ({"body_inertia": [BOX, np.diag([1.0, 1.0, 3.0])]}, "'hand'"),
    ({"body_inertia": [BOX, [[1, 1, 0], [0, 1, 0], [0, 0, 1]]]}, "symmetric"),
    ({"joint_X_p": np.zeros((2, 7))}, "quaternion"),
    ({"joint_X_c": np.zeros((2, 7))}, "quaternion"),
    ({"body_q": np.zeros((2, 7))}, "quaternion"),
    ({"joint_q": np.zeros(8)}, "quaternion"),
    ({"joint_spring_ref": np.zeros(8)}, "quaternion"),
    ({"joint_distance": [(3, 1), (-1, -1)]}, "distance"),
    ({"joint_limit_lower": np.ones(7), "joint_limit_upper": np.zeros(7)}, "limits"),
    ({"joint_limit_lower": np.full(7, INF)}, "limits"),
    ({"joint_limit_upper": np.full(7, -INF)}, "limits"),
    ({"joint_limit_lower": np.full(7, NAN)}, "joint_limit_lower"),
    ({"joint_target_pos": np.full(7, INF)}, "finite"),
    *[
        ({name: np.full(7, -1.0)}, "negative")
        for name in ("joint_armature", "joint_damping", "joint_stiffness")
    ],
    *[({name: np.full(7, -1.0)}, "negative") for name in ("joint_friction", "joint_effort_limit")],
    *[({name: np.full(7, -1.0)}, "negative") for name in ("joint_velocity_limit", "joint_limit_ke")],
    *[
        ({name: np.full(7, -1.0)}, "negative")
        for name in ("joint_limit_kd", "joint_target_ke", "joint_target_kd")
    ],
    *[({name: np.full(7, INF)}, "finite") for name in ("joint_armature", "joint_damping", "joint_limit_kd")],
]


@pytest.mark.parametrize(("bad", "word"), BAD)
@pytest.mark.parametrize("first", [False, True])
def test_all_or_nothing(bad, word, first):
    """Good arrays beside a bad one are not taken, whichever comes first."""
    m = model()
    before, constant = arrays(m), m.arenas.constant.copy()
    good = {"joint_f": np.ones(7), "body_com": np.ones((2, 3))}
    with pytest.raises(ValueError, match=word) as caught:
        m.update(**(bad | good if first else good | bad))
    assert isinstance(caught.value, WorldlineError)
    unchanged(m, before, constant)


def test_limits_may_be_infinite():
    m = model()
    m.update(joint_effort_limit=np.full(7, INF), joint_velocity_limit=np.full(7, INF))
    m.update(joint_limit_lower=np.full(7, -INF), joint_limit_upper=np.full(7, INF))
    assert np.isinf(m.joint_effort_limit).all()


def test_limits_are_checked_against_those_that_stay():
    m = single("revolute", limit_lower=-1.0, limit_upper=1.0).finalize()
    with pytest.raises(ValueError, match="degree of freedom 0"):
        m.update(joint_limit_lower=[2.0])
    m.update(joint_limit_lower=[2.0], joint_limit_upper=[3.0])
    assert m.joint_limit_lower.tolist() == [2.0]


def test_an_empty_model_can_be_updated():
    m = ModelBuilder().finalize()
    m.update(gravity=(0, 0, 0), body_mass=[], joint_armature=[])
    assert not m.gravity.any()


def test_a_model_needs_all_its_arrays():
    with pytest.raises(TypeError, match=r"body_mass, .*joint_X_p"):
        wm.Model.of(body_label=[])
