# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Options of the compiler and of the simulation, its flags, and data of the user."""

from __future__ import annotations

from typing import Final

from worldline._src.scene import options as o
from worldline._src.scene.formats.markup import child, numbers
from worldline._src.scene.formats.mjcf.options import DISABLED, INTEGRATORS, SOLVERS
from worldline._src.scene.formats.mjcf.solver import SOLIMP, SOLREF
from worldline._src.scene.formats.mjcf.write_softness import profile, time_constants
from worldline._src.scene.formats.mjcf.writing import Words, Writing

_INERTIA: Final = {o.InertiaSource.Geometry: "true", o.InertiaSource.Given: "false"}
_GROUPS: Final = [0, 5]
_ALL_GROUPS: Final = [0, 7]
_INTEGRATORS: Final = {member: word for word, member in INTEGRATORS.items() if word != "discrete"}
_SOLVERS: Final = {member: word for word, member in SOLVERS.items()}
_FRICTION: Final = (1.0, 1.0, 0.005, 0.0001, 0.0001)
_SPIN: Final = 0.1
"""The `free_spin_turn` that files are read with."""
_SAID: Final = frozenset(
    (
        *(
            "timestep",
            "integrator",
            "solver_type",
            "friction_model",
            "gravity",
            "wind",
            "magnetic",
            "density",
        ),
        *("viscosity", "impedance_ratio", "constraint_solver_iterations", "constraint_solver_tolerance"),
        *("line_search_iterations", "line_search_tolerance", "noslip_iterations", "noslip_tolerance"),
        *("collision_iterations", "collision_tolerance", "disabled_actuator_groups", "compute_energy"),
        *("override_contact_force", "override_contact_margin", "override_friction", "policy"),
        *("safty_damping_clamp", *DISABLED.values()),
    )
)


def write_compiler(writing: Writing) -> None:
    """The `compiler` section: angles in radians, and what the compiler does about mass."""
    options = writing.world.compile_options
    words = Words(angle="radian")
    words.word("inertiafromgeom", options.inertia_source, _INERTIA, o.InertiaSource.Auto)
    groups = options.inertia_groups
    if groups is None:
        writing.reworded("$.compile_options.inertia_groups", "all groups are written as a range that has all")
        groups = _ALL_GROUPS
    words.reals("inertiagrouprange", groups, _GROUPS)
    words.flag("balanceinertia", options.balance_inertia, False)
    words.real("boundmass", options.bound_mass, 0.0)
    words.real("boundinertia", options.bound_inertia, 0.0)
    if options.total_mass is not None:
        words.real("settotalmass", options.total_mass)
    words.flag("fusestatic", options.fuse_static, False)
    if options.shape_fit is o.ShapeFit.Aabb:
        words["fitaabb"] = "true"
    section = writing.section("compiler")
    for name, text in words.items():
        section.set(name, text)


def write_options(writing: Writing) -> None:
    """The `option` section."""
    option = writing.world.simulate_option
    path = "$.simulate_option"
    words = Words()
    words.real("timestep", option.timestep, 0.002)
    _write_methods(writing, words, option, path)
    if option.gravity is None:
        writing.reworded(f"{path}.gravity", "the usual gravity is written by saying nothing")
    else:
        words.reals("gravity", option.gravity, (0.0, 0.0, -9.81))
    words.reals("wind", option.wind, (0.0, 0.0, 0.0))
    words.reals("magnetic", option.magnetic, (0.0, -0.5, 0.0))
    words.real("density", option.density, 0.0)
    words.real("viscosity", option.viscosity, 0.0)
    words.real("impratio", option.impedance_ratio, 1.0)
    writing.whole(
        words, "iterations", option.constraint_solver_iterations, 100, f"{path}.constraint_solver_iterations"
    )
    words.real("tolerance", option.constraint_solver_tolerance, 1e-8)
    writing.whole(words, "ls_iterations", option.line_search_iterations, 50, f"{path}.line_search_iterations")
    words.real("ls_tolerance", option.line_search_tolerance, 0.01)
    writing.whole(words, "noslip_iterations", option.noslip_iterations, 0, f"{path}.noslip_iterations")
    words.real("noslip_tolerance", option.noslip_tolerance, 1e-6)
    writing.whole(words, "ccd_iterations", option.collision_iterations, 35, f"{path}.collision_iterations")
    words.real("ccd_tolerance", option.collision_tolerance, 1e-6)
    _write_groups(writing, words, option, path)
    flags = _flags(option)
    _write_overrides(writing, words, flags, option, path)
    _write_policy(writing, words, flags, option, f"{path}.policy")
    if option.safty_damping_clamp:
        writing.changed(f"{path}.safty_damping_clamp", "dampers are used as they are given")
    writing.others(option, path, _SAID)
    if words or flags:
        section = writing.section("option")
        for name, text in words.items():
            section.set(name, text)
        if flags:
            child(section, "flag", flags)


def _write_methods(writing: Writing, words: Words, option: o.SimulateOption, path: str) -> None:
    method = option.integrator
    if method is None:
        writing.reworded(f"{path}.integrator", "the semi-implicit method is written by saying nothing")
    elif method not in _INTEGRATORS:
        near = o.IntegratorMethod.ImplicitFast if method is o.IntegratorMethod.Implicit else None
        writing.changed(
            f"{path}.integrator", f"{method.name} becomes {(near or o.IntegratorMethod.SemiImplicit).name}"
        )
        method = near
    words.word(
        "integrator", method or o.IntegratorMethod.SemiImplicit, _INTEGRATORS, o.IntegratorMethod.SemiImplicit
    )
    solver = option.solver_type
    if solver not in _SOLVERS:
        writing.changed(f"{path}.solver_type", f"{solver.name} becomes PGS")
        solver = o.SolverType.PGS
    words.word("solver", solver, _SOLVERS, o.SolverType.Newton)
    if option.friction_model == o.FrictionModel.Cone:
        words["cone"] = "elliptic"
    elif option.friction_model != o.FrictionModel.Pyramid:
        writing.changed(f"{path}.friction_model", "friction is a pyramid")


def _write_groups(writing: Writing, words: Words, option: o.SimulateOption, path: str) -> None:
    groups = [group for group in option.disabled_actuator_groups if 0 <= group <= 30]
    if groups != option.disabled_actuator_groups:
        writing.lost(f"{path}.disabled_actuator_groups", "groups are from 0 to 30")
    if groups:
        words["actuatorgroupdisable"] = " ".join(map(str, groups))


def _flags(option: o.SimulateOption) -> Words:
    flags = Words({flag: "disable" for flag, field in DISABLED.items() if getattr(option, field)})
    if option.compute_energy:
        flags["energy"] = "enable"
    return flags


def _write_overrides(
    writing: Writing, words: Words, flags: Words, option: o.SimulateOption, path: str
) -> None:
    """Parameters for all contacts; where one is given MuJoCo overrides them all."""
    force, margin, friction = (
        option.override_contact_force,
        option.override_contact_margin,
        option.override_friction,
    )
    if force is None and margin is None and friction is None:
        return
    flags["override"] = "enable"
    if force is None or margin is None or friction is None:
        writing.changed(
            path, "one parameter for all contacts makes the others override those of the geoms too"
        )
    if margin is not None:
        words.real("o_margin", margin)
    if friction is not None:
        if len(friction) == 5:
            words["o_friction"] = numbers(friction)
        else:
            writing.changed(f"{path}.override_friction", "it is written for five directions")
            slide, spin, roll = [*friction, *(1.0, 0.005, 0.0001)[len(friction) :]][:3]
            words["o_friction"] = numbers((slide, slide, spin, roll, roll))
    if force is None:
        return
    if force.variant != "impedance":
        writing.changed(f"{path}.override_contact_force", "contacts for all geoms have an impedance")
        return
    spring, impedance = force.value["spring"], force.value["impedance"]
    times = None if spring is None else time_constants(spring.k, spring.d)
    if times is None or impedance is None:
        writing.changed(f"{path}.override_contact_force", "what is not given is the format's default")
    words["o_solref"] = numbers(times or SOLREF)
    words["o_solimp"] = numbers(SOLIMP if impedance is None else profile(impedance))


def _write_policy(writing: Writing, words: Words, flags: Words, option: o.SimulateOption, path: str) -> None:
    policy = option.policy
    sleeping = policy.deactivation
    if sleeping.enabled:
        flags["sleep"] = "enable"
    speeds = {
        sleeping.linear_speed_threshold,
        sleeping.angular_speed_threshold,
        sleeping.generalized_speed_threshold,
    }
    if len(speeds) > 1:
        writing.changed(f"{path}.deactivation", "one speed decides who falls asleep")
    words.real("sleep_tolerance", sleeping.linear_speed_threshold, 1e-3)
    said = {"enabled", "linear_speed_threshold", "angular_speed_threshold", "generalized_speed_threshold"}
    writing.others(sleeping, f"{path}.deactivation", said)
    if policy.free_spin_turn != _SPIN:
        writing.changed(f"{path}.free_spin_turn", f"files are read with {_SPIN} rad")
    writing.others(policy, path, {"deactivation", "free_spin_turn"})


def write_custom(writing: Writing) -> None:
    """The `custom` section."""
    for name, values in writing.world.custom.numeric.items():
        if not values:
            writing.lost(f"$.custom.numeric[{name!r:.80}]", "a list of numbers has at least one")
            continue
        child(writing.section("custom"), "numeric", {"name": name, "data": numbers(values)})
    for name, text in writing.world.custom.text.items():
        if not text:
            writing.lost(f"$.custom.text[{name!r:.80}]", "a text has at least one character")
            continue
        child(writing.section("custom"), "text", {"name": name, "data": text})
