# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Options of the simulation, its flags, sizes, and data of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from worldline._src.scene.contact import ForceOverride
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.scopes import Scope
from worldline._src.scene.formats.mjcf.solver import SOLIMP, SOLREF, impedance, stiffness_damping
from worldline._src.scene.formats.xml import Attributes, Element, numbers, too_long
from worldline._src.scene.options import FrictionModel, IntegratorMethod, SimulateOption, SolverType
from worldline._src.scene.policies import SimulationPolicy

INTEGRATORS: Final = {
    "Euler": IntegratorMethod.SemiImplicit,
    "RK4": IntegratorMethod.RungeKutta4,
    "implicit": IntegratorMethod.ImplicitVelocity,
    "implicitfast": IntegratorMethod.ImplicitFast,
    "discrete": IntegratorMethod.Implicit,
}
SOLVERS: Final = {"PGS": SolverType.PGS, "CG": SolverType.CG, "Newton": SolverType.Newton}
_CONES: Final = {"pyramidal": FrictionModel.Pyramid, "elliptic": FrictionModel.Cone}
_REALS: Final = {
    "timestep": "timestep",
    "impratio": "impedance_ratio",
    "tolerance": "constraint_solver_tolerance",
    "ls_tolerance": "line_search_tolerance",
    "noslip_tolerance": "noslip_tolerance",
    "mpr_tolerance": "collision_tolerance",
    "ccd_tolerance": "collision_tolerance",
    "density": "density",
    "viscosity": "viscosity",
}
_COUNTS: Final = {
    "iterations": "constraint_solver_iterations",
    "ls_iterations": "line_search_iterations",
    "noslip_iterations": "noslip_iterations",
    "mpr_iterations": "collision_iterations",
    "ccd_iterations": "collision_iterations",
}
_VECTORS: Final = {"gravity": "gravity", "wind": "wind", "magnetic": "magnetic"}
DISABLED: Final = {
    "constraint": "disable_constraints",
    "equality": "disable_equality",
    "frictionloss": "disable_frictionloss",
    "limit": "disable_limit",
    "contact": "disable_contacts",
    "spring": "disable_springs",
    "damper": "disable_damping",
    "gravity": "disable_gravity",
    "clampctrl": "disable_control_clamp",
    "warmstart": "disable_warm_start",
    "filterparent": "disable_parent_filter",
    "actuation": "disable_actuators",
    "refsafe": "disable_reference_safety",
    "sensor": "disable_sensors",
    "eulerdamp": "disable_implicit_damping",
}
_OVERRIDE_FRICTION: Final = (1.0, 1.0, 0.005, 0.0001, 0.0001)
_MOST_NUMBERS: Final = 1_000_000
_SWITCH: Final = {"enable": True, "disable": False}
_SAME_RESULT: Final = frozenset(
    {"midphase", "nativeccd", "island", "autoreset", "fwdinv", "jacobian", "apirate"}
)
_IGNORED: Final = {
    "multiccd": "how many points two convex shapes touch in is up to the engine",
    "invdiscrete": "only for inverse dynamics of single steps",
    "diagexact": "how the diagonal of constraints is found is up to the engine",
    "speculative": "contacts ahead of time are not modelled",
    "ipc": "deformable objects are not modelled",
    "sdf_iterations": "signed distance fields are not modelled",
    "sdf_initpoints": "signed distance fields are not modelled",
}


def read_options(reading: Reading) -> None:
    """All `option` sections; later ones win, attribute by attribute."""
    option = SimulateOption(
        timestep=0.002,
        integrator=IntegratorMethod.SemiImplicit,
        solver_type=SolverType.Newton,
        friction_model=int(FrictionModel.Pyramid),
        constraint_solver_tolerance=1e-8,
        gravity=[0.0, 0.0, -9.81],
        # slower spin is integrated as the files were made for
        policy=SimulationPolicy(free_spin_turn=0.1),
        # dampers that are given as such are used as given
        safty_damping_clamp=False,
    )
    sections = reading.root.source.root.all("option")
    override = False
    for element in sections:
        a = Attributes(element, reading.log)
        _read_option(a, option)
        for child in element.all("flag"):
            flags = Attributes(child, reading.log)
            override = flags.choice("override", _SWITCH, override)
            _read_flags(reading, flags, option)
    for element in sections:
        a = Attributes(element, reading.log)
        _read_override(a, option, override)
        a.mark(
            *_REALS, *_COUNTS, *_VECTORS, "integrator", "solver", "cone", "collision", "actuatorgroupdisable"
        )
        a.mark("sleep_tolerance")
        _note(reading, a)
    if override:
        _fill_override(option)
    reading.world.simulate_option = option


def _fill_override(option: SimulateOption) -> None:
    """What the flag overrides where no number is given: everything, by the format's defaults."""
    if option.override_contact_margin is None:
        option.override_contact_margin = 0.0
    if option.override_friction is None:
        option.override_friction = list(_OVERRIDE_FRICTION)
    if option.override_contact_force is None:
        spring = stiffness_damping(SOLREF)
        assert spring is not None
        option.override_contact_force = ForceOverride.impedance(spring=spring[0], impedance=impedance(SOLIMP))


def _given(a: Attributes, fields: Mapping[str, str]) -> list[tuple[str, str]]:
    """Attributes of a table that an element has, with their fields."""
    return [(name, field) for name, field in fields.items() if name in a.element.attributes]


def _read_option(a: Attributes, option: SimulateOption) -> None:
    for name, field in _given(a, _REALS):
        value = a.real(name, getattr(option, field))
        if value < 0.0 or (name in ("timestep", "impratio") and value == 0.0):
            a.reject(name, f"given {value:g}; allowed: a number {'>' if value == 0.0 else '>='} 0")
        else:
            setattr(option, field, value)
    for name, field in _given(a, _COUNTS):
        count = a.integer(name, getattr(option, field))
        if count < 0:
            a.reject(name, f"given {count}; allowed: a number >= 0")
        else:
            setattr(option, field, count)
    for name, field in _given(a, _VECTORS):
        setattr(option, field, a.reals(name, 3, default=getattr(option, field)))
    option.integrator = a.choice("integrator", INTEGRATORS, option.integrator)
    if a.text("integrator") == "discrete":
        a.log.approximated(a.element, "attribute 'integrator': discrete becomes implicit")
    elif a.text("integrator") == "implicit":
        a.log.approximated(a.element, "attribute 'integrator': velocity-product forces stay explicit")
    if a.choice("collision", {"all": False, "predefined": True, "dynamic": True}, False):
        a.log.left_out(a.element, "attribute 'collision': pairs are found both ways, as in newer files")
    option.solver_type = a.choice("solver", SOLVERS, option.solver_type)
    option.friction_model = int(a.choice("cone", _CONES, option.friction_model))
    groups = a.reals("actuatorgroupdisable", 1, 31)
    if groups is not None:
        if all(group == int(group) and 0 <= group <= 30 for group in groups):
            option.disabled_actuator_groups = [int(group) for group in groups]
        else:
            a.reject("actuatorgroupdisable", "allowed: groups from 0 to 30")
    speed = a.real("sleep_tolerance", None)
    if speed is not None:
        sleeping = option.policy.deactivation
        sleeping.linear_speed_threshold = sleeping.angular_speed_threshold = max(0.0, speed)
        sleeping.generalized_speed_threshold = max(0.0, speed)


def _read_flags(reading: Reading, a: Attributes, option: SimulateOption) -> None:
    for name, field in DISABLED.items():
        if name not in a:
            continue
        setattr(option, field, not a.choice(name, _SWITCH, not getattr(option, field)))
    if not a.choice("passive", _SWITCH, True):
        # of older files
        option.disable_springs = option.disable_damping = True
    option.compute_energy = a.choice("energy", _SWITCH, option.compute_energy)
    if "sensornoise" in a:
        # of older files: noise of sensors that is not in the formats of today
        option.policy.sensor_noise_seed = 0 if a.choice("sensornoise", _SWITCH, False) else None
    sleeping = option.policy.deactivation
    sleeping.enabled = a.choice("sleep", _SWITCH, sleeping.enabled)
    if option.disable_springs and option.disable_damping:
        reading.log.approximated(a.element, "springs and dampers are off, but fluid and buoyancy stay on")
    _note(reading, a)


def _read_override(a: Attributes, option: SimulateOption, active: bool) -> None:
    """Contact parameters for the whole scene, which only count when their flag is set."""
    margin = a.real("o_margin", None)
    friction = a.reals("o_friction", 1, 5)
    solref, solimp = a.reals("o_solref", 1, 2), a.reals("o_solimp", 1, 5)
    if not active:
        if any(a.text(name) for name in ("o_margin", "o_friction", "o_solref", "o_solimp")):
            a.log.kept(a.element, "parameters for all contacts, which are switched off")
        return
    if margin is not None:
        option.override_contact_margin = margin
    if friction is not None:
        option.override_friction = [*friction, *_OVERRIDE_FRICTION[len(friction) :]]
    if solref is not None or solimp is not None:
        spring = stiffness_damping([*(solref or SOLREF), *SOLREF[len(solref or SOLREF) :]])
        profile = [*(solimp or SOLIMP), *SOLIMP[len(solimp or SOLIMP) :]]
        option.override_contact_force = ForceOverride.impedance(
            spring=spring[0] if spring else None, impedance=impedance(profile)
        )


def _note(reading: Reading, a: Attributes) -> None:
    """Notes what changes nothing, and what is not followed."""
    for name in _SAME_RESULT & a.element.attributes.keys():
        a.mark(name)
        reading.log.kept(a.element, f"attribute '{name}': how it is computed does not change what comes out")
    for name, reason in _IGNORED.items():
        # all these are off by default, but for several points of contact, which the engine makes anyway
        if a.element.get(name) == ("enable" if name == "multiccd" else "disable"):
            a.mark(name)
        elif a.element.get(name) is not None:
            a.mark(name)
            reading.log.left_out(a.element, f"attribute '{name}': {reason}")
    a.mark("override", "energy", "sleep")
    reading.finish(a)


def read_sizes(reading: Reading) -> None:
    """All `size` sections: memory is sized by the scene itself."""
    for element in reading.root.source.root.all("size"):
        if element.attributes:
            reading.log.kept(element, "memory is as large as the scene needs")


def read_custom(reading: Reading) -> None:
    """All `custom` sections, also those of attached models."""
    seen: set[tuple[int, str]] = set()
    for scope in reading.root.walk():
        key = (id(scope.source), scope.prefix)
        if key in seen or not scope.whole:
            continue
        seen.add(key)
        for element in scope.source.section("custom"):
            _read_custom(reading, element, scope)


def _read_custom(reading: Reading, element: Element, scope: Scope) -> None:
    a = Attributes(element, reading.log)
    if element.tag == "tuple":
        reading.log.left_out(element, "lists of objects have no place in a scene")
        return
    raw = a.required_text("name")
    if not raw:
        return
    name = reading.names.define(f"custom {element.tag}", scope.prefix + raw, element, scope)
    if name is None:
        return
    custom = reading.world.custom
    if element.tag == "text":
        custom.text[name] = a.text("data") or element.text
        return
    size = a.integer("size", None)
    if too_long(a.text("data") or "", _MOST_NUMBERS if size is None else max(size, 0)):
        a.reject("data", f"given {len(a.text('data') or '')} characters; allowed: up to 'size' numbers")
        return
    values = numbers(a.text("data") or "")
    if values is None or not len(values) <= (len(values) if size is None else size) <= _MOST_NUMBERS:
        a.reject("data", f"allowed: finite numbers, no more than 'size', which is up to {_MOST_NUMBERS}")
        return
    custom.numeric[name] = [*values.tolist(), *(0.0,) * ((size or 0) - len(values))]
