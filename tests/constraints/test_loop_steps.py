# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Single steps of closed mechanisms against dense NumPy: accelerations, RATTLE's impulse, both projections."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from closed_mechanisms import four_bars, joints_of, pendulum_of_four_bars
from worldline import model as wm
from worldline import simulation as sx

Family = sx.MultibodyIntegrationFamily
CLOSING = 10.0
"""Largest speed at which an open closure is closed [m/s]."""


def offset(place=(0.0, 0.0, 0.0)) -> np.ndarray:
    made = np.eye(4)
    made[:3, 3] = place
    return made


def matrix(pose: np.ndarray) -> np.ndarray:
    x, y, z, w = pose[3:]
    made = offset(pose[:3])
    made[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return made


class Mechanism:
    """Two closed mechanisms of spatial chains in a row, of unlike sizes, each pinned to the next by its tip.

    Pins of the larger one share a chain with their neighbours alone, so rows begin at different columns.
    """

    def __init__(self, seed: int, h: float, family: Family = Family.SEMI_IMPLICIT, apart: float = 0.0):
        rng = np.random.default_rng(seed)
        options = sx.MultibodyOptions(integration_family=family)
        gravity = (0.3, -0.2, -9.81) if apart == 0.0 else (0.0, 0.0, 0.0)
        self.world = sx.World(time_step=h, gravity=gravity, multibody_options=options)
        self.pins, pairs = [], []
        for name, lengths in (("small", (2, 2)), ("large", (2, 3, 4, 3))):
            robot = self.world.add_multibody(name)
            base, tips = robot.add_link("base"), []
            for side, length in enumerate(lengths):
                link = base
                for k in range(length):
                    spec = sx.JointSpec(
                        f"{side}{k}",
                        axis=rng.normal(size=3),
                        transform_to_parent=offset(rng.uniform(0.2, 0.5, 3) * (1, 1 - side, 1)),
                    )
                    link = robot.add_link(
                        f"{side}{k}",
                        link,
                        spec,
                        mass=float(rng.uniform(0.5, 2.0)),
                        inertia=rng.uniform(0.05, 0.09, 3),
                        center_of_mass=rng.uniform(-0.2, 0.2, 3),
                    )
                tips.append(link)
            pairs += itertools.pairwise(tips)
        q = rng.uniform(-0.5, 0.5, sum(len(r.joints) for r in self.world.multibodies))
        self.write(q, np.zeros(len(q)))
        for n, (a, b) in enumerate(pairs):
            at = rng.uniform(-0.3, 0.3, 3)
            there = (np.linalg.inv(b.transform) @ a.transform @ np.append(at, 1.0))[:3]
            there[1] += apart
            self.world.add_loop_closure(
                f"pin{n}",
                frame_a=a,
                frame_b=b,
                family=sx.LoopClosureFamily.POINT,
                offset_a=offset(at),
                offset_b=offset(there),
            )
            self.pins.append((a, b, at, there))
        self.write(q, np.zeros(len(q)))
        if apart == 0.0:
            J, M = self.jacobian(q), self.mass(q)
            v = rng.normal(size=len(q))
            self.write(q, v - self.across(M, J) @ v)

    @property
    def q(self) -> np.ndarray:
        return np.concatenate([r.joints.position for r in self.world.multibodies])

    @property
    def v(self) -> np.ndarray:
        return np.concatenate([r.joints.velocity for r in self.world.multibodies])

    def write(self, q: np.ndarray, v: np.ndarray) -> None:
        at = 0
        for robot in self.world.multibodies:
            n = len(robot.joints)
            robot.joints.position, robot.joints.velocity = q[at : at + n], v[at : at + n]
            at += n

    @property
    def model(self) -> wm.Model:
        return self.world._live().model

    def residual(self, q: np.ndarray) -> np.ndarray:
        """Differences of the pinned points, from forward kinematics."""
        poses, model, found = wm.forward_kinematics(self.model, q), self.model, []
        for a, b, at, there in self.pins:
            points = []
            for link, place in ((a, at), (b, there)):
                n = next(
                    k
                    for k, s in enumerate(model.body_label)
                    if s.endswith(f"{link.multibody.name}/{link.name}")
                )
                points.append((matrix(poses[n]) @ np.append(place, 1.0))[:3])
            found.append(points[0] - points[1])
        return np.concatenate(found)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """By differences of fourth order."""
        e, columns = 1e-3, []
        for k in range(len(q)):
            d = e * np.eye(len(q))[k]
            near = self.residual(q + d) - self.residual(q - d)
            far = self.residual(q + 2 * d) - self.residual(q - 2 * d)
            columns.append((8 * near - far) / (12 * e))
        return np.column_stack(columns)

    def mass(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(wm.mass_matrix(self.model, q))

    @staticmethod
    def across(M: np.ndarray, J: np.ndarray) -> np.ndarray:
        """M^-1 J^T (J M^-1 J^T)^-1 J, the projection onto directions across the loops."""
        lift = np.linalg.solve(M, J.T)
        return lift @ np.linalg.solve(J @ lift, J)

    def acceleration(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """M a = f + J^T lambda with J a = -J' v."""
        M, J, e = self.mass(q), self.jacobian(q), 1e-4
        turn = (self.jacobian(q + e * v) - self.jacobian(q - e * v)) @ v / (2 * e)
        free = wm.forward_dynamics(self.model, q, v, np.zeros(len(v)))
        lift = np.linalg.solve(M, J.T)
        return free - lift @ np.linalg.solve(J @ lift, J @ free + turn)


@pytest.mark.parametrize("has_forces_of_the_start", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_semi_implicit_step_is_that_of_dense_matrices(seed, has_forces_of_the_start):
    """RATTLE with forces at both ends, or with those of the start alone where a force element gives them."""
    h = 0.02
    made = Mechanism(seed, h)
    q, v = made.q, made.v
    if has_forces_of_the_start:
        made.world.add_force_element("none", lambda step: None)
    made.world.step()

    # w = v + h/2 a, or with half of the acceleration across the loops off
    a = made.acceleration(q, v)
    later = 0.5 * h * a
    if has_forces_of_the_start:
        later = made.across(made.mass(q), made.jacobian(q)) @ later
    assert np.abs(later).max() > 1e-3
    w = v + h * a - later
    there = q + h * w
    # q = there - M^-1 J^T lambda with g(q) = 0, M and J of `there`
    M, J, now = made.mass(there), made.jacobian(there), there
    lift = np.linalg.solve(M, J.T)
    assert np.abs(made.residual(there)).max() > 1e-6
    for _ in range(30):
        now = now - lift @ np.linalg.solve(J @ lift, made.residual(now))
    np.testing.assert_allclose(made.q, now, rtol=0, atol=1e-9)
    np.testing.assert_allclose(made.residual(made.q), 0.0, atol=1e-12)
    J_end = made.jacobian(now)

    def along(v: np.ndarray) -> np.ndarray:
        """v - M^-1 J^T mu with J(q) v = 0."""
        assert np.abs(J_end @ v).max() > 1e-3
        for _ in range(2):
            v = v - lift @ np.linalg.solve(J @ lift, J_end @ v)
        return v

    end = along(w)
    if not has_forces_of_the_start:
        # w + h/2 a'(q1, v1), v1 = w + h/2 a led along the loops
        v1 = along(w + later)
        end = along(v1 + 0.5 * h * wm.forward_dynamics(made.model, now, v1, np.zeros(len(v))) - later)
    np.testing.assert_allclose(made.v, end, rtol=0, atol=1e-8)


@pytest.mark.parametrize("family", [Family.SEMI_IMPLICIT, Family.VARIATIONAL])
@pytest.mark.parametrize("seed", range(2))
def test_an_open_mechanism_closes_at_a_bounded_speed_and_keeps_its_direction(seed, family):
    """Impulses of a variational step keep the residual of every row, and the projection alone closes it."""
    h, apart = 0.002, 0.05
    made = Mechanism(seed, h, family, apart)
    start = made.residual(made.q).reshape(-1, 3)
    np.testing.assert_allclose(np.linalg.norm(start, axis=1), apart, rtol=1e-12)
    for n in range(1, 4):
        made.world.step()
        share = max(1.0 - n * CLOSING * h / apart, 0.0)
        np.testing.assert_allclose(made.residual(made.q).reshape(-1, 3), share * start, rtol=0, atol=1e-12)
        np.testing.assert_allclose(made.v, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_a_variational_step_of_a_mechanism_is_symmetric(seed):
    """RATTLE with impulses at both ends is its own adjoint: back with the velocity turned round, where and as
    fast as it began. The step itself is second order: halved steps have a quarter of the error."""
    made = Mechanism(seed, 0.01, Family.VARIATIONAL)
    q, v = made.q, made.v
    made.world.step()
    there, speed = made.q, made.v
    assert np.abs(there - q).max() > 1e-3
    np.testing.assert_allclose(made.residual(there), 0.0, atol=1e-11)
    np.testing.assert_allclose(made.jacobian(there) @ speed, 0.0, atol=1e-9)
    made.write(there, -speed)
    made.world.step()
    np.testing.assert_allclose(made.q, q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(made.v, -v, rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", range(2))
def test_a_variational_step_of_a_mechanism_is_of_second_order(seed):
    """Against small classical Runge-Kutta steps of the dense equations."""
    made = Mechanism(seed, 0.01, Family.VARIATIONAL)
    q, v = made.q, made.v

    def exact(time: float, steps: int = 4) -> np.ndarray:
        x, y, h = q, v, time / steps
        for _ in range(steps):
            a1 = made.acceleration(x, y)
            a2 = made.acceleration(x + 0.5 * h * y, y + 0.5 * h * a1)
            a3 = made.acceleration(x + 0.5 * h * (y + 0.5 * h * a1), y + 0.5 * h * a2)
            a4 = made.acceleration(x + h * (y + 0.5 * h * a2), y + h * a3)
            x, y = x + h * y + h * h / 6 * (a1 + a2 + a3), y + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        return np.concatenate([x, y])

    errors = []
    for h in (0.01, 0.005):
        made.write(q, v)
        made.world.time_step = h
        made.world.step()
        errors.append(np.abs(np.concatenate([made.q, made.v]) - exact(h)).max())
    assert errors[0] < 2e-4 and errors[0] / errors[1] > 5.0


def test_a_variational_step_is_solved_with_its_momenta_or_not_at_all():
    """A four-bar is a pendulum. Its step is refused when one iteration is too few for the momenta. When it is so
    long that Newton's method leaves loops open, damped impulses and the projection at its end close them."""
    world = four_bars(1, 0.01, Family.VARIATIONAL)
    world.step()
    angle, rate = pendulum_of_four_bars(1, 0.01)
    joint = joints_of(world)["v0"]
    np.testing.assert_allclose([*joint.position, *joint.velocity], [-angle, -rate], rtol=0, atol=1e-5)
    tolerance = world.multibody_options.variational_tolerance
    assert 0.0 < world.compute_step_metrics().last_step_residual <= tolerance

    hasty, long = four_bars(1, 0.01, Family.VARIATIONAL), four_bars(1, 0.3, Family.VARIATIONAL)
    hasty.multibody_options = sx.MultibodyOptions(
        integration_family=Family.VARIATIONAL, variational_max_iterations=1
    )
    with pytest.raises(sx.StepFailure, match="not found"):
        hasty.step()
    assert hasty.compute_step_metrics().last_step_residual > tolerance
    assert all((joint.position == 0.0).all() for joint in joints_of(hasty).values())
    long.step()
    residual = long.loop_closures["pin1"].compute_residual()
    assert residual.converged and residual.norm < 1e-12
    assert long.compute_step_metrics().last_step_residual <= tolerance


def test_a_contradiction_leaves_a_mechanism_where_it_is():
    """A tip between two points that it shall both reach: no displacement brings it closer to both."""
    world = sx.World(time_step=0.001, gravity=(0, 0, 0))
    for name, x in (("first", 0.0), ("second", 5.0)):
        robot = world.add_multibody(name)
        base = robot.add_link("base", joint=sx.JointSpec(f"{name}_root", sx.JointType.FIXED))
        link = base
        for k in range(3):
            spec = sx.JointSpec(
                f"{name}{k}", axis=(0, 1, 0) if k else (0, 0, 1), transform_to_parent=offset((x, 0, 0))
            )
            link = robot.add_link(f"{k}", link, spec, mass=1.0, inertia=(0.1, 0.1, 0.1))
            x = 0.4
        robot.joints.position = (0.3, 0.5, 0.7)
        tip = (link.transform @ (0.4, 0.0, 0.0, 1.0))[:3]
        for n, way in enumerate((-0.01, 0.01)):
            world.add_loop_closure(
                f"{name}{n}",
                frame_a=link,
                frame_b=base,
                family=sx.LoopClosureFamily.POINT,
                offset_a=offset((0.4, 0.0, 0.0)),
                offset_b=np.linalg.inv(base.transform) @ offset(np.add(tip, (0.0, 0.0, way))),
            )
    before = np.concatenate([r.joints.position for r in world.multibodies])
    world.step(2)
    np.testing.assert_array_equal(np.concatenate([r.joints.position for r in world.multibodies]), before)
    assert len(world.step_report().unmet) == 4


@pytest.mark.parametrize("angle", [1.8, 2.5, 3.0])
def test_axes_that_start_at_more_than_a_right_angle_are_turned_along_their_meridian(angle):
    """A body on a ball joint whose z axis shall be that of the world: it turns about z x a, a = its axis."""
    world = sx.World(time_step=0.001, gravity=(0, 0, 0))
    robot = world.add_multibody("top")
    base = robot.add_link("base", joint=sx.JointSpec("root", sx.JointType.FIXED))
    body = robot.add_link(
        "body", base, sx.JointSpec("ball", sx.JointType.SPHERICAL), mass=1.0, inertia=(0.1, 0.1, 0.1)
    )
    about = np.array([0.6, 0.8, 0.0])
    robot.joints["ball"].position = angle * about
    world.add_loop_closure("axes", frame_a=body, frame_b=base, family=sx.LoopClosureFamily.AXIS)
    start = body.transform[:3, 2]
    # the residual is the sine of the angle, or 2 less that beyond a right angle
    size = 2.0 - np.sin(angle)
    while size > 0.0:
        world.step()
        size = max(size - CLOSING * 0.001, 0.0)
        turned = np.pi - np.arcsin(2.0 - size) if size > 1.0 else np.arcsin(size)
        axis = body.transform[:3, 2]
        assert np.arctan2(np.linalg.norm(axis[:2]), axis[2]) == pytest.approx(turned, abs=1e-6)
        if size > 0.0:
            assert abs(axis[0] * start[1] - axis[1] * start[0]) < 1e-9
