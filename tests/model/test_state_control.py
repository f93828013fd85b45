# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""State, Control and Model as containers: shapes, copies, lookups, copies of the model itself."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import worldline.model as wm
from builders import BOX, robot, single
from worldline.model import ModelBuilder, State

STATE = {"joint_q": (8,), "joint_qd": (7,), "body_q": (2, 7), "body_qd": (2, 6), "body_f": (2, 6)}
CONTROL = {"joint_f": (7,), "joint_target_pos": (7,), "joint_target_vel": (7,)}


def driven(worlds: int) -> wm.Model:
    builder = robot()
    builder.joint_qd[:] = [1, 2, 3, 4, 5, 6, 7]
    builder.joint_f[:] = [7, 6, 5, 4, 3, 2, 1]
    builder.replicate(worlds)
    model = builder.finalize()
    model.update(joint_target_pos=np.arange(7.0), joint_target_vel=-np.arange(7.0))
    return model


@pytest.mark.parametrize("worlds", [1, 3])
def test_shapes_and_initial_values(worlds):
    model = driven(worlds)
    lead = () if worlds == 1 else (worlds,)
    state, control = model.state(), model.control()
    for name, shape in STATE.items():
        array = getattr(state, name)
        assert array.shape == (*lead, *shape)
        assert array.dtype == np.float64
        initial = np.zeros((2, 6)) if name == "body_f" else getattr(model, name)
        assert np.array_equal(array, np.broadcast_to(initial, array.shape))
    for name, shape in CONTROL.items():
        array = getattr(control, name)
        assert array.shape == (*lead, *shape)
        assert np.array_equal(array, np.broadcast_to(getattr(model, name), array.shape))


@pytest.mark.parametrize("worlds", [1, 3])
def test_states_share_nothing(worlds):
    model = driven(worlds)
    states, controls = [model.state(), model.state()], [model.control(), model.control()]
    states.append(states[0].copy())
    for name in STATE:
        arrays = [getattr(s, name) for s in states] + [getattr(model, name, np.zeros(0))]
        for i, a in enumerate(arrays):
            assert not any(np.shares_memory(a, b) for b in arrays[i + 1 :])
            assert i == 3 or a.flags.writeable
    for name in CONTROL:
        arrays = [getattr(c, name) for c in controls] + [getattr(model, name)]
        assert not any(np.shares_memory(a, b) for a in arrays for b in arrays if a is not b)
    states[0].joint_q[...] = 9.0
    assert not (states[2].joint_q == 9.0).any()


def test_worlds_of_a_state_share_nothing():
    state = driven(3).state()
    state.joint_q[1, 0] = 5.0
    assert state.joint_q[:, 0].tolist() == [0.0, 5.0, 0.0]


def test_poses_of_bodies_are_those_given_until_eval_fk():
    builder = single("revolute")
    builder.joint_q[0] = 0.5
    state = builder.finalize().state()
    assert state.joint_q.tolist() == [0.5]
    assert state.body_q.tolist() == [[0, 0, 0, 0, 0, 0, 1]]


def test_assign():
    model = driven(1)
    a, b = model.state(), model.state()
    b.joint_q[:], b.body_f[:] = 3.0, 4.0
    a.assign(b)
    assert (a.joint_q == 3.0).all()
    assert (a.body_f == 4.0).all()
    assert not np.shares_memory(a.joint_q, b.joint_q)


def test_assign_of_another_shape_changes_nothing():
    a, b = driven(1).state(), driven(1).state()
    b.joint_q[:] = 3.0
    wrong = State(b.joint_q, b.joint_qd, b.body_q, b.body_qd, np.zeros((3, 6)))
    with pytest.raises(ValueError, match="body_f"):
        a.assign(wrong)
    assert not (a.joint_q == 3.0).any()
    with pytest.raises(ValueError, match="joint_q"):
        a.assign(driven(2).state())


# ---- Model


def test_counts():
    model = driven(3)
    assert (model.body_count, model.joint_count, model.articulation_count) == (2, 2, 1)
    assert (model.joint_coord_count, model.joint_dof_count, model.world_count) == (8, 7, 3)
    assert repr(model) == "Model(2 bodies, 2 joints, 7 dofs, 1 articulations, 3 worlds)"


def test_lookups():
    model = driven(1)
    assert model.body_index("hand") == 1
    assert model.joint_index("elbow") == 1
    assert model.articulation_index("robot") == 0
    for find, near in ((model.body_index, "hand"), (model.joint_index, "elbow")):
        with pytest.raises(KeyError, match=f"did you mean '{near}'"):
            find(near[:-1])
    for wrong in (None, 5, ["hand"], ""):
        with pytest.raises(KeyError):
            model.body_index(wrong)


def test_arrays_are_read_only():
    model = driven(1)
    arrays = {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    assert len(arrays) > 35
    for name, array in arrays.items():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(AttributeError, match="update"):
            setattr(model, name, np.array(array))
        assert getattr(model, name) is array


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_a_model_stand_alone(duplicate):
    model = single("ball").finalize()
    q = np.tile([0.1, 0.2, 0.3, 0.9], (9, 1))
    rate = np.tile([1.0, 2.0, 3.0], (9, 1))
    before = wm.forward_dynamics(model, q, rate, rate)
    twin = duplicate(model)
    assert np.array_equal(wm.forward_dynamics(twin, q, rate, rate), before)
    assert not twin.body_mass.flags.writeable
    twin.update(gravity=(0, 0, 0), body_mass=[3.0])
    assert not np.array_equal(wm.forward_dynamics(twin, q, rate, rate), before)
    assert np.array_equal(wm.forward_dynamics(model, q, rate, rate), before)
    assert model.body_mass.tolist() == [1.0]


def test_builders_and_states_can_be_copied():
    builder = robot()
    for twin in (copy.deepcopy(builder), pickle.loads(pickle.dumps(builder))):
        twin.add_body(mass=1.0, inertia=BOX)
        assert twin.finalize().body_count == 3
    assert builder.finalize().body_count == 2
    state = driven(2).state()
    assert np.array_equal(pickle.loads(pickle.dumps(state)).joint_qd, state.joint_qd)


def test_an_empty_model():
    model = ModelBuilder().finalize()
    state = model.state()
    assert state.joint_q.shape == (0,)
    assert state.body_q.shape == (0, 7)


def test_misspelt_arrays_are_refused():
    model = driven(1)
    for holder in (model.state(), model.control()):
        with pytest.raises(AttributeError, match="joint_qs"):
            holder.joint_qs = np.zeros(7)
        again = pickle.loads(pickle.dumps(copy.deepcopy(holder)))
        for name in STATE if isinstance(holder, State) else CONTROL:
            np.testing.assert_array_equal(getattr(again, name), getattr(holder, name))
