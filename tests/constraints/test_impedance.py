# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The impedance model against the rows MuJoCo builds, in lanes, and at its edges."""

from __future__ import annotations

import numpy as np
import pytest
from row_calls import aligned, friction_regularizers, impedance_lanes, impedance_one, soft_row
from scenes import EVERY_ROW

CURVES = (
    (0.9, 0.95, 0.001, 0.5, 2.0),
    (0.7, 0.9, 0.01, 0.3, 3.0),
    (0.95, 0.85, 0.002, 0.6, 1.5),
    (0.8, 0.8, 0.001, 0.5, 2.0),
    (0.5, 0.9, 0.0, 0.5, 2.0),
    (0.0, 1.0, 0.01, 0.5, 1.0),
    (0.2, 0.9, 0.01, 0.0, 6.0),
)


def curve(r, solimp):
    out = aligned(np.zeros(len(r)))
    impedance_one(aligned(r), np.array(solimp), out)
    return out


def test_ends_and_middle_of_the_curve():
    width = 0.01
    d = curve([0.0, width, -width, 5 * width, 0.5 * width], (0.6, 0.9, width, 0.5, 2))
    assert d == pytest.approx([0.6, 0.9, 0.9, 0.9, 0.75])
    # the point at the middle lies on the straight line whatever the power
    for power in (1.0, 1.5, 2.0, 5.0):
        assert curve([0.3 * width], (0.6, 0.9, width, 0.3, power)) == pytest.approx(0.6 + 0.3 * 0.3)
    # never quite zero or one
    assert curve([0.0, 1.0], (0.0, 1.0, width, 0.5, 2)) == pytest.approx([1e-4, 1 - 1e-4])


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 3.0, 6.0])
def test_curve_is_the_formula_for_every_exponent(power):
    d0, dw, width, m = 0.3, 0.9, 0.02, 0.4
    x = np.linspace(0.0, 1.0, 41)
    below = d0 + (dw - d0) * x**power / m ** (power - 1.0)
    above = dw - (dw - d0) * (1.0 - x) ** power / (1.0 - m) ** (power - 1.0)
    wanted = np.where(x <= m, below, above)
    np.testing.assert_allclose(curve(width * x, (d0, dw, width, m, power)), wanted, rtol=1e-14)


@pytest.mark.parametrize("solimp", CURVES)
def test_lanes_equal_one_world_bit_for_bit(solimp):
    r = aligned(np.linspace(-0.02, 0.02, 400))
    one, lanes = aligned(np.zeros(400)), aligned(np.zeros(400))
    impedance_one(r, np.array(solimp), one)
    impedance_lanes(r, np.array(solimp), lanes)
    assert np.array_equal(one, lanes)


@pytest.mark.parametrize("elliptic", [False, True], ids=["pyramid", "elliptic"])
def test_rows_equal_mujoco(elliptic):
    mujoco = pytest.importorskip("mujoco", reason="its rows are what is compared with")
    from mujoco_rows import with_options

    model = with_options(mujoco.MjModel.from_xml_string(EVERY_ROW), elliptic=elliptic)
    data = mujoco.MjData(model)
    kind = mujoco.mjtConstraint
    seen = set()
    connect = model.eq_type == int(mujoco.mjtEq.mjEQ_CONNECT)
    # the arm starts a little off its anchor, at rest
    data.qpos[model.joint("a").qposadr] = 0.02
    for step in range(40):
        if step > 0:
            mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        contacts = {int(c.efc_address): c for c in data.contact if c.efc_address >= 0}
        contact = None
        for k in range(data.nefc):
            contact = contacts.get(k, contact)
            row = kind(data.efc_type[k])
            friction = row in (kind.mjCNSTR_FRICTION_DOF, kind.mjCNSTR_FRICTION_TENDON)
            in_contact = int(row) >= int(kind.mjCNSTR_CONTACT_FRICTIONLESS)
            solref, solimp = references(model, data, k, row, contact)
            r = 0.0 if friction else data.efc_pos[k] - data.efc_margin[k]
            out = np.zeros(3)
            least = 2.0 * model.opt.timestep
            lateral = row == kind.mjCNSTR_CONTACT_ELLIPTIC and k not in contacts
            if lateral:
                # friction rows have no residual of their own and share the impedance of their normal row
                continue
            size = r
            if row == kind.mjCNSTR_EQUALITY:
                together = (data.efc_type == int(row)) & (data.efc_id == data.efc_id[k])
                size = np.linalg.norm(data.efc_pos[together])
            soft_row(size, r, data.efc_vel[k], inverse_inertia(data)[k], solref, solimp, least, out)
            assert out[0] == pytest.approx(data.efc_KBIP[k, 2], rel=1e-13)
            # MuJoCo 4 adds the velocity product of anchors to their reference; it vanishes at rest
            anchored = row == kind.mjCNSTR_EQUALITY and connect[data.efc_id[k]]
            if step == 0 or not anchored:
                assert out[1] == pytest.approx(data.efc_aref[k], rel=1e-11, abs=1e-12)
            if row != kind.mjCNSTR_CONTACT_PYRAMIDAL:
                assert out[2] == pytest.approx(data.efc_R[k], rel=1e-12)
            if in_contact and k in contacts and contact.dim > 1:
                ratio, mu = model.opt.impratio, contact.friction
                extra = np.zeros(4)
                friction_regularizers(out[2], ratio, mu[0], mu[min(2, contact.dim - 2)], extra)
                if elliptic:
                    assert extra[0] == pytest.approx(data.efc_R[k + 1], rel=1e-12)
                    assert extra[1] == pytest.approx(data.efc_R[k + 1 + min(2, contact.dim - 2)], rel=1e-12)
                    assert extra[2] == pytest.approx(contact.mu, rel=1e-12)
                else:
                    # the recorded inverse inertia is already that of the shared R; take the edge's own
                    weight = model.body_invweight0[model.geom_bodyid[contact.geom], 0].sum()
                    edge = (1.0 - out[0]) / out[0] * weight * (1.0 + mu[0] ** 2)
                    friction_regularizers(edge, ratio, mu[0], mu[0], extra)
                    assert extra[3] == pytest.approx(data.efc_R[k], rel=1e-12)
            seen.add(row)
    assert len(seen) == 7


def inverse_inertia(data):
    """What MuJoCo takes for the inverse inertia of each row; renamed in version 4."""
    return data.efc_diagA if hasattr(data, "efc_diagA") else data.efc_diagApprox


def references(model, data, k, row, contact):
    """solref and solimp that belong to a row."""
    import mujoco

    kind = mujoco.mjtConstraint
    at = int(data.efc_id[k])
    if row == kind.mjCNSTR_EQUALITY:
        return model.eq_solref[at], model.eq_solimp[at]
    if row == kind.mjCNSTR_FRICTION_DOF:
        return model.dof_solref[at], model.dof_solimp[at]
    if row == kind.mjCNSTR_FRICTION_TENDON:
        return model.tendon_solref_fri[at], model.tendon_solimp_fri[at]
    if row == kind.mjCNSTR_LIMIT_JOINT:
        return model.jnt_solref[at], model.jnt_solimp[at]
    if row == kind.mjCNSTR_LIMIT_TENDON:
        return model.tendon_solref_lim[at], model.tendon_solimp_lim[at]
    return contact.solref, contact.solimp
