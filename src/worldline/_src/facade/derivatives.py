# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the last step of a World as matrices with names, and their comparison with differences.

State is that of `World.state_space()`, its derivatives are tangents of it (`state.difference`); controls are
those of `World.control_space()`. Where numbers come from stands in `step/step_derivatives.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import OperationError
from worldline._src.facade import parameter_derivatives, physical_parameters, state_vectors, values
from worldline._src.facade.kinds import ContactGradientMode
from worldline._src.facade.phantom_contacts import phantom_terms
from worldline._src.facade.physical_parameters import Numbers, numbered, numbers_of
from worldline._src.facade.values import VectorLike
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step.analytic_step import SOURCES
from worldline._src.step.step_derivatives import Outcome, Seeds, Sensitivities, StepTangent

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.state_space import StateSpace
    from worldline._src.facade.world_runtime import WorldRuntime

_KINK = 5e-7
"""Difference of one-sided and central differences, relative to the column, beyond which there is a kink."""


class Provenance(Enum):
    """Where a number of a derivative comes from."""

    ANALYTIC = "analytic"
    """A formula: derivatives of inverse dynamics, implicit differentiation of the solved rows.

    Parts of a matrix that come from elsewhere have a name of their own.
    """
    SMOOTHED = "smoothed"
    """A formula for rows with relaxed complementarity, `ContactGradientMode.COMPLEMENTARITY_AWARE`."""
    SURROGATE = "surrogate"
    """Derivatives of contacts that have not closed, `ContactGradientMode.PRE_CONTACT_SURROGATE`."""
    DUAL = "dual"
    """Dual numbers through the stages of the step: exact to rounding."""
    FINITE_DIFFERENCE = "finite difference"
    """Central differences of steps."""
    UNSUPPORTED = "unsupported"
    """Not known; such numbers are not returned."""


class StepGradient(NamedTuple):
    """The gradient of a loss by what a step began with; see `World.apply_step_vjp`."""

    state: Array
    """By the state, on its tangent, (tangent dimension,)."""
    control: Array
    """By the controls, (control dimension,)."""
    parameter: Array
    """By the parameters of `add_differentiable_parameter`, (their numbers,)."""


@dataclass(frozen=True)
class StepDerivatives:
    """Derivatives of the state after a step; see `World.get_step_derivatives`.

    Attributes:
        state_jacobian: by the state before it, (n, n) with n the dimension of the tangent.
        control_jacobian: by the controls, (n, control dimension).
        parameter_jacobian: by the parameters of `add_differentiable_parameter`, (n, their numbers).
        state_names: of rows, and of the columns of `state_jacobian`.
        control_names, parameter_names: of the columns of the others.
        provenance: where each part comes from.
    """

    state_jacobian: Array
    control_jacobian: Array
    parameter_jacobian: Array
    state_names: tuple[str, ...]
    control_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    provenance: Mapping[str, Provenance] = field(default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        n, m, p = len(self.state_names), len(self.control_names), len(self.parameter_names)
        return f"StepDerivatives({n} tangents by {n} tangents, {m} controls, {p} parameters)"


class DerivativeCheck(NamedTuple):
    """Derivatives of a step beside central differences; see `World.check_derivatives`."""

    largest_error: float
    """Largest difference of an entry, over the largest entry of its column or one, whichever is more."""
    worst: tuple[str, str]
    """Row and column of it."""
    changed: tuple[str, ...]
    """Columns whose differences cross a change of the active set or another kink, which are left out."""
    errors: Mapping[str, float]
    """Largest error by column."""


class _Layout(NamedTuple):
    """Where tangents and controls of a World are among those of its model."""

    tangent: np.ndarray
    """Row of every number of the tangent: displacements, velocities, activations of the model."""
    state_names: tuple[str, ...]
    fields: dict[str, tuple[np.ndarray, np.ndarray]]
    """By field of `Seeds`: columns of controls, and the numbers of the model they are."""
    control_names: tuple[str, ...]
    controls: np.ndarray
    """What every control is: see `SOURCES`, and its number in the model, (n, 2); -1: without effect."""
    changes: np.ndarray
    """The same of the tangent, then of controls, with a column for each, (n, 3)."""
    change: np.ndarray
    """The same with all in the first column."""
    all_columns: Seeds
    """Directions of the Jacobians by state and controls."""


def require_tangent(world: WorldRuntime) -> StepTangent:
    """Derivatives of the last step; refuses a World that has none."""
    physical_parameters.require_differentiable(world)
    runtime = world._live()
    if runtime.tangent is None:
        raise OperationError("there is no last step to differentiate; step first")
    return runtime.tangent


def get_step_derivatives(world: WorldRuntime) -> StepDerivatives:
    """See `World.get_step_derivatives`."""
    tangent, layout = require_tangent(world), _layout(world)
    A, B = _jacobians(world, tangent, layout)
    parameters = [numbers_of(world, one) for one in world._parameters]
    P = parameter_derivatives.by_parameters(world, tangent, parameters)[layout.tangent]
    names = tuple(name for one in parameters for name in one.names)
    return StepDerivatives(
        A, B, P, layout.state_names, layout.control_names, names, _provenance(world, tangent, parameters)
    )


def apply_step_vjp(world: WorldRuntime, loss_gradient: VectorLike) -> StepGradient:
    """See `World.apply_step_vjp`."""
    tangent, layout = require_tangent(world), _layout(world)
    g = values.dof_vector(loss_gradient, len(layout.state_names), "d_loss_d_next_state")
    by_parameter = g @ parameter_jacobian(world) if world._parameters else np.zeros(0)
    mode = world.contact_gradient_mode
    if mode is ContactGradientMode.ANALYTIC:
        made = tangent.gradient(np.ascontiguousarray(g), layout.tangent, layout.controls)
        if made is not None:
            n = len(g)
            return StepGradient(made[:n], made[n:], by_parameter)
    A, B = _jacobians(world, tangent, layout)
    return StepGradient(g @ A, g @ B, by_parameter)


def apply_step_jvp(
    world: WorldRuntime, state: Array, control: Array | None, parameter: Array | None = None
) -> Array:
    """See `World.apply_step_jvp`."""
    if parameter is not None:
        p = values.dof_vector(parameter, physical_parameters.count(world), "parameter tangent")
        return apply_step_jvp(world, state, control) + parameter_jacobian(world) @ p
    tangent, layout = require_tangent(world), _layout(world)
    x = values.dof_vector(state, len(layout.state_names), "state tangent")
    u = np.zeros(len(layout.control_names))
    if control is not None:
        u = values.dof_vector(control, len(u), "control tangent")
    if world.contact_gradient_mode is ContactGradientMode.ANALYTIC:
        if tangent.is_stiff:
            A, B = _jacobians(world, tangent, layout)
            return A @ x + B @ u
        made = tangent.along(layout.change, np.concatenate([x, u]), 1, layout.tangent)
        if made is not None:
            return made[:, 0]
    return _columns(world, tangent, layout, _seeds(world, layout, x[None], u[None]))[:, 0]


def parameter_jacobian(world: WorldRuntime) -> Array:
    """Derivatives of the last step by the parameters of the World."""
    tangent, layout = require_tangent(world), _layout(world)
    parameters = [numbers_of(world, one) for one in world._parameters]
    return parameter_derivatives.by_parameters(world, tangent, parameters)[layout.tangent]


def jacobians(world: WorldRuntime) -> tuple[Array, Array]:
    """Derivatives of the last step by state and by controls."""
    return _jacobians(world, require_tangent(world), _layout(world))


def _jacobians(
    world: WorldRuntime, tangent: StepTangent, layout: _Layout, mode: ContactGradientMode | None = None
) -> tuple[Array, Array]:
    n, whole = len(layout.state_names), None
    if (mode or world.contact_gradient_mode) is ContactGradientMode.ANALYTIC:
        count = len(layout.changes)
        whole = tangent.along(layout.changes, np.ones(count), count, layout.tangent)
    if whole is None:
        whole = _columns(world, tangent, layout, layout.all_columns, mode)
    return whole[:, :n], whole[:, n:]


def _columns(
    world: WorldRuntime,
    tangent: StepTangent,
    layout: _Layout,
    seeds: Seeds,
    mode: ContactGradientMode | None = None,
) -> Array:
    """Derivatives along directions, (tangent dimension, directions)."""
    mode = mode or world.contact_gradient_mode
    if mode is ContactGradientMode.ANALYTIC:
        columns = tangent.columns(seeds, layout.tangent)
        if columns is not None:
            return columns
    relaxed = mode is ContactGradientMode.COMPLEMENTARITY_AWARE
    made = tangent.differentiate(seeds, relaxed)
    if mode is ContactGradientMode.PRE_CONTACT_SURROGATE:
        made = _with_phantoms(world, tangent, made)
    return made.rows[layout.tangent]


def _with_phantoms(world: WorldRuntime, tangent: StepTangent, made: Sensitivities) -> Sensitivities:
    """Add derivatives of contacts that have not closed at the end of the step."""
    terms = phantom_terms(world, tangent.replayed(Seeds()).q)
    if terms is None:
        return made
    made.velocity[:] += terms[0] @ made.displacement + terms[1] @ made.velocity
    return made


def _seeds(world: WorldRuntime, layout: _Layout, x: Array, u: Array) -> Seeds:
    model, sim = world._live().model, world._live().sim
    nv, na = model.joint_dof_count, len(sim.activation)
    whole = np.zeros((len(x), 2 * nv + na))
    whole[:, layout.tangent] = x
    seeds = {
        "displacement": whole[:, :nv],
        "velocity": whole[:, nv : 2 * nv],
        "activation": whole[:, 2 * nv :],
    }
    sizes = {"force": nv, "body_f": 6 * model.body_count}
    if sim.constraints is not None:
        sizes["control"] = len(sim.constraints.actuators)
    for name, (columns, rows) in layout.fields.items():
        count = sizes[name]
        seeds[name] = np.zeros((len(u), count))
        seeds[name][:, rows] = u[:, columns]
    return Seeds(**seeds)


def _layout(world: WorldRuntime) -> _Layout:
    """Where tangents and controls are; kept until a parameter or the topology changes."""
    runtime, tangent = world._live(), require_tangent(world)
    if tangent.layout is None or tangent.layout[0] != runtime.version:
        tangent.layout = runtime.version, new_layout(world, runtime)
    return tangent.layout[1]


def new_layout(world: WorldRuntime, runtime: Runtime) -> _Layout:
    """Where tangents and controls are."""
    model = runtime.model
    nv = model.joint_dof_count
    tangent: list[np.ndarray] = []
    names: list[str] = []
    states = state_vectors.own_space(world, control=False, rigid_only=False)
    activations = 2 * nv
    for variable in states.variables:
        owner, _, quantity = variable.name.rpartition(".")
        if quantity == "activation":
            rows = np.array([activations])
            activations += 1
        else:
            rows = _dofs(world, runtime, owner) + (0 if quantity in ("pose", "q") else nv)
        tangent.append(rows)
        names += numbered(variable.name, len(rows))
    controls = state_vectors.own_space(world, control=True, rigid_only=False)
    fields = _control_fields(world, runtime, controls)
    control_names = tuple(name for v in controls.variables for name in numbered(v.name, v.dimension))
    sources = np.full((len(control_names), 2), -1)
    for name, (columns, rows) in fields.items():
        sources[columns] = np.stack([np.full(len(rows), SOURCES[name]), rows], axis=1)
    layout = _Layout(
        np.concatenate([np.zeros(0, np.int64), *tangent]),
        tuple(names),
        fields,
        control_names,
        sources,
        np.zeros((0, 3), np.int64),
        np.zeros((0, 3), np.int64),
        Seeds(),
    )
    n, m = len(layout.state_names), len(layout.control_names)
    parts = np.array([SOURCES[name] for name in ("displacement", "velocity", "activation")])
    part = np.minimum(layout.tangent // max(nv, 1), 2)
    own = np.stack([parts[part], layout.tangent - part * nv], axis=1)
    what = np.concatenate([own, sources])
    each, first = np.arange(n + m)[:, None], np.zeros((n + m, 1), np.int64)
    layout = layout._replace(
        changes=np.concatenate([what, each], axis=1), change=np.concatenate([what, first], axis=1)
    )
    unit = np.eye(n + m)
    return layout._replace(all_columns=_seeds(world, layout, unit[:, :n], unit[:, n:]))


def _dofs(world: WorldRuntime, runtime: Runtime, owner: str) -> np.ndarray:
    """Degrees of freedom of a rigid body or of a multibody, in the order of its variables."""
    body = world._rigid_bodies.get(owner)
    if body is not None:
        assert body._body.free is not None, "rigid bodies move freely"
        slices = [runtime.v_slice(body._body.free)]
    else:
        slices = [runtime.v_slice(joint._joint) for joint in world._multibodies[owner]._joints.values()]
    return values.indices(slices)


def _control_fields(
    world: WorldRuntime, runtime: Runtime, controls: StateSpace
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"force": [], "body_f": [], "control": []}
    acting = [] if runtime.constraints is None else runtime.constraints.actuators.tolist()
    actuator = 0
    for variable in controls.variables:
        owner, _, quantity = variable.name.rpartition(".")
        columns = np.arange(variable.start_index, variable.start_index + variable.dimension)
        if quantity == "force":
            found["force"].append((columns, _dofs(world, runtime, owner)))
        elif quantity == "wrench":
            start = 6 * runtime.body(world._rigid_bodies[owner]._link)
            found["body_f"].append((columns, np.arange(start, start + 6)))
        else:
            if actuator in acting:
                found["control"].append((columns, np.array([acting.index(actuator)])))
            actuator += 1
    return {
        name: (np.concatenate([c for c, _ in parts]), np.concatenate([r for _, r in parts]))
        for name, parts in found.items()
        if parts
    }


def _provenance(
    world: WorldRuntime, tangent: StepTangent, parameters: list[Numbers]
) -> Mapping[str, Provenance]:
    constraints = world._live().constraints
    in_duals = parameter_derivatives.in_duals(world, tangent, parameters)
    mode = world.contact_gradient_mode
    smoothed = mode is ContactGradientMode.COMPLEMENTARITY_AWARE
    analytic = not smoothed and tangent.is_analytic
    of_steps = Provenance.ANALYTIC if analytic else Provenance.DUAL
    made = {
        "state_jacobian": of_steps,
        "control_jacobian": of_steps,
        "parameter_jacobian": Provenance.UNSUPPORTED,
    }
    if parameters:
        made["parameter_jacobian"] = Provenance.DUAL if all(in_duals) else Provenance.FINITE_DIFFERENCE
        if len(set(in_duals)) > 1:
            # which columns are not differences
            exact = [one for one, is_dual in zip(parameters, in_duals, strict=True) if is_dual]
            made |= {name: Provenance.DUAL for one in exact for name in one.names}
    if analytic:
        made["joint forces"] = Provenance.DUAL
    if mode is ContactGradientMode.PRE_CONTACT_SURROGATE:
        made["open contacts"] = Provenance.SURROGATE
    if constraints is not None and constraints.step_plan.tendons:
        made["tendon paths"] = Provenance.DUAL
    if constraints is not None and constraints.constrains:
        made["constraint solve"] = Provenance.SMOOTHED if smoothed else Provenance.ANALYTIC
        if constraints.collision is not None:
            made["contact geometry"] = Provenance.DUAL
        if constraints.step_plan.equalities:
            made["equality geometry"] = Provenance.DUAL
    return MappingProxyType(made)


# ---- comparison with differences


def check_derivatives(world: WorldRuntime, step: float) -> DerivativeCheck:
    """See `World.check_derivatives`."""
    tangent, layout = require_tangent(world), _layout(world)
    h = values.positive(step, "step")
    n, m = len(layout.state_names), len(layout.control_names)
    parameters = [numbers_of(world, one) for one in world._parameters]
    P = parameter_derivatives.by_parameters(world, tangent, parameters)[layout.tangent]
    A, B = _jacobians(world, tangent, layout, ContactGradientMode.ANALYTIC)
    exact, unchanged = np.concatenate([A, B, P], axis=1), tangent.replayed(Seeds())

    def around() -> Iterator[tuple[str, float, list[Outcome]]]:
        """Every column, with the step of its differences and steps from around the start."""
        for k, name in enumerate((*layout.state_names, *layout.control_names)):
            e = np.zeros((1, n + m))
            e[0, k] = h
            changes = (_seeds(world, layout, s * e[:, :n], s * e[:, n:]) for s in (-2.0, -1.0, 1.0, 2.0))
            yield name, h, [tangent.replayed(change) for change in changes]
        yield from parameter_derivatives.steps_around(world, tangent, parameters)

    errors: dict[str, float] = {}
    changed: list[str] = []
    largest, worst = 0.0, ("", "")
    for k, (name, size, ends) in enumerate(around()):
        column = parameter_derivatives.slope_of(size, ends, tangent.difference)[layout.tangent]
        scale = max(1.0, float(np.abs(column).max(initial=0.0)))
        # of second order, from one side: they disagree where a derivative jumps nearby
        bent, sides = False, ((1.0, *ends[-2:]), (-1.0, *ends[1::-1])) if len(ends) == 4 else ()
        for side, one, two in sides:
            moved = 4.0 * tangent.difference(unchanged, one) - tangent.difference(unchanged, two)
            off = side * moved[layout.tangent] / (2.0 * size) - column
            bent = bent or float(np.abs(off).max(initial=0.0)) > _KINK * scale
        if bent or any(end.active_set != unchanged.active_set for end in ends):
            changed.append(name)
            continue
        off = np.abs(column - exact[:, k]) / scale
        errors[name] = float(off.max(initial=0.0))
        if not errors[name] <= largest or not any(worst):
            largest, worst = errors[name], (layout.state_names[int(np.argmax(off))], name)
    return DerivativeCheck(largest, worst, tuple(changed), MappingProxyType(errors))
