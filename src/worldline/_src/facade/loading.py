# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From files and descriptions to Worlds, and back.

Every way in ends at the same place: a description that the World owns, and handles for what it brings. What a
reader approximated or left out is in the report of the result.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlparse

from worldline._src.errors import ArgumentError, UnsupportedFormatError
from worldline._src.facade import scene_options, values
from worldline._src.facade.adoption import Adopted, adopt
from worldline._src.facade.checkpoint import Checkpoint
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.kinds import ModelFormat, RootJointType, member
from worldline._src.facade.link import Link
from worldline._src.facade.options import Options, Setting, WorldOptions, flag
from worldline._src.facade.scene_state import STATE_KEYFRAME, read_state, take_state, write_state
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_kind import require_world
from worldline._src.scene.assets.paths import PackageDirectory
from worldline._src.scene.base import clone
from worldline._src.scene.bodies import BodyRole
from worldline._src.scene.bodies import Multibody as SceneMultibody
from worldline._src.scene.formats import load
from worldline._src.scene.formats.atomic_write import path_text
from worldline._src.scene.formats.detect import detect
from worldline._src.scene.fusing import fused
from worldline._src.scene.joints import FreeJoint
from worldline._src.scene.layout import JointSpan, active_joints, layout
from worldline._src.scene.limits import LIMITS
from worldline._src.scene.report import Report
from worldline._src.scene.world import World as Scene

if TYPE_CHECKING:
    from worldline._src.facade.frame import FixedFrame, FreeFrame
    from worldline._src.facade.loop_closure import LoopClosure
    from worldline._src.facade.multibody import Multibody
    from worldline._src.facade.rigid_body import RigidBody
    from worldline._src.facade.world_runtime import W, WorldRuntime

SceneSource = Scene | str | os.PathLike[str]


def _paths(value: Any) -> tuple[str | PackageDirectory, ...]:
    if isinstance(value, os.PathLike):
        raise values.ShapeError(f"package_directories must be a list of paths, got {value!r}")
    return tuple(_path(path) for path in values.several(value, "package_directories"))


def _path(value: Any) -> str | PackageDirectory:
    if isinstance(value, PackageDirectory):
        return value
    path: object = cast("os.PathLike[str]", value).__fspath__() if isinstance(value, os.PathLike) else value
    return values.text(path, "path of package_directories")


def _root_joint(value: Any, what: str) -> RootJointType | None:
    return None if value is None else member(RootJointType, value, f"ReadOptions {what}")


class ReadOptions(Options):
    """How a file is read; a value.

    Args:
        format: the format of the file; AUTO goes by suffix and content.
        package_directories: where `package://` and assets are looked for besides the file's directory.
        root_joint: FLOATING frees every base that the file leaves fixed to the world, FIXED fixes every free
            base; None takes what the file says.
        sdf_default_root_joint_type: the same for SDF files alone, whose models float unless they say
            otherwise; `root_joint` goes first.
        strict: raise when anything would be approximated or left out.
        allow_outside: let includes and assets lie outside those directories.

    Example:
        >>> from worldline import simulation as sx
        >>> options = sx.ReadOptions(sdf_default_root_joint_type=sx.RootJointType.FIXED)
        >>> options.add_package_directory("my_robot", "/opt/robots/my_robot_description")
    """

    format: Setting[ModelFormat, ModelFormat] = Setting(
        lambda v: member(ModelFormat, v, "ReadOptions format")
    )
    package_directories: Setting[
        tuple[str | PackageDirectory, ...], Iterable[str | os.PathLike[str] | PackageDirectory]
    ] = Setting(_paths)
    root_joint: Setting[RootJointType | None, RootJointType | None] = Setting(
        lambda v: _root_joint(v, "root_joint")
    )
    sdf_default_root_joint_type: Setting[RootJointType | None, RootJointType | None] = Setting(
        lambda v: _root_joint(v, "sdf_default_root_joint_type")
    )
    strict: Setting[bool, bool] = Setting(flag("ReadOptions strict"))
    allow_outside: Setting[bool, bool] = Setting(flag("ReadOptions allow_outside"))

    def __init__(
        self,
        format: ModelFormat = ModelFormat.AUTO,
        package_directories: Iterable[str | os.PathLike[str] | PackageDirectory] = (),
        root_joint: RootJointType | None = None,
        strict: bool = False,
        allow_outside: bool = False,
        sdf_default_root_joint_type: RootJointType | None = None,
    ) -> None:
        self._take(locals())

    def add_package_directory(self, package: str, directory: str | os.PathLike[str]) -> None:
        """Look for `package://package/...` in a directory.

        Args:
            package: the name of the package.
            directory: where its files are, whatever its own name is.
        """
        name = values.text(package, "name of a package")
        if not name or "/" in name:
            raise ArgumentError(f"the name of a package must not be empty or contain '/', got {name!r}")
        entry = PackageDirectory(name, Path(path_text(directory)))
        self.package_directories = (*self.package_directories, entry)


class SkeletonLoadOptions(Options):
    """How a robot file becomes a multibody; a value.

    Args:
        name: of the multibody; the file's own name when empty.
        translation: where the file's world comes to lie [m], (3,).
        rotation: how it is turned, xyzw, (4,).
        root_anchor_prefix: when not empty, every root hangs on an anchor: a massless link fixed to the world,
            named by this and the name of the root.
    """

    name: Setting[str, str] = Setting(lambda v: values.text(v, "SkeletonLoadOptions name"))
    root_anchor_prefix: Setting[str, str] = Setting(
        lambda v: values.text(v, "SkeletonLoadOptions root_anchor_prefix")
    )
    translation: Setting[values.Array, VectorLike] = Setting(
        lambda v: values.vector3(v, "SkeletonLoadOptions translation")
    )
    rotation: Setting[values.Array, VectorLike] = Setting(
        lambda v: values.quaternion_of(v, "SkeletonLoadOptions rotation")
    )

    def __init__(
        self,
        name: str = "",
        translation: VectorLike = (0.0, 0.0, 0.0),
        rotation: VectorLike = (0.0, 0.0, 0.0, 1.0),
        root_anchor_prefix: str = "",
    ) -> None:
        self._take(locals())


@dataclass(frozen=True)
class LoadResult:
    """What a scene brought into a World.

    Attributes:
        rigid_bodies: rigid bodies, in the order of the scene.
        multibodies: multibodies, in the order of the scene.
        links: links, those of new multibodies and those that came onto an old one.
        frames: named frames.
        loop_closures: loop closures.
        report: what was approximated or left out on the way.
        source: the file, None for a description without one.
    """

    rigid_bodies: tuple[RigidBody, ...]
    multibodies: tuple[Multibody, ...]
    links: tuple[Link, ...]
    frames: tuple[FixedFrame | FreeFrame, ...]
    loop_closures: tuple[LoopClosure, ...]
    report: Report
    source: str | None


# ---- reading


def read_scene(source: SceneSource, options: ReadOptions | None = None) -> Scene:
    """A description from a file, or a description itself; never the caller's own object to change."""
    if options is not None and not isinstance(options, ReadOptions):
        raise values.ShapeError(f"read_options must be a ReadOptions, got {options!r}")
    options = ReadOptions() if options is None else options
    if isinstance(source, Scene):
        scene = clone(source)
    elif isinstance(source, (str, os.PathLike)):
        scene = _read_file(_local_path(source), options)
    else:
        raise values.ShapeError(f"a scene or the path of a file is needed, got {source!r}")
    _set_roots(scene, options.root_joint)
    if options.root_joint is None and options.sdf_default_root_joint_type is not None:
        if not isinstance(source, Scene) and _is_sdf(_local_path(source), options):
            _set_roots(scene, options.sdf_default_root_joint_type)
    if scene.compile_options.fuse_static:
        # handles stand for links, so those that are merged are merged before there are any
        scene.validate()
        scene = fused(scene)
    return scene


def _local_path(source: str | os.PathLike[str]) -> Path:
    text = os.fspath(source)
    if "://" not in text:
        return Path(text)
    parts = urlparse(text)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise ArgumentError(f"a path or a file:// URI is needed, got {text!r}")
    return Path(unquote(parts.path))


def _is_sdf(path: Path, options: ReadOptions) -> bool:
    if options.format is not ModelFormat.AUTO:
        return options.format is ModelFormat.SDF
    return detect(path.read_bytes(), path) == "sdf"


def _read_file(path: Path, options: ReadOptions) -> Scene:
    keywords: dict[str, Any] = {
        "strict": options.strict,
        "asset_dirs": options.package_directories,
        "allow_outside": options.allow_outside,
    }
    if options.format is ModelFormat.USD:
        raise UnsupportedFormatError(f"{path}: reading USD is not part of this build")
    if options.format is ModelFormat.AUTO:
        return load.from_file(path, **keywords)
    text = load.file_text(path, LIMITS)
    return load.from_str(text, format=options.format.value, file_path=path, **keywords)


def _set_roots(scene: Scene, kind: RootJointType | None) -> None:
    for body in scene.hierarchy.bodies:
        if kind is RootJointType.FIXED:
            body.free = None
        elif kind is RootJointType.FLOATING and body.free is None and not body.mocap:
            if not active_joints(body.link, body):
                body.free = FreeJoint()


# ---- whole worlds


def new_world(kind: type[W], scene: Scene, options: WorldOptions | None) -> W:
    """A World of a description that nobody else holds."""
    if options is not None and not isinstance(options, WorldOptions):
        raise values.ShapeError(f"options must be a WorldOptions, got {options!r}")
    made = kind()
    fill(made, scene, options)
    return made


def world_of_file(
    kind: type[W],
    path: str | os.PathLike[str],
    read_options: ReadOptions | None,
    options: WorldOptions | None,
) -> W:
    """See `World.from_file`."""
    scene = read_scene(path, read_options)
    made = new_world(kind, scene, options)
    given = ReadOptions() if read_options is None else read_options
    changed = given.root_joint is not None or given.sdf_default_root_joint_type is not None
    # the reader has validated the description, which only methods of the World change from now on
    made._validated = not changed and not scene.compile_options.fuse_static
    return made


def fill(world: WorldRuntime, scene: Scene, options: WorldOptions | None) -> None:
    """Make an empty World the World of a description, which it owns from now on."""
    given = scene_options.from_description(scene)
    fill_with(world, scene, given if options is None else options.copy())


def fill_with(world: WorldRuntime, scene: Scene, options: WorldOptions) -> None:
    """The same with options that are in the description already."""
    world._options = options
    state = take_state(scene)
    world._scene = scene
    multibodies, scene.multibodies = scene.multibodies, []
    adopt(world, scene.hierarchy.bodies, scene.frames, scene.loop_closures, multibodies)
    if state is not None:
        read_state(world, state, layout(scene), list(scene.hierarchy.links()))
        world._set_time(state.time or 0.0)


@exclusive
def to_scene(world: WorldRuntime, *, drawn: bool = True, state: bool = True) -> Scene:
    """A description that holds everything: objects, options and state; see `World.to_scene`.

    Args:
        world: the World.
        drawn: move the drawn poses of free bodies to where they are now. Without it the reference
            configuration stays what the model was compiled from, and so do, bit for bit, the quantities
            that the compiler derives at it: inverse weights, tendon lengths and moments, muscle forces.
        state: write the state too; False for who carries it over by other means.
    """
    world._live()
    scene = clone(world._scene)
    scene_options.into_description(world._options, scene)
    if state:
        write_state(world, scene, drawn=drawn)
    scene.multibodies = [
        SceneMultibody(
            name=robot.name,
            links=[str(link._link.name) for link in robot._links.values()],
            ground=clone(robot._ground) if robot._ground is not None else None,
        )
        for robot in world._multibodies.values()
    ]
    for robot in world._multibodies.values():
        given = {id(body) for body in robot._bodies}
        for body, copied in zip(world._scene.hierarchy.bodies, scene.hierarchy.bodies, strict=True):
            if id(body) in given:
                copied.multibody, copied.role = robot.name, BodyRole.Multibody
    return scene


# ---- parts of worlds


def add_scene(
    world: WorldRuntime,
    source: SceneSource,
    read_options: ReadOptions | None,
    prefix: str = "",
    suffix: str = "",
    translation: VectorLike | None = None,
    rotation: VectorLike | None = None,
    at: Link | None = None,
) -> LoadResult:
    """See `World.add_scene`."""
    world._require_design("adding a scene")
    prefix, suffix = values.text(prefix, "prefix"), values.text(suffix, "suffix")
    if at is not None:
        if not isinstance(at, Link):
            raise values.ShapeError(f"at must be a Link, got {at!r}")
        world._own_frame(at, "at")
    return attach(world, read_scene(source, read_options), prefix, suffix, translation, rotation, at, None)


def attach(
    world: WorldRuntime,
    part: Scene,
    prefix: str,
    suffix: str,
    translation: VectorLike | None,
    rotation: VectorLike | None,
    at: Link | None,
    multibody: str | None,
) -> LoadResult:
    before = Checkpoint(world)
    scene = world._scene
    state, given = _without_state(part), take_state(clone(part))
    old_bodies, old_links = len(scene.hierarchy.bodies), 0 if at is None else len(at._link.children)
    marks = [len(rows) for rows in (scene.frames, scene.loop_closures, scene.multibodies)]
    notes = len(scene.report)
    try:
        scene.attach(
            state,
            None if at is None else at._link.name,
            None,
            translation,
            rotation,
            prefix or None,
            suffix or None,
        )
        bodies = scene.hierarchy.bodies[old_bodies:]
        tops = [body.link for body in bodies] if at is None else at._link.children[old_links:]
        for body in bodies if multibody is not None else ():
            body.multibody, body.role = multibody, BodyRole.Multibody
        kept, scene.multibodies = scene.multibodies[marks[2] :], scene.multibodies[: marks[2]]
        made = adopt(
            world,
            bodies,
            scene.frames[marks[0] :],
            scene.loop_closures[marks[1] :],
            kept if at is None and multibody is None else [],
            () if at is None else ((at, top) for top in tops),
        )
        world._topology_changed()
        if given is not None and given.dof_pos.size:
            _take_over(world, given, part, tops)
    except BaseException:
        before.restore("the scene it came with could not be added")
        raise
    report = Report()
    report.extend(part.report)
    report.entries += scene.report.entries[notes:]
    return _result(made, report, part.source_path)


def _without_state(part: Scene) -> Scene:
    """The same description without the keyframe of a state, which is no keyframe of the user."""
    made = copy.copy(part)
    made.keyframes = [k for k in part.keyframes if k.name != STATE_KEYFRAME]
    return made


def _take_over(world: WorldRuntime, state: Any, part: Scene, tops: list[Any]) -> None:
    """The state of the added scene, for what it brought."""
    ours = [link for top in tops for link in top.walk()]
    theirs = [link for body in part.hierarchy.bodies for link in body.link.walk()]
    matching = {id(b): a for a, b in zip(ours, theirs, strict=True)}
    spans: list[JointSpan] = []
    for span in layout(part):
        # free bodies are drawn where they are, and moved with the scene they came in
        if not isinstance(span.joint, FreeJoint):
            link = matching[id(span.link)]
            place = next(k for k, joint in enumerate(span.link.joints) if joint is span.joint)
            spans.append(span._replace(link=link, joint=link.joints[place]))
    read_state(world, state, spans, [])


def _result(made: Adopted, report: Report, source: str | None) -> LoadResult:
    return LoadResult(
        tuple(made.rigid_bodies),
        tuple(made.multibodies),
        tuple(made.links),
        tuple(made.frames),
        tuple(made.loop_closures),
        report,
        source,
    )


def unused_name(world: WorldRuntime, wanted: str) -> str:
    number, name = 1, wanted
    while name in world._multibodies:
        number += 1
        name = f"{wanted}_{number:03d}"
    return name


def add_world(
    world: WorldRuntime, source: SceneSource, read_options: ReadOptions | None = None, *, prefix: str = ""
) -> LoadResult:
    """Load everything of a file or a description into a World; the same as `World.add_scene`.

    Args:
        world: the World, in design mode.
        source: a path, a `file://` URI, or a description.
        read_options: how the file is read.
        prefix: put before every name that comes.
    """
    require_world(world, "add_world")
    return add_scene(world, source, read_options, prefix)
