# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What derivatives of a step run where the step runs a stage: `DERIVED`, beside the table of the step.

Derivatives repeat a step in plain numbers and run a selection of its stages in dual numbers. Both keep the
order of the step table; `DERIVED` says which stages take the place of one. A stage without an entry runs
itself. There are three forms:

    DUALS       the whole step in dual numbers; `dual_step.py`
    INVERSE     the inverse form, RNEA(q, v, a) - tau - J^T f = 0, in dual numbers; `column_step.py`
    LOCAL       formulas, and dual numbers for forces of joints and contacts alone; `analytic_step.py`
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from worldline._src.jit import Stage
from worldline._src.kernels.narrowphase.lanes import fixed_shape_poses
from worldline._src.named_tuple import NamedTuple
from worldline._src.step import analytic_row_stages as local_rows
from worldline._src.step import analytic_stages as local
from worldline._src.step import analytic_turn_stages as local_turns
from worldline._src.step import derivative_stages as inverse
from worldline._src.step import stages as trees
from worldline._src.step.fixed_stages import damp_fixed
from worldline._src.step.step_table import COLLISION, CONSTRAINT, LOG, MULTIBODY, USER

LINEAR, PLAIN_LINEAR = COLLISION + 1, COLLISION + 2
"""Sets of arenas of the stages of derivatives: a header, and the trees in dual or in plain numbers."""

Calls = tuple[tuple[Stage, int], ...]
"""Stages with the sets of arenas they run on."""


class Form(Enum):
    """Ways to differentiate a step."""

    DUALS, INVERSE, LOCAL = range(3)


class Part(Enum):
    """What a stage is part of in the form LOCAL."""

    REFUSED = "has no analytic derivatives"
    REPEATED = "runs in plain numbers alone"
    JOINTS = "forces of joints, in dual numbers"
    END = "activations at the end of a step, in dual numbers once forces of joints are known"
    CONTACTS = "contacts along displacements of bodies, in dual numbers"


class Derived(NamedTuple):
    """What derivatives run where the step runs a stage; None: the stage itself.

    Attributes:
        duals: in the form DUALS.
        inverse: in the form INVERSE; None: as in DUALS.
        part: what the stage is part of in the form LOCAL, and `local` what runs there.
        behind: after the stage in plain numbers, by form.
    """

    duals: Calls | None = None
    inverse: Calls | None = None
    part: Part = Part.REFUSED
    local: Calls | None = None
    behind: dict[Form, Calls] = {}  # noqa: RUF012


_SOLVED: Calls = ((inverse.linearize_accelerations, LINEAR),)
"""From residuals to accelerations, once all residuals are there."""
_COMPOSITES = (trees.composites, MULTIBODY)

DERIVED: dict[str, Derived] = {
    # without numbers to differentiate, or with results that derivatives find otherwise
    **dict.fromkeys(
        (
            *("guess_from_last", "begin_rows", "broad", "narrow_sort", "check_contacts", "find_islands"),
            *("check_islands", "equality_forces", "mass_of_trees", "keep_smooth", "solve_velocities"),
            "correct_positions",
        ),
        Derived((), part=Part.REPEATED),
    ),
    "narrow_surface": Derived(()),
    # motion and accelerations
    **dict.fromkeys(
        (
            *("positions", "link_velocities", "center_forces", "collision_poses"),
            *("anchor_poses", "tendon_lengths", "tendon_forces", "semi_implicit_euler", "count_step"),
        ),
        Derived(part=Part.REPEATED),
    ),
    **dict.fromkeys(("composites", "mass_matrix"), Derived(inverse=(), part=Part.REPEATED)),
    "accelerations": Derived(
        inverse=((inverse.residual_of_dynamics, MULTIBODY),),
        part=Part.REPEATED,
        behind={Form.INVERSE: (_COMPOSITES, (inverse.factor_mass, LINEAR)), Form.LOCAL: (_COMPOSITES,)},
    ),
    # forces of joints
    **dict.fromkeys(
        (
            *("drive_forces", "no_drive_forces", "actuator_forces"),
            *("spring_displacements", "add_passive_forces"),
        ),
        Derived(part=Part.JOINTS),
    ),
    "advance_activations": Derived(part=Part.END),
    # contacts
    "shape_poses": Derived(
        ((fixed_shape_poses, COLLISION),),
        part=Part.CONTACTS,
        local=((local_rows.displace_bodies, PLAIN_LINEAR), (fixed_shape_poses, COLLISION)),
    ),
    **dict.fromkeys(
        ("narrow_round", "narrow_flat", "narrow_ball", "narrow_convex"), Derived(part=Part.CONTACTS)
    ),
    # solution of rows, and implicit damping
    "solve_islands": Derived(
        ((inverse.differentiate_islands, CONSTRAINT),), inverse=_SOLVED, part=Part.REPEATED
    ),
    "damp_implicitly": Derived(
        (_COMPOSITES, (trees.mass_matrix, MULTIBODY), (damp_fixed, CONSTRAINT)),
        inverse=((inverse.damp_linearized, LINEAR),),
        part=Part.REPEATED,
    ),
}
"""By the names of stages of the step table."""

INSTEAD = {
    inverse.differentiate_islands: inverse.relax_islands,
    inverse.residual_of_dynamics: inverse.residual_of_forces,
}
"""Stages for relaxed contacts, and for columns that change forces alone, by those they take the place of."""
SETTLED: Calls = ((inverse.settle_islands, CONSTRAINT),)
"""After a solution in plain numbers, where contacts obey Coulomb's law: on to the solution to rounding."""
SETTLED_EVERYWHERE: Calls = ((inverse.settle_every_island, CONSTRAINT),)
"""The same for every law, for differences of steps."""

LOCAL_BEGIN: Calls = ((local.linearize_dynamics, PLAIN_LINEAR),)
LOCAL_JOINTS: Calls = ((local.linearize_joints, LINEAR),)
LOCAL_CONTACTS: Calls = ((local_rows.linearize_contacts, LINEAR),)
LOCAL_EQUALITIES: Calls = ((local_rows.linearize_equalities, LINEAR),)
LOCAL_TENDONS: Calls = ((local_rows.linearize_tendons, LINEAR),)
LOCAL_TURN_SEEDS: Calls = ((local_turns.seed_turns, LINEAR),)
LOCAL_TURNS: Calls = ((local_turns.linearize_turns, LINEAR),)
LOCAL_END: Calls = ((local.finish_linear, PLAIN_LINEAR),)
"""Stages of the form LOCAL between its parts: before joints, after joints, after contacts, for equalities,
for tendons, for orientations before and after joints run once more, at the end."""


class Selected(NamedTuple):
    """A stage of the step, what runs behind it in plain numbers, and what runs for it in dual numbers."""

    stage: Stage
    arenas: int
    behind: Calls
    calls: Calls
    part: Part


def calls_of(stage: Stage, arenas: int, form: Form) -> Calls:
    """What runs for a stage in a form."""
    entry = DERIVED.get(stage.name, Derived())
    calls = entry.duals
    if form is Form.INVERSE and entry.inverse is not None:
        calls = entry.inverse
    elif form is Form.LOCAL:
        calls = () if entry.part in (Part.REFUSED, Part.REPEATED) else entry.local
    return ((stage, arenas),) if calls is None else calls


def repeated_stages(schedule: Iterable[tuple[Stage, int]]) -> list[tuple[Stage, int]]:
    """The stages of a step that derivatives repeat: all but those of the user and of logs."""
    return [(stage, arenas) for stage, arenas in schedule if arenas not in (LOG, USER)]


def selection(schedule: Iterable[tuple[Stage, int]], form: Form) -> list[Selected]:
    """The stages of a step that derivatives repeat, in the order of the step, as a form runs them."""
    chosen = repeated_stages(schedule)
    has_rows = any(stage.name == "solve_islands" for stage, _ in chosen)
    found = []
    for stage, arenas in chosen:
        entry, calls = DERIVED.get(stage.name, Derived()), calls_of(stage, arenas, form)
        if form is Form.INVERSE and stage.name == "accelerations" and not has_rows:
            # without rows, accelerations follow from the residual at once
            calls += _SOLVED
        found.append(Selected(stage, arenas, entry.behind.get(form, ()), calls, entry.part))
    return found


def stages_in_duals() -> list[Stage]:
    """Stages of derivatives in dual numbers that are no stages of the step."""
    listed = [entry.inverse for entry in DERIVED.values() if entry.inverse]
    listed += [LOCAL_JOINTS, LOCAL_TURN_SEEDS, LOCAL_TURNS, LOCAL_EQUALITIES, LOCAL_TENDONS, LOCAL_CONTACTS]
    return [*(stage for calls in listed for stage, _ in calls), *INSTEAD.values()]
