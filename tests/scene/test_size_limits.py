# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Files that are far too large are refused before they are parsed, in time and memory of their own size."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import ArgumentError, SceneError, WorldlineError
from worldline._src.scene.base import Struct
from worldline._src.scene.formats import size_limits

MANY = 1_000_000
HANG = 3.0
"""Seconds of processor time; the slowest was measured at 0.4 s on a quiet machine."""
BODY = '<worldbody><body name="b"><freejoint/><geom size="0.1"/></body></worldbody>'


def mjcf(inner: str) -> Callable[[], None]:
    return lambda: msd.from_str(f"<mujoco>{inner}</mujoco>", format="mjcf")  # type: ignore[func-returns-value]


def numbers(separator: str = " ") -> str:
    return separator.join(["0.5"] * MANY)


def keys(count: int, more: str = "") -> str:
    return f"{BODY}<keyframe>{f'<key {more}/>' * count}</keyframe>"


def links(count: int) -> str:
    return "".join(f'<link name="l{i}"/>' for i in range(count))


XML = {
    "keyframes": (lambda: mjcf(keys(290_000)), "more than 100000 elements"),
    "keyframes with numbers": (
        lambda: mjcf(keys(150_000, 'qpos="0 0 0 1 0 0 0"')),
        "more than 100000 elements",
    ),
    "sensors": (lambda: mjcf(f"{BODY}<sensor>{'<clock/>' * 290_000}</sensor>"), "more than 100000 elements"),
    "qpos": (lambda: mjcf(keys(1, f'qpos="{numbers()}"')), "up to 7 numbers"),
    "pos": (lambda: mjcf(f'<worldbody><body pos="{numbers()}"/></worldbody>'), "up to 3 numbers"),
    "elevation": (
        lambda: mjcf(
            '<asset><hfield name="h" nrow="9" ncol="9" size="1 1 1 1" '
            f'elevation="{numbers()}"/></asset><worldbody/>'
        ),
        "9 rows of 9 numbers",
    ),
    "urdf links": (
        lambda: lambda: msd.from_str(f'<robot name="r">{links(150_000)}</robot>', format="urdf"),
        "more than 100000 elements",
    ),
    "urdf xyz": (
        lambda: (
            lambda: msd.from_str(
                f'<robot name="r"><link name="a"><inertial><origin xyz="{numbers()}"/><mass value="1"/>'
                "</inertial></link></robot>",
                format="urdf",
            )
        ),
        "up to 3 numbers",
    ),
    "sdf links": (
        lambda: (
            lambda: msd.from_str(
                f'<sdf version="1.9"><model name="r">{links(150_000)}</model></sdf>', format="sdf"
            )
        ),
        "more than 100000 elements",
    ),
    "sdf pose": (
        lambda: (
            lambda: msd.from_str(
                f'<sdf version="1.9"><model name="r"><link name="a"><pose>{numbers()}</pose></link></model></sdf>',
                format="sdf",
            )
        ),
        "6 finite numbers",
    ),
}


@pytest.mark.parametrize("name", XML)
def test_huge_xml_is_refused_before_it_is_read(name: str) -> None:
    call, message = XML[name]
    refuse = call()
    start = time.process_time()
    with pytest.raises(SceneError, match=message):
        refuse()
    assert time.process_time() - start < HANG


def test_huge_keyframes_take_no_memory() -> None:
    """The text has 1.7 MB; as keyframes of a scene it would take 700."""
    refuse = mjcf(keys(290_000))
    tracemalloc.start()
    try:
        with pytest.raises(SceneError, match="more than 100000 elements"):
            refuse()
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


JSON = {
    "keyframes": ('{"keyframes":[' + ",".join(["{}"] * 1_200_000) + "]}", "too many lists, objects"),
    "coordinates": (
        '{"keyframes":[{"dof_pos":[' + ",".join(["0"] * 2_100_000) + "]}]}",
        r"\$.keyframes\[0\].dof_pos: the lists of the scene have more than 2000000 numbers",
    ),
    "coordinates of many": (
        '{"keyframes":[' + ",".join(['{"dof_pos":[' + ",".join(["0"] * 1000) + "]}"] * 2100) + "]}",
        "more than 2000000 numbers",
    ),
    "custom": (
        '{"custom":{"numeric":{"a":[' + ",".join(["0"] * 2_100_000) + "]}}}",
        "more than 2000000 numbers",
    ),
    "entries": ('{"zzz":[' + "0," * 16_000_001 + "0]}", "16000000 entries"),
}


@pytest.mark.parametrize("name", JSON)
def test_huge_json_is_refused_before_it_is_converted(name: str) -> None:
    text, message = JSON[name]
    start = time.process_time()
    with pytest.raises(SceneError, match=message):
        msd.from_str(text, format="msd")
    assert time.process_time() - start < HANG


def test_entries_of_msgpack_are_counted_around_blobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limits, "MAX_ENTRIES", 1000)
    monkeypatch.setattr(size_limits, "MAX_OBJECTS", 1000)
    few = msgspec.msgpack.encode({"keyframes": [], "blob": b"\x01" * 100_000})
    size_limits.check_size(few, "msgpack", size_limits.Limits())
    with pytest.raises(SceneError, match="too many lists, objects or entries in msgpack"):
        size_limits.check_size(msgspec.msgpack.encode([1] * 1001), "msgpack", size_limits.Limits())


# values


def structs(base: type[Struct] = Struct) -> list[type[Struct]]:
    return [found for made in base.__subclasses__() for found in (made, *structs(made))]


BAD = (
    10**400,
    -(10**400),
    [10**400] * 3,
    [[10**400] * 3],
    (0, 10**400),
    {"a": 10**400},
    np.array([10**400, 1, 1], dtype=object),
    np.ma.array([1.0, 2.0], mask=[0, 1]),
    np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    np.ma.array([1.0, 2.0, 3.0, 4.0]),
    np.ma.array([[1.0, 2.0, 3.0]], mask=[[0, 1, 0]]),
    np.ma.array(3.0),
    np.ma.masked,
    np.longdouble("1e4000"),
)


def test_no_field_takes_huge_integers_or_masked_arrays() -> None:
    kinds = [
        (f"{made.__name__}.{name}", known.kind) for made in structs() for name, known in made._fields.items()
    ]
    assert len(kinds) > 500
    for path, kind in kinds:
        for value in BAD:
            try:
                kind(value)
            except WorldlineError:
                continue
            pytest.fail(f"{path} took {value!r:.60}")


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800b", "\udfff"])
def test_names_that_no_file_can_hold_are_refused_with_their_path(name: str) -> None:
    scene = msd.World()
    scene.hierarchy.bodies.append(msd.Body(link=msd.Link(name=name)))
    with pytest.raises(SceneError, match=r"\$.hierarchy.bodies\[0\].link.name: .*(NUL|surrogates)"):
        scene.validate()
    scene = msd.World(name=name)
    with pytest.raises(SceneError, match=r"\$.name: .*(NUL|surrogates)"):
        scene.validate()


def test_names_with_other_signs_are_fine() -> None:
    scene = msd.World(name="日本 \n tab\t")
    scene.hierarchy.bodies.append(msd.Body(link=msd.Link(name="Ünïcode \U0001f916")))
    scene.validate()
    assert msd.from_msgpack(scene.to_msgpack()).name == scene.name


def test_models_refuse_such_labels_too() -> None:
    from worldline.model import ModelBuilder

    for label in ("a\x00b", "a\ud800b"):
        with pytest.raises(ArgumentError, match="label of a link must not contain"):
            ModelBuilder().add_link(label=label)
    with pytest.raises(ArgumentError, match="is_kinematic of link 'a' must be True or False, got 'abc'"):
        ModelBuilder().add_link(label="a", is_kinematic="abc")  # type: ignore[arg-type]


def test_more_problems_than_are_collected_come_as_one_error(tmp_path) -> None:
    meshes = {f"m{i}": {"Path": {"path": f"/outside/{i}.stl"}} for i in range(150)}
    for i in range(150):
        (tmp_path / f"{i}.stl").write_bytes(b"")
        meshes[f"m{i}"] = {"Path": {"path": str(tmp_path / f"{i}.stl")}}
    (tmp_path / "inner").mkdir()
    file = tmp_path / "inner" / "scene.json"
    file.write_bytes(msgspec.json.encode({"assets": {"meshes": meshes}}))
    with pytest.raises(SceneError, match="150 problems") as caught:
        msd.from_file(file)
    assert len(caught.value.problems) == 150 and str(file) in str(caught.value)
