# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Options of the simulation and of the compiler."""

from __future__ import annotations

import enum
from enum import auto

from worldline._src.scene.base import Choice, Struct, field, optional, part, value
from worldline._src.scene.contact import ForceOverride
from worldline._src.scene.containers import ListOf, Nested, OptionalOf
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.kinds import COUNT, INTEGER, NON_NEGATIVE, POSITIVE, REAL, Integer
from worldline._src.scene.policies import SimulationPolicy
from worldline._src.scene.texts import Enumeration
from worldline._src.scene.variant import VariantOf
from worldline._src.scene.vectors import Numbers

_POSITIVE_COUNT = Integer(minimum=1)


class SolverType(SceneEnum):
    """The method that solves constraints; the first two are those of the file format."""

    PGS, PGSIMPR, Newton, CG, Dantzig, Lemke = auto(), auto(), auto(), auto(), auto(), auto()


class FrictionModel(enum.IntEnum):
    """Names for the numbers of `SimulateOption.friction_model`.

    `None_`: contacts have no friction. Cone: the friction force lies in a round cone, `|f| <= mu N`, the same
    in every direction. Pyramid: contacts of the impedance model take the pyramid of MJCF,
    `|f_1| + |f_2| <= mu N` along the tangents of the contact, so diagonal sliding has 1/sqrt(2) of the
    friction along a tangent; contacts of the other laws keep the cone.
    """

    None_ = 0
    Cone = 1
    Pyramid = 2


class IntegratorMethod(SceneEnum):
    """How positions and velocities advance; the first three are those of the file format."""

    Explicit, Implicit, ImplicitVelocity, SemiImplicit = auto(), auto(), auto(), auto()
    ImplicitFast, RungeKutta4, Variational = auto(), auto(), auto()


class ConvexStrategy(SceneEnum):
    """How the convex hull of a mesh is made."""

    QHull, QuickConvex = auto(), auto()


class ShapeFit(SceneEnum):
    """What a primitive is fitted to when it names a mesh."""

    Aabb, InertiaBox = auto(), auto()


class CoACDApxMode(SceneEnum):
    """What the parts of a convex decomposition are made of."""

    Box, Ch = auto(), auto()


class CoACDPreprocessMode(SceneEnum):
    """Whether a mesh is made watertight before its decomposition."""

    Auto, Off, On = auto(), auto(), auto()


class CoACDConfig(Struct):
    """Parameters of the approximate convex decomposition of meshes."""

    apx_mode: Choice[CoACDApxMode] = field(default=CoACDApxMode.Ch, doc="Hulls or boxes.")
    decimate: bool = field(default=False, doc="Bound the vertices of each part.")
    extrude: bool = field(default=False, doc="Extrude neighbours to overlap.")
    extrude_margin: float = value(NON_NEGATIVE, 0.01, "How far, m.")
    max_ch_vertex: int = value(Integer(minimum=4), 256, "Vertices of a part.")
    max_convex_hull: int = value(Integer(minimum=-1), 64, "Parts at most; -1 is no bound.")
    mcts_iteration: int = value(_POSITIVE_COUNT, 5, "Search iterations.")
    mcts_max_depth: int = value(_POSITIVE_COUNT, 1, "Search depth.")
    mcts_nodes: int = value(_POSITIVE_COUNT, 20, "Search nodes.")
    merge: bool = field(default=False, doc="Merge parts afterwards.")
    pca: bool = field(default=False, doc="Align to principal axes first.")
    prep_resolution: int = value(_POSITIVE_COUNT, 50, "Resolution of the repair.")
    preprocess_mode: Choice[CoACDPreprocessMode] = field(
        default=CoACDPreprocessMode.Auto, doc="Whether to repair first."
    )
    real_metric: bool = field(default=False, doc="Threshold in m, else relative.")
    sample_resolution: int = value(_POSITIVE_COUNT, 2000, "Samples for the distance of shapes.")
    seed: int = value(COUNT, 0, "Seed of the search.")
    threshold: float = value(POSITIVE, 0.5, "Concavity that is accepted.")


class InertiaSource(SceneEnum):
    """Where the mass properties of a link come from."""

    Auto, Geometry, Given = auto(), auto(), auto()


class CompileOptions(Struct):
    """What the compiler does on the way to a model; all but the first are Worldline's."""

    shape_fit: Choice[ShapeFit] = field(
        default=ShapeFit.InertiaBox, doc="What primitives that name a mesh are fitted to."
    )
    inertia_source: Choice[InertiaSource] = field(
        default=InertiaSource.Auto,
        doc="Auto takes what is given and computes the rest; Geometry takes what is given only where no geom "
        "has mass.",
    )
    inertia_groups: list[int] | None = field(
        default=None,
        converter=OptionalOf(ListOf(INTEGER, length=2)),
        doc="First and last visibility group of geoms that count toward inertia.",
    )
    balance_inertia: bool = field(default=False, doc="Replace impossible principal moments by their mean.")
    bound_mass: float = value(NON_NEGATIVE, 0.0, "Least mass, kg.")
    bound_inertia: float = value(NON_NEGATIVE, 0.0, "Least principal moment, kg m^2.")
    total_mass: float | None = optional(POSITIVE, "Scale all masses to this sum, kg.")
    fuse_static: bool = field(
        default=False,
        doc="Merge welded links that nothing refers to into their parents; their names are gone then.",
    )


class SimulateOption(Struct):
    """Options of the simulation; those after `timestep` are Worldline's."""

    coacd_strategy: CoACDConfig | None = optional(
        Nested(CoACDConfig), "Decompose collision meshes this way; None uses one hull each."
    )
    constraint_solver_iterations: int = value(COUNT, 100, "Iterations of the constraint solver at most.")
    constraint_solver_tolerance: float = value(NON_NEGATIVE, 0.001, "Residual at which the solver stops.")
    convex_strategy: Choice[ConvexStrategy] = field(
        default=ConvexStrategy.QuickConvex, doc="Who makes hulls; all make the same."
    )
    disable_actuators: bool = field(default=False, doc="No actuators.")
    disable_constraints: bool = field(default=False, doc="No constraints at all.")
    disable_contacts: bool = field(default=False, doc="No contacts.")
    disable_damping: bool = field(default=False, doc="No damping.")
    disable_equality: bool = field(default=False, doc="No equality constraints.")
    disable_frictionloss: bool = field(default=False, doc="No dry joint friction.")
    disable_gravity: bool = field(default=False, doc="No gravity.")
    disable_limit: bool = field(default=False, doc="No limits.")
    friction_model: int = value(
        Integer(minimum=0, maximum=2), 2, "Friction of contacts; see `FrictionModel`."
    )
    gravity: list[float] | None = field(
        default=None, converter=OptionalOf(Numbers(3)), doc="Gravity, m/s^2; None is (0, 0, -9.81)."
    )
    override_contact_force: ForceOverride | None = field(
        default=None, converter=OptionalOf(VariantOf(ForceOverride)), doc="For all contacts."
    )
    override_contact_margin: float | None = optional(REAL, "Distance at which all contacts act, m.")
    override_friction: list[float] | None = field(
        default=None,
        converter=OptionalOf(Numbers(minimum=0.0)),
        doc="For all contacts: sliding, spin, rolling.",
    )
    runtime_max_convex_hulls_per_mesh: int = value(
        _POSITIVE_COUNT, 64, "A mesh with more parts becomes one hull."
    )
    safty_damping_clamp: bool = field(
        default=True, doc="Clamp the damping of limits and contacts for stability."
    )
    solver_type: Choice[SolverType] = field(default=SolverType.PGS, doc="Constraint solver.")
    timestep: float = value(POSITIVE, 0.01, "Time step, s.")
    integrator: IntegratorMethod | None = field(
        default=None,
        converter=OptionalOf(Enumeration(IntegratorMethod)),
        doc="Integrator; None is semi-implicit.",
    )
    impedance_ratio: float = value(POSITIVE, 1.0, "Impedance of friction against that of the normal.")
    noslip_iterations: int = value(COUNT, 0, "Extra sweeps against slip.")
    noslip_tolerance: float = value(NON_NEGATIVE, 1.0e-6, "Their tolerance.")
    line_search_iterations: int = value(COUNT, 50, "Line search iterations of Newton and CG at most.")
    line_search_tolerance: float = value(NON_NEGATIVE, 0.01, "Tolerance of their line search.")
    collision_iterations: int = value(
        COUNT, 35, "Iterations of convex collision at most; kept for other engines, ours go on to rounding."
    )
    collision_tolerance: float = value(
        NON_NEGATIVE, 1.0e-6, "Tolerance of convex collision; kept for other engines, ours go on to rounding."
    )
    wind: list[float] = field(default=(0.0, 0.0, 0.0), converter=Numbers(3), doc="Wind, m/s.")
    density: float = value(NON_NEGATIVE, 0.0, "Of the fluid, kg/m^3.")
    viscosity: float = value(NON_NEGATIVE, 0.0, "Of the fluid, Pa s.")
    magnetic: list[float] = field(
        default=(0.0, -0.5, 0.0), converter=Numbers(3), doc="Magnetic field, world axes."
    )
    disabled_actuator_groups: list[int] = field(
        default_factory=list, converter=ListOf(INTEGER), doc="Groups of actuators switched off."
    )
    disable_springs: bool = field(default=False, doc="No joint or tendon springs.")
    disable_control_clamp: bool = field(default=False, doc="Ignore `ctrlrange`.")
    disable_warm_start: bool = field(
        default=False, doc="Solve from the motion without constraints, not from the last step."
    )
    disable_parent_filter: bool = field(default=False, doc="Let a link touch its parent.")
    disable_reference_safety: bool = field(default=False, doc="Let time constants go below two steps.")
    disable_implicit_damping: bool = field(
        default=False, doc="Damp explicitly in the semi-implicit integrator."
    )
    disable_sensors: bool = field(default=False, doc="Sensors read zero.")
    compute_energy: bool = field(default=False, doc="Energy in each step; a World computes it on request.")
    policy: SimulationPolicy = part(SimulationPolicy, "More choices.")


def made_by_code(option: SimulateOption) -> SimulateOption:
    """Options of what came from no file, given the defaults of the format; returns them.

    Friction is a cone, the same in all directions; and the solver goes on until momentum is kept to rounding.
    """
    option.friction_model = FrictionModel.Cone
    option.constraint_solver_tolerance = 1e-10
    return option
