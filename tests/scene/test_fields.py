# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Assignment converts and checks at once; objects are live; mistakes are named."""

from __future__ import annotations

import copy
import inspect
import pickle
import time
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import ArgumentError
from worldline._src.scene.enums import counterparts

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""


@pytest.mark.parametrize("value", [(1, 2, 3), [1.0, 2.0, 3.0], np.array([1, 2, 3]), np.float32([1, 2, 3])])
def test_vectors_take_tuples_lists_and_arrays(value: Any) -> None:
    geom = msd.Geometry(position=value, size=value)
    assert geom.position.dtype == np.float64
    assert geom.position.tolist() == [1.0, 2.0, 3.0]
    assert geom.size == [1.0, 2.0, 3.0]
    assert all(type(number) is float for number in geom.size)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), Fraction(2), np.array(2.0)])
def test_numbers_take_every_kind_of_real(value: Any) -> None:
    link = msd.Link(gravcomp=value)
    assert type(link.gravcomp) is float
    assert link.gravcomp == 2.0


REJECTED = [
    ("Geometry.size", lambda: msd.Geometry(size=(1, 2)), "(1, 2)", "3 numbers"),
    ("Geometry.size", lambda: msd.Geometry(size=("a", "b", "c")), "'a'", "3 numbers"),
    ("Geometry.size", lambda: msd.Geometry(size=(1, 2, True)), "True", "3 numbers"),
    ("Geometry.size", lambda: msd.Geometry(size="123"), "'123'", "3 numbers"),
    ("Geometry.size", lambda: msd.Geometry(size=5.0), "5.0", "3 numbers"),
    ("Geometry.position", lambda: msd.Geometry(position=np.zeros((3, 1))), "(3, 1)", "3 finite numbers"),
    ("Geometry.position", lambda: msd.Geometry(position=[None, 1, 2]), "None", "3 finite numbers"),
    ("Geometry.position", lambda: msd.Geometry(position=np.array(["1", "2", "3"])), "array", "3 finite"),
    ("Geometry.position", lambda: msd.Geometry(position=[1j, 2, 3]), "1j", "3 finite numbers"),
    ("Geometry.orientation", lambda: msd.Geometry(orientation=(0, 0, 1)), "(0, 0, 1)", "4 finite"),
    ("Geometry.name", lambda: msd.Geometry(name=5), "5 (int)", "a geom, or None"),
    ("Geometry.mass", lambda: msd.Geometry(mass="heavy"), "'heavy'", "a number"),
    ("Geometry.mass", lambda: msd.Geometry(mass=10**400), "1000", "a number"),
    ("Geometry.priority", lambda: msd.Geometry(priority=1.5), "1.5", "a whole number"),
    ("Geometry.priority", lambda: msd.Geometry(priority=2**70), "118059", "a whole number"),
    ("Geometry.shape", lambda: msd.Geometry(shape="Bxo"), "'Bxo'", "did you mean 'Box'?"),
    ("Geometry.shape", lambda: msd.Geometry(shape=msd.SiteShape.Box), "SiteShape.Box", "ShapeType"),
    ("Geometry.shell_inertia", lambda: msd.Geometry(shell_inertia=1), "1 (int)", "True or False"),
    ("Geometry.physics_material", lambda: msd.Geometry(physics_material=None), "None", "PhysicsMaterial"),
    ("Link.geoms[1]", lambda: msd.Link(geoms=[msd.Geometry(), msd.Joint()]), "Joint()", "a Geometry"),
    ("Link.geoms", lambda: msd.Link(geoms=msd.Geometry()), "Geometry()", "a list"),
    ("Link.children[0]", lambda: msd.Link(children=[msd.Body()]), "Body()", "a Link"),
    ("Joint.pos_limit", lambda: msd.Joint(pos_limit=(2, 1)), "(2, 1)", "lower <= upper"),
    ("Joint.pos_limit", lambda: msd.Joint(pos_limit=(1, 2, 3)), "(1, 2, 3)", "two numbers"),
    ("Range", lambda: msd.Range(2, 1), "2.0 to 1.0", "lower <= upper"),
    ("Actuator.target", lambda: msd.Actuator(target="elbow"), "'elbow'", "ActuatorTarget"),
    ("ActuatorTarget.joint", lambda: msd.ActuatorTarget.joint(3), "3 (int)", "the name of a joint"),
    (
        "ConnectConstraintType.link_anchor(anchor)",
        lambda: msd.ConnectConstraintType.link_anchor("a", (1, 2)),
        "(1, 2)",
        "3 finite numbers",
    ),
    ("AssetSpecs.meshes['a']", lambda: msd.AssetSpecs(meshes={"a": 1}), "1 (int)", "a MeshSource"),
    ("AssetSpecs.meshes", lambda: msd.AssetSpecs(meshes={1: 1}), "the key 1", "text as keys"),
    ("MeshData.vertices", lambda: msd.MeshData(vertices=np.zeros((3, 2))), "(3, 2)", "(N, 3)"),
    ("MeshData.triangles", lambda: msd.MeshData(triangles=[[0, 1, -1]]), "-1", "0 to 2147483647"),
    ("MeshData.triangles", lambda: msd.MeshData(triangles=[[0, 1, 2.5]]), "2.5", "vertex indices"),
    ("CollisionIgnores.link_pairs[0]", lambda: msd.CollisionIgnores(link_pairs=[["a"]]), "'a'", "of 2"),
    ("SimulateOption.gravity", lambda: msd.SimulateOption(gravity=(0, -9.81)), "-9.81", "3 numbers"),
]


@pytest.mark.parametrize(("path", "make", "given", "allowed"), REJECTED)
def test_wrong_values_are_refused_with_path_given_and_allowed(
    path: str, make: Any, given: str, allowed: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    message = str(caught.value)
    assert message.startswith(f"{path}: given ")
    before, after = message.split("; allowed: ", 1)
    assert given in before
    assert allowed in after


def test_a_refused_assignment_changes_nothing() -> None:
    geom = msd.Geometry(size=(1, 2, 3))
    with pytest.raises(ArgumentError):
        geom.size = (1, 2)
    assert geom.size == [1.0, 2.0, 3.0]


def test_unknown_attributes_name_the_nearest() -> None:
    geom = msd.Geometry()
    with pytest.raises(
        AttributeError, match=r"Geometry has no attribute 'positon'; did you mean 'position'\?"
    ):
        geom.positon = (0, 0, 0)
    with pytest.raises(AttributeError, match="no attribute 'nme'") as raised:
        _ = geom.nme
    # from these Python makes the suggestion that it shows
    assert raised.value.obj is geom and {"name", "visual"} <= set(dir(geom))
    with pytest.raises(TypeError, match="Geometry has no field 'szie'; did you mean 'size'"):
        msd.Geometry(szie=(1, 1, 1))
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del geom.name
    with pytest.raises(AttributeError, match="no attribute 'varant'"):
        _ = msd.AlphaMode.blend().varant
    with pytest.raises(TypeError, match="keyword arguments"):
        msd.Geometry("name")
    with pytest.raises(TypeError, match=r"AlphaMode\.opaque"):
        msd.AlphaMode()


def test_objects_are_live() -> None:
    world = msd.World()
    body = msd.Body()
    world.hierarchy.bodies.append(body)
    geom = msd.Geometry(size=(1, 1, 1))
    body.link.geoms.append(geom)
    geom.physics_material.contact_model.value.k = 7.0
    geom.position[2] = 5.0
    geom.size[0] = 4.0
    found = world.hierarchy.bodies[0].link.geoms[0]
    assert found is geom
    assert found.physics_material.contact_model.value.k == 7.0
    assert found.position.tolist() == [0.0, 0.0, 5.0]
    assert found.size == [4.0, 1.0, 1.0]


def test_assigned_lists_and_arrays_are_not_shared_but_their_objects_are() -> None:
    geom = msd.Geometry()
    geoms = [geom]
    a, b = msd.Link(geoms=geoms), msd.Link(geoms=geoms)
    a.geoms.append(msd.Geometry())
    assert len(b.geoms) == len(geoms) == 1
    assert b.geoms[0] is geom
    place = np.zeros(3)
    geom.position = place
    place[0] = 1.0
    assert geom.position[0] == 0.0


def test_defaults_are_not_shared() -> None:
    for name in msd.__all__:
        cls = getattr(msd, name)
        if not hasattr(cls, "_fields") or not hasattr(cls, "_check"):
            continue
        a, b = cls(), cls()
        for field, known in cls._fields.items():
            if not known.kind.immutable and getattr(a, field) is not None:
                assert getattr(a, field) is not getattr(b, field), (name, field)


def test_ranges_come_from_pairs() -> None:
    joint = msd.Joint(pos_limit=(-1, 2), actuator_force_limit=np.array([-3.0, 3.0]))
    assert joint.pos_limit == msd.Range(-1, 2)
    assert joint.actuator_force_limit == msd.Range(lower=-3, upper=3)
    assert not msd.Range().is_bounded
    with pytest.raises(TypeError):
        msd.Range(1, 2, 3)


def test_a_case_cannot_be_changed_and_its_dict_is_a_copy() -> None:
    target = msd.ConnectConstraintType.link_anchor("a", (1, 2, 3), link_b="b")
    with pytest.raises(AttributeError, match="cannot be changed"):
        target.variant = "site_pair"
    target.value["link_a"] = "other"
    assert target.value["link_a"] == "a"
    assert target.value["anchor"].tolist() == [1.0, 2.0, 3.0]


def test_mesh_source_fills_in_what_is_not_given() -> None:
    value = msd.MeshSource.path("a.stl").value
    assert value == {"path": "a.stl", "transform": msd.MeshTransform(), "using_meshes": set(), "acd": False}
    assert msd.MeshSource.path("a.stl", using_meshes=["b"], acd=True).value["using_meshes"] == {"b"}


def test_equality_and_repr() -> None:
    a = msd.Geometry(name="a", shape="Box", size=(1, 2, 3))
    assert a == msd.Geometry(name="a", shape=msd.ShapeType.Box, size=[1, 2, 3])
    assert a != msd.Geometry(name="a", shape="Box", size=(1, 2, 4))
    assert a != msd.Site(name="a")
    assert repr(a) == "Geometry(name='a', shape=ShapeType.Box, size=[1.0, 2.0, 3.0])"
    assert repr(msd.Link(geoms=[a, a])) == "Link(geoms=[2 x Geometry])"
    assert msd.AlphaMode.mask(0.5) != msd.AlphaMode.mask(0.25)
    assert msd.AlphaMode.blend() != msd.AlphaMode.opaque()
    assert repr(msd.ContactMatch.link_pair("a", "b")) == "ContactMatch.link_pair('a', 'b')"
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_copies_of_parts() -> None:
    a = msd.Link(name="a", children=[msd.Link(name="b")])
    for made in (copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert made == a
        assert made.children[0] is not a.children[0]
    shallow = copy.copy(a)
    assert shallow.children[0] is a.children[0]
    mode = msd.TrackMode.target_body("x")
    assert copy.deepcopy(mode) == mode == pickle.loads(pickle.dumps(mode))


def test_constructors_show_their_fields() -> None:
    signature = inspect.signature(msd.Joint)
    assert list(signature.parameters) == list(msd.Joint._fields)
    assert str(inspect.signature(msd.Range)) == "(lower=-inf, upper=inf)"
    assert "axis: Axis in the link frame" in (msd.Joint.__doc__ or "")


def test_links_walk_parents_first() -> None:
    root = msd.Link(
        name="a", children=[msd.Link(name="b", children=[msd.Link(name="c")]), msd.Link(name="d")]
    )
    assert [link.name for link in root.walk()] == ["a", "b", "c", "d"]


def test_ground_planes_get_the_first_free_name() -> None:
    world = msd.World()
    first = world.add_ground_plane(0.25)
    assert (first.name, first.shape, first.size) == ("ground_0", msd.ShapeType.InfinitePlane, [0.0] * 3)
    assert first.position.tolist() == [0.0, 0.0, 0.25]
    world.hierarchy.bodies.append(
        msd.Body(link=msd.Link(geoms=[msd.Geometry(name="ground_1", size=(1, 1, 1))]))
    )
    assert world.add_ground_plane(1).name == "ground_2"
    assert world.hierarchy.geoms[0] is first
    with pytest.raises(ArgumentError, match="height: given 'high'"):
        world.add_ground_plane("high")
    with pytest.raises(ArgumentError, match="height: given nan"):
        world.add_ground_plane(float("nan"))
    assert len(world.hierarchy.geoms) == 2
    world.validate()


def test_many_geoms_are_quick() -> None:
    start = time.process_time()
    link = msd.Link()
    for index in range(5000):
        link.geoms.append(msd.Geometry(name=f"{index}", shape="Box", size=(1, 1, 1), position=(index, 0, 0)))
    # a tenth of a second; the bound leaves room for a slow machine
    assert time.process_time() - start < HANG


def test_members_of_enumerations_have_counterparts_by_their_words():
    class Snake(Enum):
        NONE, TWO_WORDS, SHORT = range(3)

    class Pascal(Enum):
        None_, TwoWords, Brief = range(3)

    found = counterparts(Pascal, Snake, Brief="SHORT")
    assert {a.name: b.name for a, b in found.items()} == {
        "None_": "NONE",
        "TwoWords": "TWO_WORDS",
        "Brief": "SHORT",
    }
    with pytest.raises(KeyError, match="brief"):
        counterparts(Pascal, Snake)
