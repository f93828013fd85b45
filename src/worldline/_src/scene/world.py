# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The scene itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

from worldline._src.errors import ArgumentError
from worldline._src.scene import compose, freezing
from worldline._src.scene.actuators import Actuator
from worldline._src.scene.asset_specs import AssetSpecs
from worldline._src.scene.base import Parts, Struct, clone, field, part, parts, value
from worldline._src.scene.bodies import Frame, Hierarchy, Multibody
from worldline._src.scene.cameras import FreeCamera
from worldline._src.scene.closures import (
    DifferentiableParameter,
    DistanceSpring,
    GroundPoint,
    JointCoupler,
    LoopClosure,
    WorldJoint,
)
from worldline._src.scene.constraints import EqualityConstraintSet
from worldline._src.scene.contact import CollisionIgnores, ContactPair
from worldline._src.scene.containers import OptionalOf, TableOf
from worldline._src.scene.contexts import Writer
from worldline._src.scene.freezing import TakenOut
from worldline._src.scene.geometry import Geometry, ShapeType
from worldline._src.scene.keyframes import Keyframe
from worldline._src.scene.kinds import describe, to_float
from worldline._src.scene.options import CompileOptions, SimulateOption
from worldline._src.scene.report import Report
from worldline._src.scene.sensors import SensorSet
from worldline._src.scene.summary import summarize
from worldline._src.scene.tendons import TendonSet
from worldline._src.scene.texts import TEXT
from worldline._src.scene.validate import validate
from worldline._src.scene.vectors import Numbers, VectorLike
from worldline._src.scene.visual import SceneStatistic, Visual


class CustomData(Struct):
    """Numbers and texts of the user, which mean nothing to the engine."""

    numeric: dict[str, list[float]] = field(
        default_factory=dict, converter=TableOf("custom number", Numbers()), doc="Numbers by name."
    )
    text: dict[str, str] = field(
        default_factory=dict, converter=TableOf("custom text", TEXT), doc="Texts by name."
    )


class World(Struct):
    """A scene: bodies, assets, actuators, sensors, constraints and options.

    Worlds compare equal when they say the same; where they were read from does not count.

    Example:
        >>> from worldline import msd
        >>> world = msd.World(name="demo")
        >>> ground = world.add_ground_plane(0.0)
        >>> ball = msd.Body(free=msd.FreeJoint(), link=msd.Link(name="ball"))
        >>> ball.link.local_translation = (0, 0, 1)
        >>> ball.link.geoms.append(msd.Geometry(size=(0.1, 0, 0)))
        >>> world.hierarchy.bodies.append(ball)
        >>> world.validate()
        >>> msd.from_str(world.to_str(), format="msd") == world
        True
    """

    actuators: Parts[Actuator] = parts(Actuator, "Actuators, in the order of the control vector.")
    assets: AssetSpecs = part(AssetSpecs, "Meshes, materials, textures.")
    collision_ignores: CollisionIgnores = part(CollisionIgnores, "Pairs that never touch.")
    compile_options: CompileOptions = part(CompileOptions, "Compiler options.")
    equality_constraint_set: EqualityConstraintSet = part(EqualityConstraintSet, "Equality constraints.")
    free_camera: FreeCamera = part(FreeCamera, "Start of the viewer's camera.")
    hierarchy: Hierarchy = part(Hierarchy, "Bodies, and fixed things.")
    keyframes: Parts[Keyframe] = parts(Keyframe, "Saved states.")
    name: str = value(TEXT, "", "Name of the scene.")
    sensors: SensorSet = part(SensorSet, "Sensors.")
    simulate_option: SimulateOption = part(SimulateOption, "Options.")
    source_path: str | None = field(
        default=None,
        converter=OptionalOf(TEXT),
        doc="File the scene came from, absolute; relative asset paths start at its directory.",
        compared=False,
    )
    statistic: SceneStatistic = part(SceneStatistic, "Size of the scene.")
    tendon_set: TendonSet = part(TendonSet, "Tendons.")
    visual: Visual = part(Visual, "Rendering.")
    loop_closures: Parts[LoopClosure] = parts(LoopClosure, "Closures of loops.")
    couplers: Parts[JointCoupler] = parts(JointCoupler, "Gears between joints.")
    distance_springs: Parts[DistanceSpring] = parts(DistanceSpring, "Springs in space.")
    ground_points: Parts[GroundPoint] = parts(GroundPoint, "Points of links on a ground plane.")
    joints: Parts[WorldJoint] = parts(WorldJoint, "Joints beside the trees.")
    frames: Parts[Frame] = parts(Frame, "Named frames.")
    multibodies: Parts[Multibody] = parts(
        Multibody, "Multibodies of a simulation whose bodies do not define all."
    )
    contact_pairs: Parts[ContactPair] = parts(ContactPair, "Pairs with own contact.")
    differentiable_parameters: Parts[DifferentiableParameter] = parts(
        DifferentiableParameter, "Parameters that derivatives are taken against."
    )
    custom: CustomData = part(CustomData, "Data of the user.")

    @property
    def report(self) -> Report:
        """What a reader approximated or left out on the way into this scene; empty otherwise."""
        return self.__dict__.setdefault("_report", Report())

    @report.setter
    def report(self, value: Report) -> None:
        self.__dict__["_report"] = value

    def _copy(self, writer: Writer) -> World:
        copied = super()._copy(writer)
        copied.report = Report()
        copied.report.extend(self.report)
        return copied

    def add_ground_plane(self, height: float) -> Geometry:
        """Adds an infinite plane at z = `height`, m, solid below, and returns it.

        It is named `ground_N` with the first free number N.
        """
        z = to_float(height)
        if z is None or not math.isfinite(z):
            raise ArgumentError(f"height: given {describe(height)}; allowed: a finite number")
        taken = {geom.name for geom in self.hierarchy.geoms}
        taken |= {geom.name for link in self.hierarchy.links() for geom in link.geoms}
        number = next(n for n in range(len(taken) + 1) if f"ground_{n}" not in taken)
        plane = Geometry(name=f"ground_{number}", shape=ShapeType.InfinitePlane, position=(0.0, 0.0, z))
        self.hierarchy.geoms.append(plane)
        return plane

    def deepcopy(self) -> World:
        """A copy that shares nothing with this world."""
        return clone(self)

    def attach(
        self,
        other: World,
        self_link_name: str | None = None,
        other_link_name: str | None = None,
        other_translation: VectorLike | None = None,
        other_rotation: VectorLike | None = None,
        other_prefix: str | None = None,
        other_suffix: str | None = None,
    ) -> World:
        """Adds a copy of another scene and returns this one.

        Bodies, what is fixed to the other world, assets, actuators, sensors and constraints come
        along; options, rendering and keyframes do not, which `report` notes. Keyframes of this
        scene are kept and extended by the reference pose of what came. Relative asset paths keep
        meaning the same files.

        Args:
            other: The scene to add; it is not changed.
            self_link_name: Link of this scene that takes the place of the other world; None puts
                everything beside what is here. A link cannot take free or mocap bodies.
            other_link_name: Take only this link, all below it, and what refers to nothing else.
            other_translation: Where the other world comes to lie, m, (3,).
            other_rotation: How the other world is turned, xyzw, (4,).
            other_prefix: Put before every name that comes.
            other_suffix: Put after every name that comes.

        Raises:
            ArgumentError: A link that does not exist.
            SceneError: Names that both scenes use, or bodies that cannot be attached; this scene
                is unchanged.

        Example:
            >>> from worldline import msd
            >>> arm = msd.World()
            >>> arm.hierarchy.bodies.append(msd.Body(link=msd.Link(name="hand")))
            >>> tool = msd.World()
            >>> tool.hierarchy.bodies.append(msd.Body(link=msd.Link(name="jaw")))
            >>> arm.attach(tool, "hand", other_translation=(0, 0, 0.1), other_prefix="left_")
            World(hierarchy=Hierarchy(bodies=[1 x Body]))
            >>> [link.name for link in arm.hierarchy.links()]
            ['hand', 'left_jaw']
        """
        links, pose = (self_link_name, other_link_name), (other_translation, other_rotation)
        compose.attach(self, other, *links, *pose, other_prefix, other_suffix)
        return self

    def freeze(self, joints: Mapping[str, Sequence[float]]) -> list[TakenOut]:
        """Weld joints at coordinates, by name: a reduced scene.

        Actuators, sensors, tendons and constraints that refer to such a joint are taken out.

        Args:
            joints: coordinates by name of joint, m or rad, quaternions xyzw.

        Returns:
            What was taken out; `unfreeze` puts it back.

        Example:
            >>> from worldline import msd
            >>> scene = msd.from_str(
            ...     "<mujoco><worldbody><body name='bob'><joint name='hinge' axis='0 1 0'/>"
            ...     "<geom size='0.1' pos='0 0 -1'/></body></worldbody></mujoco>", format="mjcf")
            >>> scene.freeze({"hinge": [0.5]})
            []
            >>> msd.build(scene).joint_dof_count
            0
        """
        return freezing.freeze(self, joints)

    def unfreeze(self, joints: Iterable[str], given_back: Iterable[TakenOut] = ()) -> None:
        """Let joints move again, by name, and put back what `freeze` took out."""
        freezing.unfreeze(self, joints, given_back)

    def validate(self) -> None:
        """Raises a `SceneError` with everything that is wrong with the scene, if anything is.

        Checked are types and shapes (lists and arrays may have been edited in place), NaN and
        infinities, ranges of values, zero axes, duplicate names, references to nothing, links in
        cycles, sizes of keyframes, and limits on depth and number.
        """
        validate(self)

    def summary(self) -> str:
        """What the scene holds, as a few lines of text."""
        return summarize(self)

    # the formats stand above the description, so they are only reached when called

    def to_str(
        self,
        *,
        format: str = "msd",
        file_path: str | PathLike[str] | None = None,
        defaults: bool = False,
        indented: bool = False,
        strict: bool = False,
        report: Report | None = None,
    ) -> str:
        """The scene as text, MSD JSON unless another format is named.

        `from_str(..., format="msd")` reads MSD back exactly. Foreign formats cannot say everything; what
        they cannot say is noted in the report.

        Args:
            format: One of `msd`, `mjcf`, `urdf` and `sdf`.
            file_path: File the text is meant for; relative asset paths are made to start there.
            defaults: Write fields that hold their default as well; only MSD.
            indented: MSD on many lines, for people, else on one; XML always is on many.
            strict: Raise if anything would be approximated or left out.
            report: Takes the notes on what was approximated or left out, by path in the scene.

        Raises:
            SceneError: A scene that is not valid, or with `strict` everything that would be lost.

        Example:
            >>> from worldline import msd
            >>> world = msd.World(name="demo")
            >>> ground = world.add_ground_plane(0.0)
            >>> print(world.to_str())
            {"hierarchy":{"geoms":[{"name":"ground_0","shape":"InfinitePlane"}]},"name":"demo"}
        """
        from worldline._src.scene.formats import writing

        return writing.to_text(self, format, file_path, defaults, indented, strict, report)

    def to_msgpack(self, *, file_path: str | PathLike[str] | None = None, defaults: bool = False) -> bytes:
        """The scene as MSD msgpack, which `from_msgpack` reads back exactly; see `to_str`.

        Meshes are stored as their raw little-endian bytes.
        """
        from worldline._src.scene.formats import writing

        return writing.to_bytes(self, file_path, defaults)

    def to_file(
        self,
        path: str | PathLike[str],
        *,
        format: str | None = None,
        defaults: bool = False,
        strict: bool = False,
    ) -> Report:
        """Writes the scene in the format of the suffix, and returns what that format could not say.

        `.json` and `.msd` are MSD JSON, `.msgpack` and `.mpk` MSD msgpack, which say everything; `.xml` and
        `.mjcf` are MJCF, `.urdf` is URDF, `.sdf` and `.world` are SDF. Relative asset paths are rewritten to
        start at the new file. Meshes and images in memory that a format wants as files go to a folder
        `NAME_assets` beside it. All files appear whole or not at all.

        Args:
            path: The file; one that is there is replaced.
            format: `msd`, `msgpack`, `mjcf`, `urdf` or `sdf`, whatever the suffix; None goes by the suffix.
            defaults: Write fields that hold their default as well; only the MSD formats.
            strict: Raise if anything would be approximated or left out, before anything is written.

        Returns:
            The notes on what was approximated or left out, by path in the scene; empty for MSD.

        Raises:
            ArgumentError: A suffix or a format that is not known.
            SceneError: A scene that is not valid, or with `strict` everything that would be lost.

        Example:
            >>> import tempfile
            >>> from worldline import msd
            >>> with tempfile.TemporaryDirectory() as directory:
            ...     msd.World(name="empty").to_file(directory + "/scene.msgpack")
            <Report: 0 entries, 0 losses>
        """
        from worldline._src.scene.formats import writing

        return writing.to_file(self, path, format=format, defaults=defaults, strict=strict)
