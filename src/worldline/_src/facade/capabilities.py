# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The capability matrix: seven rows of features, supported ones and those named but not implemented.

`capabilities()` is the source of docs/capabilities.md and of the tests; unsupported requests are
rejected by the name of their row (`requirements.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from worldline._src.step.step_derivatives import REFUSED
from worldline._src.step.stepping import MultibodyIntegrationFamily, available_families

ROWS = (
    "integration family",
    "dynamics approach",
    "constraint solve",
    "coordinate support",
    "supported features",
    "execution shape",
    "differentiability",
)
"""The rows of the matrix, in order."""
INTEGRATION, DYNAMICS, CONSTRAINTS, COORDINATES, FEATURES, EXECUTION, DERIVATIVES = range(7)


@dataclass(frozen=True)
class Capability:
    """One row of the matrix: what is available, and what is named but not implemented.

    Attributes:
        row: name of the row.
        available: what a step of a World does.
        unavailable: what can be requested and is refused before the first step.
        note: what to know about it.
    """

    row: str
    available: tuple[str, ...]
    unavailable: tuple[str, ...]
    note: str = ""


def capabilities() -> tuple[Capability, ...]:
    """The seven rows of what this build can do.

    Example:
        >>> from worldline import simulation as sx
        >>> [row.row for row in sx.capabilities()][:2]
        ['integration family', 'dynamics approach']
    """
    from worldline._src.facade.features import feature_groups

    families, groups = available_families(), feature_groups()
    return (
        Capability(
            ROWS[INTEGRATION],
            tuple(family.value for family in families),
            tuple(family.value for family in MultibodyIntegrationFamily if family not in families),
            "chosen by MultibodyOptions.integration_family",
        ),
        Capability(
            ROWS[DYNAMICS],
            ("articulated-body method", "constrained dynamics"),
            ("XPBD",),
            "forward dynamics in O(n) for every tree; free rigid bodies are trees of one link",
        ),
        Capability(
            ROWS[CONSTRAINTS],
            ("newton", "sequential impulse", "boxed LCP"),
            ("barrier method",),
            "each island of contacts, limits and joint friction is solved apart, "
            "by default by Newton's method, and by sequential impulses where there are more than 22 "
            "free bodies with contacts that are not of the impedance model. A method that is requested "
            "solves islands of every kind; unless strict_solver_resolution is set, Newton's method gives way "
            "beyond 256 such bodies and pivoting beyond 240 rows; see resolved_configuration",
        ),
        Capability(
            ROWS[COORDINATES],
            ("generalized coordinates",),
            ("maximal coordinates", "mixed systems"),
            "poses and velocities of bodies are read from generalized coordinates",
        ),
        Capability(
            ROWS[FEATURES],
            (
                *(str(group) for group in groups if group.available),
                "several roots",
                "kinematic and static bodies",
                "springs, dampers, armature, effort and velocity limits",
                "gravity compensation",
                "position and velocity drives",
                "contacts of all shapes; planes are half spaces, meshes count by their hull",
                "contact pairs with parameters of their own",
                "joint couplers and mimic motors",
                "springs, dampers, dry friction and armature of world-owned hinges and slides",
                "points on a ground plane, in the variational family alone",
                "distance springs",
                "sleeping of islands at rest",
                "soft and hard limits of joints and tendons, margins of limits, joint and tendon friction",
                "joints frozen at values: reduced models",
                "fixed and spatial tendons with springs, dead bands and wrapping",
                "drag of a fluid on the boxes of inertia",
                "noise of sensors from a seed",
            ),
            (
                *(f"{group.name}: {', '.join(group.unavailable)}" for group in groups if group.unavailable),
                "mimic motors of world-owned joints",
                "drag and lift of single shapes in a fluid",
                "sensors with a period or a delay",
            ),
        ),
        Capability(
            ROWS[EXECUTION],
            (
                *("single world", "kinematics-only", "batch of one description"),
                *("batch of several descriptions", "rollout", "batch in single precision"),
            ),
            ("accelerator",),
            "batches through WorldBatch and MixedBatch, those in single precision through "
            "WorldBatch(dtype=float32), rollouts through state.rollout; PREFER_ACCELERATED falls back to the "
            "processor",
        ),
        Capability(
            ROWS[DERIVATIVES],
            (
                "analytic",
                "autodiff",
                "finite-difference checked",
                "complementarity-aware",
                "pre-contact-surrogate",
            ),
            tuple(REFUSED.values()),
            "of the state after a step of a World or of each world of a batch, on its active set: formulas "
            "where forces are local to joints, else dual numbers through all stages, with implicit "
            "differentiation of rows that Newton's method solved, with relaxed complementarity or with "
            "springs between shapes that do not touch on request; parameters by dual numbers, by "
            "differences where a parameter decides which stages there are. Refused in the step that has "
            "them: deep overlap of hard contacts, contacts of surfaces, and of cylinders, cones and "
            "ellipsoids with each other and with boxes, capsules and hulls",
        ),
    )


def markdown() -> str:
    """The matrix as a page of the documentation."""
    lines = [
        "# Capabilities",
        "",
        "The features of a World, and features that are named but not implemented. An unsupported request",
        "raises a `CapabilityError` that names the row before the first step; the World is unchanged.",
        "`world.resolved_configuration` lists each requested option, what runs instead, and why.",
        "",
        "Generated by `worldline capabilities --markdown` from the data of `simulation.capabilities()`.",
        "",
        "| Capability | Available | Not available | Note |",
        "|---|---|---|---|",
    ]
    for row in capabilities():
        cells = (", ".join(row.available) or "none", ", ".join(row.unavailable) or "none", row.note)
        lines.append(f"| {row.row} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
