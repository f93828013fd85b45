# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What the stages of a step read and write, in the words that people use for it.

A stage that is not in the table tells it by its docstring, whose form is "what it reads -> what it writes".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from worldline._src.jit import Stage


class Note(NamedTuple):
    """Which part of a step a stage belongs to, and what it reads and writes."""

    domain: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def _note(domain: str, reads: str, writes: str) -> Note:
    return Note(domain, *(tuple(part.split(", ")) if part else () for part in (reads, writes)))


KINEMATICS, FORCES, DYNAMICS = "kinematics", "forces", "dynamics"
COLLISION, CONSTRAINTS, INTEGRATION = "collision", "constraints", "integration"

NOTES: dict[str, Note] = {
    "positions": _note(KINEMATICS, "q", "link poses"),
    "link_velocities": _note(KINEMATICS, "link poses, v", "link velocities"),
    "refresh_poses": _note(KINEMATICS, "q", "body poses"),
    "refresh_twists": _note(KINEMATICS, "link poses, link velocities", "body velocities"),
    "no_wrenches": _note(FORCES, "", "link forces"),
    "center_forces": _note(FORCES, "link poses, forces on bodies", "link forces"),
    "compensate_gravity": _note(FORCES, "link poses, link forces", "link forces"),
    "no_drive_forces": _note(FORCES, "", "tau"),
    "drive_forces": _note(FORCES, "q, v, commands", "tau"),
    "actuator_forces": _note(
        FORCES,
        "q, v, controls, activations, transmissions, gravity compensation of actuators, tau",
        "tau, activation rates",
    ),
    "relief_of_joints": _note(KINEMATICS, "link poses", "gravity compensation of actuators"),
    "advance_activations": _note(INTEGRATION, "activations, activation rates", "activations"),
    "spring_displacements": _note(FORCES, "q", "spring lengths"),
    "add_passive_forces": _note(FORCES, "spring lengths, v, tau", "tau"),
    "prescribed_speeds": _note(FORCES, "v, commands", "prescribed a"),
    "prescribe": _note(DYNAMICS, "link poses, link velocities, prescribed a", "link velocities"),
    "accelerations": _note(DYNAMICS, "link poses, link velocities, link forces, tau", "a"),
    "keep_prescribed": _note(DYNAMICS, "prescribed a, a", "a"),
    "guess_from_last": _note(CONSTRAINTS, "a", "solver guess"),
    "log_contacts": _note(COLLISION, "contacts, constraint forces", "contact events"),
    "begin_rows": _note(CONSTRAINTS, "", "rows"),
    "check_contacts": _note(COLLISION, "pairs, contacts", "room"),
    "find_islands": _note(CONSTRAINTS, "contacts, room", "islands"),
    "check_islands": _note(CONSTRAINTS, "islands", "room"),
    "solve_islands": _note(
        CONSTRAINTS,
        "islands, contacts, link poses, places, tendons, q, v, a, solver guess",
        "a, rows, mass matrix, constraint forces",
    ),
    "keep_smooth": _note(CONSTRAINTS, "a", "smooth a"),
    "solve_speeds": _note(
        CONSTRAINTS,
        "islands, contacts, link poses, places, tendons, q, v, a, smooth a, solver guess",
        "a, rows, mass matrix, constraint forces, way",
    ),
    "move_apart": _note(INTEGRATION, "q, way", "q"),
    "equality_forces": _note(CONSTRAINTS, "constraint forces", "equality forces"),
    "place_frames": _note(KINEMATICS, "link poses", "places"),
    "tendon_lengths": _note(KINEMATICS, "q, v, places", "tendons"),
    "tendon_forces": _note(FORCES, "tendons, tau", "tau"),
    "transmissions": _note(KINEMATICS, "q, places, tendons", "transmissions"),
    "spring_forces": _note(FORCES, "places, link velocities, link forces", "link forces"),
    "medium_forces": _note(FORCES, "link velocities, link forces", "link forces"),
    "place_bodies": _note(COLLISION, "link poses", "body poses"),
    "place": _note(COLLISION, "body poses", "shape poses, boxes"),
    "broad": _note(COLLISION, "boxes", "pairs"),
    "narrow_sort": _note(COLLISION, "pairs", "pairs by family, contacts"),
    "narrow_round": _note(COLLISION, "pairs by family, shape poses, contacts", "contacts"),
    "narrow_flat": _note(COLLISION, "pairs by family, shape poses, contacts", "contacts"),
    "narrow_ball": _note(COLLISION, "pairs by family, shape poses, contacts", "contacts"),
    "narrow_convex": _note(COLLISION, "pairs by family, shape poses, contacts", "contacts"),
    "narrow_surface": _note(COLLISION, "pairs by family, shape poses, contacts", "contacts"),
    "composites": _note(DYNAMICS, "link poses", "composite inertias"),
    "mass_matrix": _note(DYNAMICS, "link poses, composite inertias", "mass matrix"),
    "mass_of_trees": _note(DYNAMICS, "link poses, composite inertias", "mass matrix"),
    "damp_implicitly": _note(INTEGRATION, "mass matrix, v, a", "a"),
    "damp_velocities": _note(INTEGRATION, "mass matrix, v, a, tendons, transmissions", "a"),
    "hold_spin": _note(DYNAMICS, "link poses, v, a", "a, spin"),
    "semi_implicit_turn": _note(INTEGRATION, "link poses, spin, q, v, a", "q, v"),
    "semi_implicit_euler": _note(INTEGRATION, "q, v, a", "q, v"),
    "recover_limits": _note(INTEGRATION, "q", "q"),
    "runge_kutta_first": _note(INTEGRATION, "q, v, a", "q, v, sums"),
    "runge_kutta_second": _note(INTEGRATION, "a, sums", "q, v, sums"),
    "runge_kutta_third": _note(INTEGRATION, "a, sums", "q, v, sums"),
    "runge_kutta_last": _note(INTEGRATION, "a, sums", "q, v, a"),
    "variational_start": _note(INTEGRATION, "q, v, link poses, link velocities", "momenta, displacement"),
    "variational_solve": _note(INTEGRATION, "q, momenta, displacement, commands", "displacement, impulse"),
    "variational_finish": _note(INTEGRATION, "displacement, impulse, momenta", "q, v, momenta"),
    "variational_velocities": _note(INTEGRATION, "link poses, link velocities, momenta", "v"),
}


def note_of(stage: Stage, domain: str) -> Note:
    """The note of a stage; `domain` is where a stage that has none belongs."""
    known = NOTES.get(stage.name)
    if known is not None:
        return known
    reads, arrow, writes = summary(stage).partition("->")
    if not arrow:
        return Note(domain, (), ())
    return Note(domain, _words(reads), _words(writes))


def summary(stage: Stage) -> str:
    """The first line of what a stage says of itself."""
    return stage.doc.split("\n")[0].strip()


def _words(text: str) -> tuple[str, ...]:
    """Names before a colon or a semicolon, cut at commas."""
    text = re.split(r"[:;]", text.strip().rstrip("."))[0]
    return tuple(word.strip() for word in text.split(",") if word.strip())
