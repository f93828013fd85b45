# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Laws of rows against what they stand for: forces at the end of a step, time constants, MuJoCo's mixing."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from worldline._src.jit import entry
from worldline._src.kernels.constraints import laws
from worldline._src.kernels.constraints import tables as t

H, INVERSE = 0.004, 0.7
"""Step [s], and inverse inertia that the row sees [1/kg]."""


@entry
def answered(table, r, v, safe, out):
    made = laws.soft_row(laws.load_law(table, 0), r, v, INVERSE, H, safe)
    out[0], out[1], out[2], out[3] = made.aref, made.R, made.friction_damping, made.friction_R


@entry
def mixed(table, weight_a, weight_b, out):
    law = laws.mixed_law(laws.load_law(table, 0), laws.load_law(table, 1), weight_a, weight_b)
    for i in range(11):
        out[i] = law[i]


@entry
def weights(table, out):
    out[0], out[1] = laws.pair_weights(table, 0, 1)


def law(kind, k=0.0, d=0.0, d0=0.9, dmax=0.95, width=0.001, direct=0.0, e=0.0, erp=0.2):
    """A row of a column of laws."""
    row = np.zeros(11)
    row[[t.KIND, t.STIFFNESS, t.DAMPING, t.D0, t.DMAX, t.WIDTH]] = kind, k, d, d0, dmax, width
    row[[t.MIDDLE, t.POWER, t.DIRECT, t.BOUNCINESS, t.ERP]] = 0.5, 2.0, direct, e, erp
    return row


def soft_row(row, r, v, safe=True):
    out = np.zeros(4)
    answered(row[None], r, v, safe, out)
    return out


@pytest.mark.parametrize(("kind", "scale"), [(t.FORCE_SPRING, 1.0), (t.ACCELERATION_SPRING, 1.0 / INVERSE)])
@pytest.mark.parametrize(("k", "d"), [(300.0, 0.0), (0.0, 20.0), (4000.0, 25.0)])
def test_springs_are_taken_at_the_end_of_the_step(k, d, kind, scale):
    """The force of a row is (aref - J a) / R; it must be -k r' - d v' with the r' and v' that J a leads to."""
    for r, v in ((-0.01, 0.3), (-0.02, -1.5), (0.005, -0.4)):
        aref, R, friction_damping, friction_R = soft_row(law(kind, k, d), r, v)
        for a in (-40.0, 0.0, 12.0):
            end = v + H * a
            assert (aref - a) / R == pytest.approx(-scale * (k * (r + H * end) + d * end), rel=1e-11)
        # friction sticks as that of hard contact: rest within the step, next to no regularizer
        assert friction_damping == pytest.approx(1.0 / H, rel=1e-15)
        assert friction_R == pytest.approx(1e-7 * INVERSE, rel=1e-12)


@pytest.mark.parametrize(
    ("r", "v", "e", "wanted"),
    [
        (-0.01, -1.0, 0.0, 0.2 * 0.01 / H),  # a share of the error
        (-0.01, -1.0, 0.8, 0.8),  # or the bounce, where that is more
        (-0.01, -0.1, 0.8, 0.2 * 0.01 / H),
        (-0.01, 2.0, 0.8, 0.2 * 0.01 / H),  # what opens does not bounce
        (0.01, -4.0, 0.0, -0.01 / H),  # what is apart may just close
        (0.01, -4.0, 0.8, -0.01 / H),
    ],
)
def test_hard_rows_reach_a_velocity_within_the_step(r, v, e, wanted):
    aref, R, friction_damping, friction_R = soft_row(law(t.HARD, e=e), r, v)
    assert v + H * aref == pytest.approx(wanted, rel=1e-12)
    assert friction_damping == pytest.approx(1.0 / H, rel=1e-15)
    assert R == friction_R == pytest.approx(1e-7 * INVERSE, rel=1e-12)


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("time", [0.05, 0.02, 1.9 * H, 0.5 * H])
def test_impedance_is_that_of_a_time_constant_and_a_damping_ratio(time, safe):
    """MuJoCo's documentation: b = 2 / (dmax tau), k = 1 / (dmax^2 tau^2 zeta^2); tau at least two steps if safe."""
    zeta, dmax, r, v = 0.8, 0.95, -0.02, 0.3
    row = law(t.IMPEDANCE, 1.0 / (time * zeta) ** 2, 2.0 / time, d0=0.9, dmax=dmax)
    tau = max(time, 2.0 * H) if safe else time
    aref, R, friction_damping, friction_R = soft_row(row, r, v, safe)
    # far outside the width of 1 mm the impedance is dmax
    assert aref == pytest.approx(-2.0 / (dmax * tau) * v - dmax * r / (dmax * tau * zeta) ** 2, rel=1e-12)
    assert friction_damping == pytest.approx(2.0 / (dmax * tau), rel=1e-12)
    assert R == friction_R == pytest.approx((1.0 - dmax) / dmax * INVERSE, rel=1e-9)
    direct = soft_row(law(t.IMPEDANCE, 1.0 / (time * zeta) ** 2, 2.0 / time, direct=1.0), r, v, safe)
    assert direct[2] == pytest.approx(2.0 / (dmax * time), rel=1e-12)


# ---- two laws that meet

PAIR = """<mujoco><worldbody>
  <body><freejoint/><geom size=".1" solmix="{}" solref="{} {}" solimp="{} {} {} .5 2"/></body>
  <body pos=".15 0 0"><freejoint/><geom size=".1" solmix="{}" solref="{} {}" solimp="{} {} {} .5 2"/></body>
</worldbody></mujoco>"""


def by_mujoco(weight_a, a, weight_b, b):
    """solref and solimp of the contact of two spheres."""
    model = mujoco.MjModel.from_xml_string(PAIR.format(weight_a, *a, weight_b, *b))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return np.array(data.contact[0].solref), np.array(data.contact[0].solimp)


def impedance_row(solref0, solref1, d0, dmax, width):
    if solref0 > 0.0:
        return law(t.IMPEDANCE, 1.0 / (solref0 * solref1) ** 2, 2.0 / solref0, d0, dmax, width)
    return law(t.IMPEDANCE, -solref0, -solref1, d0, dmax, width, direct=1.0)


STANDARD = [(0.02, 1.0, 0.9, 0.95, 0.001), (0.05, 0.6, 0.7, 0.99, 0.004)]
DIRECT = [(-900.0, -30.0, 0.8, 0.9, 0.002), (-400.0, -80.0, 0.6, 0.97, 0.003)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        tuple(STANDARD),
        (STANDARD[1], STANDARD[0]),
        tuple(DIRECT),
        (DIRECT[0], STANDARD[1]),
        (STANDARD[0], DIRECT[1]),
    ],
)
@pytest.mark.parametrize(("weight_a", "weight_b"), [(1.0, 1.0), (3.0, 1.0), (0.0, 2.0)])
def test_two_laws_of_the_impedance_model_mix_as_in_mujoco(a, b, weight_a, weight_b):
    solref, solimp = by_mujoco(weight_a, a, weight_b, b)
    out = np.zeros(11)
    mixed(np.array([impedance_row(*a), impedance_row(*b)]), weight_a, weight_b, out)
    np.testing.assert_allclose(out, impedance_row(*solref, *solimp[:3]), rtol=1e-12)


def test_the_harder_kind_of_two_laws_counts():
    """Hard before force spring before acceleration spring before impedance, in either order."""
    kinds = sorted((t.HARD, t.FORCE_SPRING, t.ACCELERATION_SPRING, t.IMPEDANCE))
    assert kinds[0] == t.HARD
    for i, first in enumerate(kinds):
        for second in kinds[i + 1 :]:
            one, two = law(first, 100.0, 3.0, e=0.1), law(second, 700.0, 9.0, e=0.6)
            for pair in ((one, two), (two, one)):
                out = np.zeros(11)
                mixed(np.array(pair), 1.0, 5.0, out)
                assert out.tolist() == one.tolist()


def test_laws_of_one_kind_are_averaged_by_weight_and_bounce_as_the_bouncier():
    a, b = law(t.FORCE_SPRING, 100.0, 4.0, e=0.1, erp=0.2), law(t.FORCE_SPRING, 900.0, 8.0, e=0.6, erp=0.6)
    out = np.zeros(11)
    mixed(np.array([a, b]), 3.0, 1.0, out)
    assert out[[t.STIFFNESS, t.DAMPING]] == pytest.approx([300.0, 5.0], rel=1e-15)
    assert out[t.ERP] == pytest.approx(0.3, rel=1e-15) and out[t.BOUNCINESS] == 0.6
    mixed(np.array([b, a]), 3.0, 1.0, out)
    assert out[t.STIFFNESS] == pytest.approx(700.0) and out[t.BOUNCINESS] == 0.6
    # without weights both count alike
    mixed(np.array([a, b]), 0.0, 0.0, out)
    assert out[t.STIFFNESS] == pytest.approx(500.0)


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ((0.5, 3.0), (0.25, 7.0), (0.75, 10.0)),
        ((0.0, 3.0), (0.0, 7.0), (10.0, 10.0)),  # neither moves: turning is the scale there is
        ((0.5, 0.0), (0.25, 0.0), (0.75, 0.75)),  # neither turns
        ((0.0, 3.0), (0.25, 0.0), (0.25, 3.0)),  # the pair does both
        ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0)),
    ],
)
def test_inverse_inertias_of_a_pair_add(first, second, wanted):
    out = np.zeros(2)
    weights(np.array([first, second]), out)
    assert tuple(out) == wanted
