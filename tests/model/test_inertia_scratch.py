# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse inertias at the start are kept over changes of parameters that have no part in them."""

import pickle

import numpy as np
import pytest

from worldline._src.model.checks import INERTIAL, UPDATABLE
from worldline._src.step.inverse_weights import inverse_weights
from worldline.model import ModelBuilder


def _model():
    builder = ModelBuilder()
    base = builder.add_link(mass=2.0, inertia=np.diag([0.2, 0.3, 0.4]), com=(0.1, 0.0, 0.05))
    arm = builder.add_link(mass=1.0, inertia=np.diag([0.02, 0.03, 0.04]), com=(0.0, 0.2, 0.0))
    tip = builder.add_link(mass=0.5, inertia=np.diag([0.01, 0.01, 0.01]), com=(0.1, 0.1, 0.0))
    joints = [
        builder.add_joint_free(base, label="base"),
        builder.add_joint_screw(base, arm, axis=(0, 0, 1), pitch=0.1, parent_xform=(0.3, 0, 0, 0, 0, 0, 1)),
        builder.add_joint_revolute(arm, tip, axis=(0, 1, 0), parent_xform=(0, 0.2, 0, 0, 0, 0, 1)),
    ]
    builder.add_articulation(joints)
    return builder.finalize()


def _changed(model, name):
    array = np.array(getattr(model, name))
    if name == "joint_q":
        array[7:] += 0.3
    elif name == "joint_limit_lower":
        # the last two are hinges; the base has an orientation, whose limits come in pairs
        array[-2:] = -2.0
    elif name.endswith("_lower"):
        array = np.where(np.isfinite(array), array - 0.1, -2.0)
    elif name in ("joint_X_p", "joint_X_c", "body_q"):
        array[:, :3] += (0.0, 0.1, 0.2)
    elif name in ("body_mass", "body_inertia"):
        array *= 1.5
    else:
        array = np.where(np.isfinite(array), array + 0.1, 2.0)
    return array


@pytest.mark.parametrize("name", sorted(UPDATABLE))
def test_kept_weights_are_those_of_a_fresh_model(name):
    model = _model()
    before = inverse_weights(model)
    model.update(**{name: _changed(model, name)})
    after = inverse_weights(model)
    fresh = inverse_weights(pickle.loads(pickle.dumps(model)))
    for found, expected in zip(after, fresh, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert (after is before) == (name not in INERTIAL)


def test_bodies_that_become_kinematic_have_other_weights():
    model = _model()
    before = inverse_weights(model)
    model.set_kinematic(2, True)
    after = inverse_weights(model)
    assert after[0][-1] == 0.0 < before[0][-1]
