# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps on the arrays of a State, one world or many.

Models of trees alone step several worlds in each instruction. All others step world by world through a
`Simulation` with its constraints, so that a step has the meaning, and the bits, of a step of a World.
"""

from __future__ import annotations

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, StepFailure, require_kind
from worldline._src.model.checks import positive_number
from worldline._src.model.compile import constant_views
from worldline._src.model.kinds import JointDrive
from worldline._src.model.model import Control, Model, State, takes_model
from worldline._src.spatial.poses import Array
from worldline._src.step import stepping
from worldline._src.step.divergence import DivergencePolicy
from worldline._src.step.evaluate import WITH_GRAVITY, evaluate, in_threads, is_count
from worldline._src.step.scene_semantics import require_available, semantics_of
from worldline._src.step.simulation import Simulation

_PORTION = 256
"""Steps of a program; a longer one would only be a longer list of addresses."""


@takes_model
def step(
    model: Model,
    state: State,
    control: Control | None = None,
    *,
    steps: int = 1,
    dt: float | None = None,
    integration_family: stepping.MultibodyIntegrationFamily | str | None = None,
    max_iterations: int | None = None,
    tolerance: float | None = None,
    threads: int = 1,
    lanes: int | None = None,
) -> None:
    """Advance the generalized coordinates of a state, one world or many, in place.

    A step does what a step of a World does: contacts, limits, friction, actuators, tendons and closures act,
    and what is left out of the arguments is what the scene of the model requests. Commands of `control` and
    the forces `state.body_f` are constant over all steps. `state.body_q` and `state.body_qd` are left alone:
    `eval_fk` when you want them. On error nothing changes. What a call cannot carry to the next is refused by
    name: sleeping islands, joints that break, joints driven by commanded accelerations.

    Args:
        model: the model.
        state: joint_q, joint_qd and actuator_activation are advanced, and joint_qdd, from which solvers of
            constraints start: that of a model of trees alone, which has none, stays as it is.
        control: forces, targets and controls of actuators; those of the model when None.
        steps: how many steps to make.
        dt: time step [s]; the model's own when None.
        integration_family: how to integrate; as the scene says when None, semi-implicit for a model that was
            built by code. See docs/integrators.md for which to choose.
        max_iterations: most iterations of a variational step, which fails when it needs more; as the scene
            says when None, 100 without a scene.
        tolerance: largest last correction of a velocity of a variational step, relative to the largest
            velocity or to one [m/s or rad/s]; as the scene says when None, 1e-10 without a scene. Other
            families refuse both.
        threads: processors to use for many worlds, 0 for all.
        lanes: worlds per instruction, for models of trees alone; chosen when None. `LaneSimulation` steps
            models with contact in lanes.

    Raises:
        StepFailure: a state is not finite or beyond the divergence limit; it names world, body and quantity.
        CapabilityError: the model requests what a step does not have.

    Example:
        >>> from worldline.model import ModelBuilder, step
        >>> builder = ModelBuilder()
        >>> ball = builder.add_body(mass=1.0, inertia=((0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)))
        >>> model = builder.finalize()
        >>> state = model.state()
        >>> step(model, state, steps=10, dt=0.01)
        >>> state.joint_qd.round(3).tolist()
        [0.0, 0.0, -0.981, 0.0, 0.0, 0.0]
    """
    require_kind(state, State, "state", "step")
    if control is not None:
        require_kind(control, Control, "control", "step")
    if not is_count(steps) or steps < 0:
        raise ArgumentError(f"steps must be a non-negative step count, got {steps!r}")
    h = positive_number(model.time_step if dt is None else dt, "dt")
    asked = semantics_of(model)
    family = (
        asked.family
        if integration_family is None
        else stepping.MultibodyIntegrationFamily.of(integration_family)
    )
    variational = stepping.VariationalOptions(
        asked.variational.max_iterations if max_iterations is None else max_iterations,
        asked.variational.tolerance if tolerance is None else tolerance,
    ).checked()
    if family is not stepping.MultibodyIntegrationFamily.VARIATIONAL:
        for name, value in (("max_iterations", max_iterations), ("tolerance", tolerance)):
            if value is not None:
                raise ArgumentError(
                    f"{name} is for the variational family, this is '{family.value}'; leave it out"
                )
    if asked.divergence is not DivergencePolicy.RAISE:
        raise CapabilityError(
            f"step has no divergence policy '{asked.divergence.value}', which the scene requests: it raises"
        )
    if steps == 0:
        return
    control = model.control() if control is None else control
    key = family, variational, h
    if model.has_constraints:
        _step_worlds(model, state, control, int(steps), key, threads, lanes)
    else:
        _step_trees(model, state, control, int(steps), key, threads, lanes)


Key = tuple[stepping.MultibodyIntegrationFamily, stepping.VariationalOptions, float]
"""What steps of a model are prepared for: family, its options, time step."""


# ---- trees alone


def _step_constants(model: Model, key: Key) -> np.ndarray | None:
    """A copy of the model's constants for steps of a family; None when the model's own will do."""
    family, variational, h = key
    if family not in stepping.IMPLICIT_FAMILIES and variational == stepping.VariationalOptions():
        return None
    arenas = model.arenas._replace(constant=model.arenas.constant.copy())
    stepping.adapt_constants(constant_views(arenas), family, h, variational)
    return arenas.constant


def _step_trees(
    model: Model, state: State, control: Control, steps: int, key: Key, threads: int, lanes: int | None
) -> None:
    """Forces on trees: all worlds at once, several in each instruction."""
    require_available(model)
    stepping.require_ground(model, key[0])
    if model.ground_points is not None and model.ground_points.cadence.any():
        raise CapabilityError(
            "step has no dual updates of ground contact points, since a State has no duals; use Simulation"
        )
    constants = _step_constants(model, key)
    nq = model.joint_coord_count
    targets = stepping.target_configuration(model, control.joint_target_pos)
    rows = np.concatenate([state.joint_q, state.joint_qd], axis=-1)
    controls = np.concatenate([targets, control.joint_target_vel, control.joint_f], axis=-1)
    plan, limit, left = stepping.model_plan(model), semantics_of(model).limit, steps
    while left:
        many = min(left, _PORTION)
        rows = evaluate(
            model,
            stepping.step_program(key[0], plan, many),
            (rows, controls, state.body_f, np.array([key[2]])),
            (rows.shape[-1],),
            threads=threads,
            lanes=lanes,
            args=WITH_GRAVITY,
            constant=constants,
        )
        bad = ~(np.isfinite(rows) & (np.abs(rows) <= limit)).all(axis=-1)
        if bad.any():
            world = None if rows.ndim == 1 else int(np.flatnonzero(bad)[0])
            _name_failure(model, state, control, steps, key, world)
        left -= many
    state.joint_q[...], state.joint_qd[...] = rows[..., :nq], rows[..., nq:]


def _name_failure(
    model: Model, state: State, control: Control, steps: int, key: Key, world: int | None
) -> None:
    """Repeat the steps of a world that diverged one by one, which raises where it happens."""
    sim = Simulation(model, key[2], key[0], key[1])
    row = _Rows(model, state, control, 1 if world is None else len(state.joint_q))
    try:
        row.advance(sim, 0 if world is None else world, steps)
    except StepFailure as failure:
        raise _placed(failure, world) from None
    raise AssertionError("a world that diverged in a batch steps on its own")


def _placed(failure: StepFailure, world: int | None) -> StepFailure:
    """The same failure with the index of its world."""
    outcome = "nothing was changed"
    return StepFailure(
        failure.body, failure.quantity, failure.frame, failure.value, world=world, outcome=outcome
    )


# ---- worlds with constraints


class _Rows:
    """State and commands of all worlds, a row each, and the results of a call."""

    def __init__(self, model: Model, state: State, control: Control, worlds: int) -> None:
        nv, nu = model.joint_dof_count, 0 if model.actuators is None else len(model.actuators)
        na = model.activation_count
        self.model = model
        self.q, self.v = _row(state.joint_q, worlds), _row(state.joint_qd, worlds)
        self.a = _row(state.joint_qdd, worlds, nv, "State.joint_qdd")
        self.activation = _row(state.actuator_activation, worlds, na, "State.actuator_activation")
        self.body_f = state.body_f.reshape(worlds, -1, 6)
        self.q_target = _row(stepping.target_configuration(model, control.joint_target_pos), worlds)
        self.v_target, self.force = _row(control.joint_target_vel, worlds), _row(control.joint_f, worlds)
        self.control = _row(control.actuator_control, worlds, nu, "Control.actuator_control")
        for name in ("q", "v", "a", "activation", "body_f", "q_target", "v_target", "force", "control"):
            if not np.isfinite(getattr(self, name)).all():
                rows = getattr(self, name).reshape(worlds, -1)
                world = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
                raise ArgumentError(f"{_NAMES.get(name, name)} must be finite; it is not in world {world}")

    def advance(self, sim: Simulation, w: int, steps: int) -> None:
        """Steps of world `w`; its row is the result afterwards."""
        constraints = sim.constraints
        sim.reset()
        sim.q[:], sim.v[:], sim.a[:] = self.q[w], self.v[w], self.a[w]
        sim.q_target[:], sim.v_target[:], sim.force[:] = self.q_target[w], self.v_target[w], self.force[w]
        sim.body_f[:] = self.body_f[w]
        if constraints is not None:
            sim.activation[:] = self.activation[w]
            sim.control[:] = self.control[w]
        sim.written()
        sim.forces_written()
        sim.take_steps(steps)
        self.q[w], self.v[w], self.a[w] = sim.q, sim.v, sim.a
        if constraints is not None:
            self.activation[w] = sim.activation


_NAMES = {"q": "joint_q", "v": "joint_qd", "a": "joint_qdd"}


def _row(numbers: Array, worlds: int, count: int | None = None, name: str = "") -> Array:
    """A copy with a row a world; an array without numbers stands for zeros where `count` are wanted."""
    if count is None:
        return np.array(np.broadcast_to(numbers, (worlds, numbers.shape[-1])))
    if numbers.size == 0:
        return np.zeros((worlds, count))
    if numbers.shape not in ((count,), (worlds, count)):
        raise ArgumentError(f"{name} must have shape ({count},) or ({worlds}, {count}), got {numbers.shape}")
    return np.array(np.broadcast_to(numbers, (worlds, count)))


def _require_stateless(model: Model, sim: Simulation) -> None:
    """Refuse what a step remembers and a State does not have."""
    found = []
    if model.joint_drive is not None and (model.joint_drive == JointDrive.ACCELERATION).any():
        found.append("joints driven by commanded accelerations")
    if sim.constraints is not None:
        if sim.constraints.sleeps:
            found.append("sleeping islands (policy.deactivation)")
        breaking = [e.label for e in sim.constraints.equalities if np.isfinite(e.breaks).any()]
        found += [f"the breaking joint '{name}'" for name in breaking]
    if found:
        raise CapabilityError(f"step does not have {', '.join(found)}; use a World or a Simulation")


def _step_worlds(
    model: Model, state: State, control: Control, steps: int, key: Key, threads: int, lanes: int | None
) -> None:
    """Worlds one after the other, each through a Simulation."""
    if not (lanes is None or (is_count(lanes) and lanes == 1)):
        raise CapabilityError(
            f"step has lanes for models of trees alone, got lanes={lanes!r} for one with constraints; "
            "LaneSimulation has contact in lanes"
        )
    if not is_count(threads) or threads < 0:
        raise ArgumentError(f"threads must be a whole number, 0 for all processors, got {threads!r}")
    worlds = 1 if state.joint_q.ndim == 1 else len(state.joint_q)
    stock: list[Simulation] = model.scratch.setdefault(("step", *key), [])
    if not stock:
        made = Simulation(model, key[2], key[0], key[1])
        _require_stateless(model, made)
        # refuses what the family does not have
        _ = made.stages
        stock.append(made)
    rows = _Rows(model, state, control, worlds)
    failures: list[StepFailure] = []

    def chunk(low: int, high: int, _flags: int = 0) -> None:
        # those nobody uses wait in a list; taking from it and adding to it are atomic
        try:
            sim = stock.pop()
        except IndexError:
            sim = Simulation(model, key[2], key[0], key[1])
        sim.divergence_limit = semantics_of(model).limit
        for w in range(low, high):
            try:
                rows.advance(sim, w, steps)
            except StepFailure as failure:
                failures.append(_placed(failure, w if state.joint_q.ndim > 1 else None))
                break
        stock.append(sim)

    if threads == 1:
        chunk(0, worlds)
    else:
        in_threads(chunk, worlds, threads, 1, 0)
    if failures:
        raise min(failures, key=lambda failure: failure.world or 0)
    _write(state, rows)


def _write(state: State, rows: _Rows) -> None:
    """Put the results into the arrays that a state has."""
    results = [(rows.q, state.joint_q), (rows.v, state.joint_qd)]
    results += [(rows.a, state.joint_qdd), (rows.activation, state.actuator_activation)]
    for new, old in results:
        if old.size:
            old[...] = new.reshape(old.shape)
