# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Robots of files and descriptions as multibodies of a World."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, overload

from worldline._src.errors import ArgumentError, SceneError, UnknownCapabilityError
from worldline._src.facade import loading, values
from worldline._src.facade.options import Options, Setting, flag
from worldline._src.facade.scene_state import take_state
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_kind import require_world
from worldline._src.scene.bodies import Body, Inertia, Link
from worldline._src.scene.contact import CollisionMask
from worldline._src.scene.joints import GEOMETRY_FIELDS, FreeJoint, Joint, JointDof, JointType
from worldline._src.scene.world import World as Scene

if TYPE_CHECKING:
    from worldline._src.facade.multibody import Multibody
    from worldline._src.facade.world import World


@overload
def add_skeleton(
    world: World, skeleton: loading.SceneSource, options: loading.SkeletonLoadOptions | None = None
) -> Multibody: ...
@overload
def add_skeleton(
    world: World,
    uri: loading.SceneSource,
    read_options: loading.ReadOptions | None = None,
    options: loading.SkeletonLoadOptions | None = None,
) -> Multibody: ...
def add_skeleton(world: World, *given: Any, **named: Any) -> Multibody:
    """Load a robot into a World as one multibody.

    Names of links and joints are those of the file, whatever else is in the World; names of everything else
    get the name of the multibody before them.

    Args:
        world: the World, in design mode.
        uri: a path, a `file://` URI, or a description, which may also be named `skeleton`.
        read_options: how the file is read; may be left out before `options`.
        options: name, place and anchors of the multibody.

    Raises:
        SceneError: the file cannot be read, or holds no robot.

    Example:
        >>> import tempfile, pathlib
        >>> from worldline import simulation as sx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "robot.urdf")
        ...     _ = file.write_text("<robot name='rod'><link name='base'/></robot>")
        ...     world = sx.World()
        ...     sx.add_skeleton(world, str(file)).links.names
        ['base']
    """
    require_world(world, "add_skeleton")
    world._require_design("adding a skeleton")
    source, read_options, options = _skeleton_arguments(given, named)
    if options is not None and not isinstance(options, loading.SkeletonLoadOptions):
        raise values.ShapeError(f"options must be a SkeletonLoadOptions, got {options!r}")
    chosen = loading.SkeletonLoadOptions() if options is None else options
    scene = _read_skeleton(source, read_options)
    if chosen.root_anchor_prefix:
        for body in scene.hierarchy.bodies:
            _anchor(scene, body, chosen.root_anchor_prefix + (body.link.name or ""))
    return _built(world, scene, chosen.name, chosen.translation, chosen.rotation)


def _skeleton_arguments(
    given: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, loading.ReadOptions | None, loading.SkeletonLoadOptions | None]:
    """Source, how to read it and what to make of it, from the forms of `add_skeleton`."""
    rest = list(given)
    if len(rest) > 1 and isinstance(rest[1], loading.SkeletonLoadOptions):
        rest.insert(1, None)
    names = ("skeleton" if "skeleton" in named else "uri", "read_options", "options")
    every = dict(zip(names, rest, strict=False))
    if len(rest) > 3 or every.keys() & named.keys() or not named.keys() <= set(names):
        raise values.ShapeError(
            "add_skeleton takes (world, skeleton, options), (world, uri, options) or "
            "(world, uri, read_options, options)"
        )
    every |= named
    if names[0] not in every:
        raise values.ShapeError("add_skeleton needs a path, a file:// URI or a description")
    return every[names[0]], every.get("read_options"), every.get("options")


def _read_skeleton(source: loading.SceneSource, read_options: loading.ReadOptions | None) -> Scene:
    shown = repr(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else "a description"
    try:
        scene = loading.read_scene(source, read_options)
    except SceneError as error:
        error.introduce(f"Failed to read Skeleton from {shown}")
        raise
    if not scene.hierarchy.bodies:
        raise SceneError(f"Failed to read Skeleton from {shown}: there is no body in it")
    return scene


def _built(world: World, scene: Scene, name: str, translation: VectorLike, rotation: VectorLike) -> Multibody:
    own_name = scene.name or scene.hierarchy.bodies[0].link.name or "multibody"
    chosen = name or loading.unused_name(world, own_name)
    if chosen in world._multibodies:
        raise ArgumentError(f"a multibody named '{chosen}' already exists")
    return loading.attach(world, scene, f"{chosen}/", "", translation, rotation, None, chosen).multibodies[0]


def _anchor(scene: Scene, body: Body, name: str) -> None:
    """A massless link fixed to the world that the root of a body hangs on from now on."""
    root = body.link
    if body.mocap:
        raise UnknownCapabilityError(f"link '{root.name}' is placed from outside and cannot have an anchor")
    if body.free is not None:
        if scene.keyframes:
            raise UnknownCapabilityError(
                f"the floating base '{root.name}' cannot have an anchor: keyframes hold its coordinates"
            )
        root.joints.insert(0, _joint_of(body.free))
        body.free = None
    nothing = Inertia(mass=0.0, pos=(0.0, 0.0, 0.0), diag_inertia=(0.0, 0.0, 0.0))
    body.link = Link(name=name, inertial=nothing, children=[root])


def _joint_of(free: FreeJoint) -> Joint:
    """A free base as a joint between two links."""
    made = Joint(name=free.name, type_=JointType.Free, friction_damping=free.friction_damping)
    fields = ("armature", "friction_loss", "damping", "stiffness")
    made.dofs = [JointDof(**{field: getattr(free, field) for field in fields}) for _ in range(6)]
    return made


class SkeletonToMultibodyOptions(Options):
    """What of a description becomes a multibody; a value.

    Args:
        name: of the multibody; that of the description when empty.
        base_link_name: when not empty, the root hangs on a massless link of this name fixed to the world.
        copy_state: whether the state that `World.to_scene` wrote comes along; joints start at zero otherwise.
        copy_joint_properties: whether limits, springs, dampers, friction, armature and drives come along.
        load_collision_shapes: whether shapes can touch something; their mass counts in any case.
    """

    name: Setting[str, str] = Setting(lambda v: values.text(v, "SkeletonToMultibodyOptions name"))
    base_link_name: Setting[str, str] = Setting(
        lambda v: values.text(v, "SkeletonToMultibodyOptions base_link_name")
    )
    copy_state: Setting[bool, bool] = Setting(flag("SkeletonToMultibodyOptions copy_state"))
    copy_joint_properties: Setting[bool, bool] = Setting(
        flag("SkeletonToMultibodyOptions copy_joint_properties")
    )
    load_collision_shapes: Setting[bool, bool] = Setting(
        flag("SkeletonToMultibodyOptions load_collision_shapes")
    )

    def __init__(
        self,
        name: str = "",
        base_link_name: str = "",
        copy_state: bool = True,
        copy_joint_properties: bool = True,
        load_collision_shapes: bool = True,
    ) -> None:
        self._take(locals())


def build_multibody_from_skeleton(
    world: World, skeleton: loading.SceneSource, options: SkeletonToMultibodyOptions | None = None
) -> Multibody:
    """A multibody from a description or a file, with what the options choose of it.

    Args:
        world: the World, in design mode.
        skeleton: a description, a path, or a `file://` URI.
        options: what comes along.

    Example:
        >>> from worldline import msd, simulation as sx
        >>> scene = msd.from_str("<robot name='rod'><link name='tip'/></robot>", format="urdf")
        >>> options = sx.SkeletonToMultibodyOptions(name="arm", base_link_name="base")
        >>> sx.build_multibody_from_skeleton(sx.World(), scene, options).links.names
        ['base', 'tip']
    """
    require_world(world, "build_multibody_from_skeleton")
    world._require_design("adding a skeleton")
    if options is not None and not isinstance(options, SkeletonToMultibodyOptions):
        raise values.ShapeError(f"options must be a SkeletonToMultibodyOptions, got {options!r}")
    chosen = SkeletonToMultibodyOptions() if options is None else options
    scene = _read_skeleton(skeleton, None)
    if not chosen.copy_state:
        take_state(scene)
    if not chosen.copy_joint_properties:
        for link in scene.hierarchy.links():
            link.joints[:] = [_bare(joint) for joint in link.joints]
    if not chosen.load_collision_shapes:
        for link in scene.hierarchy.links():
            for geom in link.geoms:
                geom.collision_mask = CollisionMask.non_collidable()
    if chosen.base_link_name:
        if len(scene.hierarchy.bodies) > 1:
            raise ArgumentError(
                f"base_link_name needs one root, the description has {len(scene.hierarchy.bodies)}"
            )
        _anchor(scene, scene.hierarchy.bodies[0], chosen.base_link_name)
    return _built(world, scene, chosen.name, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def _bare(joint: Joint) -> Joint:
    """Where a joint is and what it leaves free, and nothing else of it."""
    made = Joint(**{field: getattr(joint, field) for field in GEOMETRY_FIELDS})
    if joint.type_ is JointType.D6:
        made.dofs = [JointDof(axis=dof.axis, angular=dof.angular) for dof in joint.dofs]
    return made
