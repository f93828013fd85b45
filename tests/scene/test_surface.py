# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every class, field, member, case and function of the file format's public surface is there.

`data/msd_surface.json` lists them as data: for each field its type and its default, for each enumeration
its members, for each variant its cases with their parameters.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldline import msd
from worldline._src.scene.base import Struct
from worldline._src.scene.kinds import Kind
from worldline._src.scene.variant import Named, Pair, Variant

SURFACE: dict[str, Any] = json.loads((Path(__file__).parent.parent / "data" / "msd_surface.json").read_text())
FUNCTIONS = SURFACE.pop("__functions__")
# the compiler adds it, once there is one


def is_variant(name: str) -> bool:
    return "variant" in SURFACE[name].get("fields", {})


STRUCT_FIELDS = [
    (name, field, type_, default)
    for name, entry in SURFACE.items()
    if not is_variant(name)
    for field, (type_, default) in entry.get("fields", {}).items()
]


def test_the_list_is_complete() -> None:
    # a cut file would make the other tests pass for nothing
    assert len(SURFACE) == 106
    assert len(STRUCT_FIELDS) > 300


@pytest.mark.parametrize("name", SURFACE)
def test_class_is_public(name: str) -> None:
    assert name in msd.__all__
    assert inspect.isclass(getattr(msd, name))


@pytest.mark.parametrize("name", [n for n, entry in SURFACE.items() if entry.get("members")])
def test_enumeration_has_all_members_by_name(name: str) -> None:
    members = getattr(msd, name)
    for member in SURFACE[name]["members"]:
        assert members[member].name == member
        assert repr(members[member]) == f"{name}.{member}"


def token(value: Any) -> str:
    """A default as the list writes it."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, float | int):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, np.ndarray):
        return token(value.tolist()) if value.size else "empty"
    if isinstance(value, list):
        return f"[{','.join(map(token, value))}]"
    if isinstance(value, Variant):
        return value.variant
    if isinstance(value, Struct):
        return repr(value)
    return value.name if hasattr(value, "name") else repr(value)


@pytest.mark.parametrize(("owner", "field", "type_", "default"), STRUCT_FIELDS)
def test_field_has_its_default(owner: str, field: str, type_: str, default: str) -> None:
    value = getattr(getattr(msd, owner)(), field)
    if isinstance(value, Variant):
        # the list gives the data of a case in several notations
        assert default.split("(", maxsplit=1)[0] == value.variant
        if isinstance(value.value, Struct):
            assert value.value == type(value.value)()
        elif isinstance(value.value, str):
            assert default == f"{value.variant}('')"
    else:
        assert token(value) == default


SAMPLES: dict[str, Any] = {
    "float": 0.5,
    "int": 3,
    "bool": True,
    "str": "text",
    "list[float]": None,
    "list[int]": [2, 3],
    "numpy.ndarray": None,
}


def fits(value: Any, type_: str | None) -> bool:
    """Whether a value is of a type as the list writes it."""
    if type_ is None:
        return True
    if type_.startswith("Optional["):
        return value is None or fits(value, type_[9:-1])
    if type_.startswith("list["):
        return isinstance(value, list) and all(fits(item, type_[5:-1]) for item in value)
    if type_.startswith("dict["):
        return isinstance(value, dict)
    plain = {"float": float, "int": int, "bool": bool, "str": str, "numpy.ndarray": np.ndarray}
    return type(value) is plain[type_] if type_ in plain else isinstance(value, getattr(msd, type_))


@pytest.mark.parametrize(("owner", "field", "type_", "default"), STRUCT_FIELDS)
def test_field_has_its_type(owner: str, field: str, type_: str, default: str) -> None:
    assert fits(getattr(getattr(msd, owner)(), field), type_)


def sample(owner: str, field: str, type_: str) -> Any:
    """A value of an optional field's type."""
    if type_ in ("list[float]", "numpy.ndarray"):
        kind = getattr(msd, owner)._fields[field].kind.item
        length = getattr(kind, "length", None)
        columns = getattr(kind, "columns", None)
        if columns is not None:
            return np.ones((3, columns))
        if type_ == "numpy.ndarray" and length is None:
            return np.zeros((1, 3), int)
        return [1.0] * (length or 3)
    if type_ == "list[SkyboxLayout]":
        return [msd.SkyboxLayout.Up]
    if type_ == "ForceOverride":
        return msd.ForceOverride.hard(0.1, 0.2)
    return SAMPLES[type_] if type_ in SAMPLES else getattr(msd, type_)()


@pytest.mark.parametrize(
    ("owner", "field", "type_"),
    [(o, f, t[9:-1]) for o, f, t, _ in STRUCT_FIELDS if t and t.startswith("Optional[")],
)
def test_optional_field_takes_its_type_and_none(owner: str, field: str, type_: str) -> None:
    struct = getattr(msd, owner)()
    setattr(struct, field, sample(owner, field, type_))
    assert getattr(struct, field) is not None
    assert fits(getattr(struct, field), type_)
    setattr(struct, field, None)
    assert getattr(struct, field) is None


def parameters(text: str) -> list[tuple[str, bool]]:
    """Names of parameters, and whether they have a default."""
    return [(part.split("=")[0].strip(), "=" in part) for part in text.split(",") if part.strip()]


CALLS = [
    (name, method, text)
    for name, entry in SURFACE.items()
    for method, text in {**entry.get("static", {}), **entry.get("methods", {})}.items()
]


@pytest.mark.parametrize(("owner", "method", "text"), CALLS)
def test_method_takes_the_same_arguments(owner: str, method: str, text: str) -> None:
    signature = inspect.signature(getattr(getattr(msd, owner), method))
    given = [
        (parameter.name, parameter.default is not parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    assert given == parameters(text)


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_function_takes_the_same_arguments_first(name: str) -> None:
    signature = inspect.signature(getattr(msd, name))
    given = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert given == [parameter for parameter, _ in parameters(FUNCTIONS[name])]


def test_camera_takes_its_documented_arguments_by_position() -> None:
    names = [name for name, _ in parameters(SURFACE["Camera"]["ctor"])]
    assert list(msd.Camera._fields)[: len(names)] == names
    camera = msd.Camera("eye", None, None)
    assert camera.name == "eye"
    assert camera.position.tolist() == [0.0, 0.0, 1.0]


PAYLOADS: dict[str, Any] = {
    "value": {
        "ActuatorType.general": msd.GeneralParam(),
        "ActuatorType.position": msd.PositionParam(),
        "ConstraintForceModel.impedance": msd.ImpedanceSpring(),
        "FrameSensorRef.object": msd.ObjectType.site("a"),
        "LightType.directional": msd.DirectionalLightDesc(),
        "LightType.point": msd.PointLightDesc(),
        "LightType.spot": msd.SpotLightDesc(),
        "SpringDampCoeff.frequency_damping_ratio": msd.FrequencyDampingRatio(),
        "SpringDampCoeff.stiffness_damping": msd.StiffnessDamping(),
        "SpringLengthType.fixed": 0.5,
        "SpringLengthType.range": msd.Range(0.0, 1.0),
        "TextureSource.dynamic": msd.DynamicTextureDesc(),
    },
    "anchor": (1, 2, 3),
    "data": msd.MeshData(),
    "hfield": [[0.0, 1.0], [2.0, 3.0]],
}


def payload(owner: str, case: str, parameter: str) -> Any:
    values = PAYLOADS.get(parameter)
    if isinstance(values, dict):
        found = values.get(f"{owner}.{case}")
        if found is not None:
            return found
        if owner in ("ActuatorType", "AlphaMode"):
            return 0.25
        if owner in ("ConstraintForceModel", "ForceOverride"):
            return msd.StiffnessDamping()
        return msd.BuildinAttr() if owner == "TextureSource" and case != "file" else "name"
    if values is not None:
        return values
    return 0.5 if parameter in ("bounciness", "erp", "torque_scale") else "name"


@pytest.mark.parametrize(("owner", "case", "text"), [(o, m, t) for o, m, t in CALLS if is_variant(o)])
def test_case_tells_its_name_and_data(owner: str, case: str, text: str) -> None:
    needed = [name for name, optional in parameters(text) if not optional]
    given = {name: payload(owner, case, name) for name in needed}
    made = getattr(getattr(msd, owner), case)(**given)
    assert made.variant == case
    if not parameters(text):
        assert made.value is None
    elif list(given) == ["value"]:
        assert made.value == given["value"]
    elif list(given) == ["value_0", "value_1"]:
        assert made.value == ("name", "name")
    else:
        assert set(made.value) >= set(given)
    assert made == getattr(getattr(msd, owner), case)(**given)
    assert repr(made).startswith(f"{owner}.{case}(")


def test_every_variant_has_only_constructors_for_cases_it_knows() -> None:
    for name in msd.__all__:
        cls = getattr(msd, name)
        if inspect.isclass(cls) and issubclass(cls, Variant):
            for case in cls._cases:
                assert isinstance(inspect.getattr_static(cls, case), staticmethod), (name, case)


def test_every_scene_class_is_public() -> None:
    # a class that fields can hold but users cannot name would be of little use
    seen: set[type] = set()
    waiting: list[Any] = [msd.World]
    while waiting:
        item = waiting.pop()
        if isinstance(item, type) and issubclass(item, Struct):
            if item not in seen:
                seen.add(item)
                waiting += [known.kind for known in item._fields.values()]
        elif isinstance(item, type) and issubclass(item, Variant):
            if item not in seen:
                seen.add(item)
                for payload in item._cases.values():
                    waiting += payload.items.values() if isinstance(payload, Named) else [payload]
        elif isinstance(item, type):
            seen.add(item)
        elif isinstance(item, Kind | Pair):
            for attribute in ("item", "inner", "struct", "cases", "members"):
                waiting.append(getattr(item, attribute, None))
    assert len(seen) > 130
    hidden = {cls.__name__ for cls in seen if getattr(msd, cls.__name__, None) is not cls}
    assert not hidden


@pytest.mark.parametrize("name", msd.__all__)
def test_everything_public_is_documented(name: str) -> None:
    exported = getattr(msd, name)
    assert exported.__doc__, name
    if inspect.isclass(exported) and issubclass(exported, Struct):
        undocumented = [field for field, known in exported._fields.items() if not known.doc]
        assert not undocumented
