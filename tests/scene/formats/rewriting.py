# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scenes that were written in a foreign format and read back: do they say the same, and move the same?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import worldline.model as wm
from worldline import msd
from worldline._src.scene.base import Part, Struct, fields
from worldline._src.scene.mass_properties import NOTHING, given_properties
from worldline._src.scene.report import Report

ROUND_OFF = 1e-12
"""A rotation by way of three angles and back; measured 4e-16."""
MOTION = 1e-9


def rewrite(scene: msd.World, folder: Path, suffix: str) -> tuple[msd.World, Report, str]:
    """Write a scene and read the file back; the text comes too."""
    path = folder / f"scene{suffix}"
    report = scene.to_file(path)
    return msd.from_file(path, allow_outside=True), report, path.read_text()


def differences(a: Any, b: Any, path: str = "$") -> Iterator[str]:
    """Where two scenes differ by more than round-off.

    Quaternions count up to their sign, mass properties by what they mean, couplers in any order, and files
    by where they are.
    """
    if isinstance(a, msd.Inertia):
        first, second = given_properties(a, NOTHING), given_properties(b, NOTHING)
        for name, one, other in zip(("mass", "com", "inertia"), first, second, strict=True):
            yield from _numbers(one, other, f"{path}.{name}")
    elif isinstance(a, Struct):
        for name, known in fields(a).items():
            if known.compared:
                yield from differences(getattr(a, name), getattr(b, name), f"{path}.{name}")
    elif isinstance(a, Part):
        if type(a) is not type(b) or a.variant != b.variant:
            yield path
        elif "path" in (a.variant, *(a.value if isinstance(a.value, dict) else ())):
            yield from _files(a.value, b.value, path)
        else:
            yield from differences(a.value, b.value, path)
    elif a is None or b is None or isinstance(a, str | bool):
        if a is not b and a != b:
            yield f"{path}: {a!r} is not {b!r}"
    elif isinstance(a, dict):
        if a.keys() != b.keys():
            yield f"{path}: {sorted(a)} is not {sorted(b)}"
        else:
            for key in a:
                yield from differences(a[key], b[key], f"{path}[{key!r}]")
    elif isinstance(a, list) and a and isinstance(a[0], Part | list):
        if len(a) != len(b):
            yield f"{path}: {len(a)} entries are not {len(b)}"
            return
        if isinstance(a[0], msd.JointCoupler):
            a, b = (sorted(entries, key=lambda entry: entry.name) for entries in (a, b))
        for index, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    else:
        yield from _numbers(a, b, path)


def _files(a: dict[str, Any], b: dict[str, Any], path: str) -> Iterator[str]:
    for key, value in a.items():
        if key == "path":
            if os.path.basename(value) != os.path.basename(b[key]):
                yield f"{path}.path"
        else:
            yield from differences(value, b[key], f"{path}.{key}")


def _numbers(a: Any, b: Any, path: str) -> Iterator[str]:
    try:
        first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    except (TypeError, ValueError):
        if a != b:
            yield f"{path}: {a!r} is not {b!r}"
        return
    same = first.shape == second.shape and (
        np.allclose(first, second, rtol=ROUND_OFF, atol=ROUND_OFF)
        or (
            (
                "rotation" in path.rsplit(".", maxsplit=1)[-1]
                or "orientation" in path.rsplit(".", maxsplit=1)[-1]
            )
            and np.allclose(first, -second, rtol=ROUND_OFF, atol=ROUND_OFF)
        )
    )
    if not same:
        yield f"{path}: {a!r} is not {b!r}"


def _joints(model: wm.Model, plain: Callable[[str], str]) -> dict[str, int]:
    """Joints that move, by name, and by the name of the body they move."""
    moving = [j for j in range(model.joint_count) if model.joint_qd_start[j + 1] > model.joint_qd_start[j]]
    found = {f"> {plain(model.body_label[model.joint_child[j]])}": j for j in moving}
    return found | {plain(model.joint_label[j]): j for j in moving}


def assert_same_motion(
    first: msd.World,
    second: msd.World,
    *,
    plain: Callable[[str], str] = lambda name: name,
    states: int = 3,
) -> None:
    """Mass matrix, bias forces, gravity and the places of all masses at random states of two scenes."""
    a, b = msd.build(first), msd.build(second)
    assert a.joint_dof_count == b.joint_dof_count
    known = _joints(b, plain)
    rng = np.random.default_rng(5)
    q_a = wm.random_configuration(a, rng, worlds=states, within_limits=False)
    v_a = rng.normal(size=(states, a.joint_dof_count))
    q_b, v_b = np.zeros((states, b.joint_coord_count)), np.zeros_like(v_a)
    columns = np.zeros(a.joint_dof_count, int)
    for j in range(a.joint_count):
        q, v = (range(start[j], start[j + 1]) for start in (a.joint_q_start, a.joint_qd_start))
        name = plain(a.joint_label[j])
        # a joint of several freedoms may have become a chain
        parts = [known[f"{name}_{k + 1}"] for k in range(len(v)) if f"{name}_{k + 1}" in known]
        if len(v) and not (len(v) == len(parts) > 1):
            parts = [known[name] if name in known else known[f"> {plain(a.body_label[a.joint_child[j]])}"]]
        for start, there, rows in ((b.joint_q_start, q_b, q_a[:, q]), (b.joint_qd_start, v_b, v_a[:, v])):
            places = [i for k in parts for i in range(start[k], start[k + 1])]
            there[:, places] = rows
        columns[v] = places if len(v) else ()
    assert sorted(columns) == list(range(a.joint_dof_count))
    M_a, M_b = wm.mass_matrix(a, q_a), wm.mass_matrix(b, q_b)
    _close(M_a, M_b[:, columns][:, :, columns])
    _close(wm.bias_forces(a, q_a, v_a), wm.bias_forces(b, q_b, v_b)[:, columns])
    places = {plain(label): i for i, label in enumerate(b.body_label)}
    X_a, X_b = wm.forward_kinematics(a, q_a), wm.forward_kinematics(b, q_b)
    for i, label in enumerate(a.body_label):
        k = places.get(plain(label))
        if a.body_mass[i] == 0.0 and k is None:
            continue
        assert k is not None, label
        assert abs(a.body_mass[i] - b.body_mass[k]) <= ROUND_OFF * max(1.0, a.body_mass[i])
        for w in range(states):
            if a.body_mass[i] > 0.0:
                _close(_apply(X_a[w, i], a.body_com[i]), _apply(X_b[w, k], b.body_com[k]))
            _close(_turn(X_a[w, i]), _turn(X_b[w, k]))


def _turn(X: np.ndarray) -> np.ndarray:
    from worldline._src.scene.assets.rotations import rotation_matrix

    return rotation_matrix(X[3:])


def _apply(X: np.ndarray, point: np.ndarray) -> np.ndarray:
    return X[:3] + _turn(X) @ point


def _close(a: np.ndarray, b: np.ndarray) -> None:
    scale = max(1.0, float(np.abs(a).max(initial=0.0)))
    assert float(np.abs(a - b).max(initial=0.0)) < MOTION * scale


LOSSES = {
    "$.actuators[0]": "<actuator><motor name='m' joint='h'/></actuator>",
    "$.sensors.joint[0]": "<sensor><jointpos name='s' joint='h'/></sensor>",
    "$.tendon_set.joint_tendons[0]": "<tendon><fixed name='t'><joint joint='h' coef='1'/></fixed></tendon>",
    "$.equality_constraint_set.connects[0]": "<equality><connect body1='b' anchor='0 0 0'/></equality>",
    "$.keyframes[0]": "<keyframe><key qpos='0.1'/></keyframe>",
    "$.custom.numeric['n']": "<custom><numeric name='n' data='1 2'/></custom>",
    "$.contact_pairs[0]": "<contact><pair geom1='g' geom2='f'/></contact>",
    "$.collision_ignores.link_pairs[0]": "<contact><exclude body1='b' body2='world'/></contact>",
}
"""Parts of MJCF that neither URDF nor SDF can say, by their path in a scene."""
