# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Two models that MuJoCo compiled, one from a file and one from what Worldline wrote of it, side by side.

Every array of the two is compared. `EXPLAINED` lists those that may differ and why; nothing in it moves
anything.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick here")

TOLERANCE = 1e-9
EXPLAINED = {
    r"n\w+|\w*adr|names_map|signature|paths|names|\w+_pathadr": "sizes of memory, names of nothing, places of text",
    r"tex_\w+|mat_texid": "textures that a cube is wrapped in lie flat; the reader notes it",
    r"skin\w*": "skins are left out by the reader",
    r"\w+_user|userdata": "numbers of the user at single objects are left out by the reader",
    r"cam_mode|light_mode": "what follows a centre of mass follows a link; the reader notes it",
    r"cam_targetbodyid|light_targetbodyid": "follows from the mode",
    r"light_cutoff|light_exponent|light_softness": "a light that is no cone has no angle",
    r"actuator_ctrlspec": "what a control means to people",
    r"key_\w+": "memory for keyframes that the file does not have",
    r"(jnt|tendon|actuator)_(range|forcerange|ctrlrange|actrange|actfrcrange)": "compared where they limit",
    r"jnt_(margin|solref|solimp)": "compared where a joint can have limits",
    r"dof_sol(ref|imp)": "friction has a damping and a constant impedance; compared below",
    r"tendon_(width|rgba|matid)": "a sum of coordinates is not drawn",
    r"(tendon|eq|wrap)_\w+|exclude_\w+": "the order is that of the kinds; compared by name below",
}
SIZES = "nq nv nu na nbody njnt ngeom nsite ncam nlight nmesh nhfield nmat ntex npair nexclude neq ntendon nsensor"


def near(a: Any, b: Any) -> bool:
    a, b = np.asarray(a, float), np.asarray(b, float)
    scale = max(1e-300, float(abs(a[np.isfinite(a)]).max(initial=0.0)))
    return a.shape == b.shape and np.allclose(a, b, rtol=TOLERANCE, atol=1e-12 * scale)


def names(model: Any, kind: str, count: int) -> list[str | None]:
    return [mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), i) for i in range(count)]


def model_differences(a: Any, b: Any) -> list[str]:
    """Sizes, names and arrays in which two models differ."""
    found = [
        f"{k}: {getattr(a, k)} but {getattr(b, k)}" for k in SIZES.split() if getattr(a, k) != getattr(b, k)
    ]
    if found:
        return found
    kinds = {"BODY": a.nbody, "JOINT": a.njnt, "GEOM": a.ngeom, "SITE": a.nsite, "CAMERA": a.ncam}
    kinds |= {"LIGHT": a.nlight, "MESH": a.nmesh, "HFIELD": a.nhfield, "MATERIAL": a.nmat, "ACTUATOR": a.nu}
    for kind, count in kinds.items():
        if names(a, kind, count) != names(b, kind, count):
            found.append(f"names of {kind}")
    # a sensor without a name may have got one
    for mine, theirs in zip(names(a, "SENSOR", a.nsensor), names(b, "SENSOR", b.nsensor), strict=True):
        if mine is not None and mine != theirs:
            found.append(f"sensor {mine} is {theirs}")
    explained = re.compile("|".join(f"(?:{pattern})" for pattern in EXPLAINED))
    for key in dir(a):
        mine, theirs = getattr(a, key), getattr(b, key)
        if key.startswith("_") or explained.fullmatch(key) or not isinstance(mine, np.ndarray):
            continue
        if key.endswith("quat") and mine.ndim == 2:
            theirs = theirs * np.where(np.sum(mine * theirs, axis=1, keepdims=True) < 0.0, -1.0, 1.0)
        if not near(mine, theirs):
            found.append(f"{key}: {mine.ravel()[:8]} but {theirs.ravel()[:8]}")
    return found + _masked(a, b) + _by_name(a, b) + _options(a, b)


def _masked(a: Any, b: Any) -> list[str]:
    """What counts only where something else says so."""
    found = []
    masks = [("jnt_range", "jnt_limited"), ("jnt_actfrcrange", "jnt_actfrclimited")]
    masks += [
        ("actuator_ctrlrange", "actuator_ctrllimited"),
        ("actuator_forcerange", "actuator_forcelimited"),
    ]
    masks += [("actuator_actrange", "actuator_actlimited")]
    for field, mask in masks:
        mine, theirs = getattr(a, mask).astype(bool), getattr(b, mask).astype(bool)
        if (mine != theirs).any() or not near(getattr(a, field)[mine], getattr(b, field)[mine]):
            found.append(field)
    limited = a.jnt_limited.astype(bool)
    found += [
        f
        for f in ("jnt_margin", "jnt_solref", "jnt_solimp")
        if not near(getattr(a, f)[limited], getattr(b, f)[limited])
    ]
    rubbing = a.dof_frictionloss > 0.0
    damping = [[2.0 / t if t > 0.0 else -d for t, d in m.dof_solref[rubbing]] for m in (a, b)]
    if not near(*damping):
        found.append("damping of friction")
    if not near(a.dof_solimp[rubbing, :2], b.dof_solimp[rubbing, :2]):
        found.append("impedance of friction")
    real = [i for i, name in enumerate(names(a, "KEY", a.nkey)) if name is not None]
    if b.nkey:
        for field in ("key_qpos", "key_qvel", "key_act", "key_ctrl", "key_mpos", "key_mquat", "key_time"):
            if not near(getattr(a, field)[: b.nkey], getattr(b, field)):
                found.append(field)
    elif real:
        found.append("keyframes are missing")
    return found


def _by_name(a: Any, b: Any) -> list[str]:
    """Tendons and equalities, whose order may differ."""
    found = []
    fields = (
        "stiffness damping frictionloss lengthspring length0 solref_lim solimp_lim margin armature limited"
    )
    fields += " actfrclimited group num"
    places = _matched(names(a, "TENDON", a.ntendon), names(b, "TENDON", b.ntendon))
    for field in fields.split():
        if not near(getattr(a, f"tendon_{field}"), getattr(b, f"tendon_{field}")[places]):
            found.append(f"tendon_{field}")
    limited = a.tendon_limited.astype(bool)
    if not near(a.tendon_range[limited], b.tendon_range[places][limited]):
        found.append("tendon_range")
    rows = [np.column_stack((m.eq_type, m.eq_data, m.eq_solref, m.eq_solimp, m.eq_active0)) for m in (a, b)]
    if not near(*(r[np.lexsort(np.round(r, 9).T)] for r in rows)):
        found.append("equalities")
    if sorted(a.exclude_signature) != sorted(b.exclude_signature):
        found.append("excludes")
    return found


def _matched(mine: list[str | None], theirs: list[str | None]) -> list[int]:
    if None in mine:
        assert mine == theirs
        return list(range(len(mine)))
    return [theirs.index(name) for name in mine]


def _options(a: Any, b: Any) -> list[str]:
    skipped = ("jacobian", "sdf_initpoints", "sdf_iterations", "disableflags", "enableflags")
    # how something is computed is not up to the scene
    words = ("MIDPHASE", "NATIVECCD", "MULTICCD", "ISLAND")
    unread = sum(int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{word}")) for word in words)
    found = []
    if (a.opt.disableflags | unread, a.opt.enableflags) != (b.opt.disableflags | unread, b.opt.enableflags):
        found.append("flags of the options")
    return found + [
        f"option {key}: {getattr(a.opt, key)} but {getattr(b.opt, key)}"
        for key in dir(a.opt)
        if not key.startswith("_")
        and key not in skipped
        and not callable(getattr(a.opt, key))
        and not near(getattr(a.opt, key), getattr(b.opt, key))
    ]


def motion_differences(a: Any, b: Any, rng: np.random.Generator, count: int = 3) -> list[str]:
    """What differs in some random states: mass matrix, forces, poses, moments of actuators and tendons."""
    found = []
    for _ in range(count):
        speed, control = rng.normal(size=a.nv), rng.normal(size=a.nu)
        turn, active = rng.normal(size=a.nv), rng.uniform(0.0, 1.0, size=a.na)
        values = []
        for model in (a, b):
            data = mujoco.MjData(model)
            mujoco.mj_integratePos(model, data.qpos, turn, 1.0)
            data.qvel[:], data.ctrl[:], data.act[:] = speed, control, active
            mujoco.mj_forward(model, data)
            mass = np.zeros((model.nv, model.nv))
            mujoco.mj_fullM(model, data, mass)
            order = _matched(names(a, "TENDON", a.ntendon), names(model, "TENDON", model.ntendon))
            values.append(
                {
                    "mass matrix": mass,
                    "bias": data.qfrc_bias,
                    "passive": data.qfrc_passive,
                    "xpos": data.xpos,
                    "xmat": data.xmat,
                    "site_xpos": data.site_xpos,
                    "geom_xpos": data.geom_xpos,
                    "geom_xmat": data.geom_xmat,
                    "actuator force": data.actuator_force,
                    "generalized actuator force": data.qfrc_actuator,
                    "act_dot": data.act_dot,
                    "tendon length": data.ten_length[order],
                }
            )
        found += [key for key in values[0] if not near(values[0][key], values[1][key])]
    return found
