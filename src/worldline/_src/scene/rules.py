# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Validation rules of scene objects beyond those of single fields.

Each rule sees an object whose fields have the right types and ranges, and notes what does not fit
together. Bounds of single fields stand with the fields, references and names with `validate`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from worldline._src.scene import closures
from worldline._src.scene.asset_specs import HFieldSource, MeshData
from worldline._src.scene.bodies import Body, BodyKind, Frame, Inertia
from worldline._src.scene.constraints import EQUALITY_RULES, EqualityConnect, EqualityWeld
from worldline._src.scene.contact import CollisionIgnores, ContactPair, PhysicsMaterial
from worldline._src.scene.contexts import Probe
from worldline._src.scene.geometry import SHAPES, Geometry, ShapeType, Site
from worldline._src.scene.joints import JOINTS, DriveType, Joint, JointType
from worldline._src.scene.options import CompileOptions, SimulateOption
from worldline._src.scene.tendons import JointTendon, SpatialTendon
from worldline._src.scene.values import StiffnessDamping

# looking up a member of an enumeration takes Python ten times as long as looking up a name
_MESH, _HFIELD = ShapeType.Mesh, ShapeType.HField
# half sizes that have to be positive; the others are not used
_SIZES: Final = {shape: (facts.lengths, facts.sizes) for shape, facts in SHAPES.items() if facts.sizes}
_CONDIMS: Final = (1, 3, 4, 6)
_NEED_AXIS: Final = {kind for kind, facts in JOINTS.items() if facts.axes}
_ONE_AXIS: Final = (JointType.Revolute, JointType.Slide)
"""Joints between bodies that can have a motor."""
_NEED_AXIS2: Final = {kind for kind, facts in JOINTS.items() if facts.axes == 2}


def _geometry(geom: Geometry, probe: Probe, path: str) -> None:
    if geom.shape is _MESH and geom.mesh is None:
        probe.reject(f"{path}.mesh", "None", "the name of a mesh, since the shape is Mesh")
    if geom.shape is _HFIELD and geom.hfield is None:
        probe.reject(f"{path}.hfield", "None", "the name of a hfield, since the shape is HField")
    if geom.mesh is None and geom.shape in _SIZES:
        count, allowed = _SIZES[geom.shape]
        if min(geom.size[:count]) <= 0.0:
            probe.reject(f"{path}.size", str(geom.size), f"{allowed} for a {geom.shape.name}")
    if geom.mesh_scale is not None and not geom.mesh_scale.all():
        probe.reject(f"{path}.mesh_scale", str(geom.mesh_scale.tolist()), "no zero")


def _site(site: Site, probe: Probe, path: str) -> None:
    ends = site.from_to
    if ends is not None and ends[:3] == ends[3:]:
        probe.reject(f"{path}.from_to", str(ends), "two different points")


def _condim(owner: PhysicsMaterial | ContactPair, probe: Probe, path: str) -> None:
    if owner.condim not in _CONDIMS:
        probe.reject(f"{path}.condim", str(owner.condim), "1, 3, 4 or 6")


def _contact_pair(pair: ContactPair, probe: Probe, path: str) -> None:
    _condim(pair, probe, path)
    _distinct(pair.geom_a, pair.geom_b, probe, f"{path}.geom_b")


def _ignores(ignores: CollisionIgnores, probe: Probe, path: str) -> None:
    for index, (a, b) in enumerate(ignores.link_pairs):
        _distinct(a, b, probe, f"{path}.link_pairs[{index}]")


def _distinct(a: str | None, b: str | None, probe: Probe, path: str) -> None:
    if a is not None and a == b:
        probe.reject(path, f"{a!r} twice", "two different objects")


def _inertia(inertia: Inertia, probe: Probe, path: str) -> None:
    if not inertia.is_checked:
        return
    moments = inertia.diag_inertia
    if moments is not None and moments.min() < 0.0:
        probe.reject(f"{path}.diag_inertia", str(moments.tolist()), "moments >= 0")
    if inertia.full_inertia is not None:
        xx, yy, zz, xy, xz, yz = inertia.full_inertia
        tensor = _scaled(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        if np.linalg.eigvalsh(tensor)[0] < -1.0e-9:
            allowed = "a tensor without negative principal moments"
            probe.reject(f"{path}.full_inertia", str(inertia.full_inertia), allowed)


def _scaled(values: np.ndarray) -> np.ndarray:
    """The values over the largest of them, so that no product overflows."""
    largest = abs(values).max()
    return values / largest if largest else values


def parallel(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two vectors span no plane."""
    return bool(np.linalg.norm(np.cross(_scaled(a), _scaled(b))) <= 1.0e-9)


def _joint(joint: Joint, probe: Probe, path: str) -> None:
    kind = joint.type_
    if kind in _NEED_AXIS and not any(joint.axis.tolist()):
        probe.reject(f"{path}.axis", "a zero axis", f"a direction, since the type is {kind.name}")
    elif kind in _NEED_AXIS2 and parallel(joint.axis, joint.axis2):
        allowed = f"a direction across {joint.axis.tolist()}"
        probe.reject(f"{path}.axis2", str(joint.axis2.tolist()), allowed)
    JOINTS[kind].rule(joint, probe, path)
    if joint.dofs and len(joint.dofs) != joint.full_sizes[1]:
        allowed = f"none, or {joint.full_sizes[1]} for a {kind.name} joint"
        probe.reject(f"{path}.dofs", f"{len(joint.dofs)} entries", allowed)
    if joint.frozen is not None:
        count = joint.full_sizes[0]
        if len(joint.frozen) != count:
            probe.reject(f"{path}.frozen", f"{len(joint.frozen)} numbers", f"{count} coordinates")
        elif count > joint.full_sizes[1] and not any(joint.frozen[-4:]):
            probe.reject(f"{path}.frozen", "a zero quaternion", "a rotation, xyzw")


def _body(body: Body, probe: Probe, path: str) -> None:
    jointed = any(joint.type_ is not JointType.Fixed for joint in body.link.joints)
    if body.mocap and (body.free is not None or jointed):
        probe.reject(f"{path}.mocap", "True on a base that moves", "only on a fixed base")
    if body.mocap and body.kind is not BodyKind.Dynamic:
        probe.reject(f"{path}.mocap", f"True on a {body.kind.name} body", "one of both")


def _frame(frame: Frame, probe: Probe, path: str) -> None:
    if frame.parent_link is not None and frame.parent_frame is not None:
        probe.reject(path, "both a parent link and a parent frame", "one of them, or neither")


def _frame_ref(ref: closures.FrameRef, probe: Probe, path: str) -> None:
    if ref.link is not None and ref.frame is not None:
        probe.reject(path, "both a link and a frame", "one of them, or neither for the world")


def _ends(a: closures.FrameRef, b: closures.FrameRef, probe: Probe, path: str) -> None:
    if a.owner == b.owner:
        name = a.link or a.frame or "the world"
        probe.reject(path, f"{name!r} on both ends", "two distinct frames")


def _closure(closure: closures.LoopClosure, probe: Probe, path: str) -> None:
    _ends(closure.frame_a, closure.frame_b, probe, path)
    if closure.distance and closure.family is not closures.LoopClosureFamily.Distance:
        allowed = f"0, since the family is {closure.family.name}"
        probe.reject(f"{path}.distance", str(closure.distance), allowed)


def _spring(spring: closures.DistanceSpring, probe: Probe, path: str) -> None:
    _ends(spring.frame_a, spring.frame_b, probe, path)


def _ground_contact(contact: closures.GroundContact, probe: Probe, path: str) -> None:
    if not np.any(contact.plane_normal):
        given = str(contact.plane_normal.tolist())
        probe.reject(f"{path}.plane_normal", given, "a vector with a direction")


def _world_joint(joint: closures.WorldJoint, probe: Probe, path: str) -> None:
    _ends(joint.parent, joint.child, probe, path)
    if joint.joint.pos.any():
        allowed = "zero; the anchors are those of parent and child"
        probe.reject(f"{path}.joint.pos", str(joint.joint.pos.tolist()), allowed)
    for name in ("effort_limit", "velocity_limit"):
        limit = getattr(joint, name)
        if not limit.lower <= 0.0 <= limit.upper:
            allowed = "bounds with zero between them"
            probe.reject(f"{path}.{name}", f"{limit.lower} to {limit.upper}", allowed)
        elif limit.is_bounded and joint.joint.type_ not in _ONE_AXIS:
            probe.reject(f"{path}.{name}", "bounds", f"none for a joint of type {joint.joint.type_.name}")
    drive = joint.joint.drive
    if drive is DriveType.Mimic:
        probe.reject(f"{path}.joint.drive", drive.name, "a drive that follows no other joint")
    elif joint.joint.type_ not in _ONE_AXIS:
        if drive not in (DriveType.Force, DriveType.Passive):
            allowed = f"Force or Passive for a joint of type {joint.joint.type_.name}"
            probe.reject(f"{path}.joint.drive", drive.name, allowed)
        if any(joint.command.tolist()):
            probe.reject(f"{path}.command", str(joint.command.tolist()), "zeros, without a single axis")
        for name in ("friction_loss", "armature", "spring_damper"):
            if given := getattr(joint.joint, name):
                allowed = f"none for a joint of type {joint.joint.type_.name}"
                shown = "a spring" if name == "spring_damper" else str(given)
                probe.reject(f"{path}.joint.{name}", shown, allowed)
    spring = joint.joint.spring_damper
    if spring is not None and not isinstance(spring.coeff.value, StiffnessDamping):
        allowed = "stiffness and damping, for a joint between bodies"
        probe.reject(f"{path}.joint.spring_damper.coeff", "frequency and damping ratio", allowed)
    for name in ("dofs", "frozen"):
        if getattr(joint.joint, name):
            probe.reject(f"{path}.joint.{name}", "settings", "none for a joint between bodies")


def _projection(policy: closures.ProjectionPolicy, probe: Probe, path: str) -> None:
    if policy.start_stiffness > min(policy.linear_stiffness, policy.angular_stiffness):
        allowed = "no more than the stiffness of translation and rotation"
        probe.reject(f"{path}.start_stiffness", str(policy.start_stiffness), allowed)


def _coupler(coupler: closures.JointCoupler, probe: Probe, path: str) -> None:
    if coupler.joint_dof == coupler.reference_dof:
        _distinct(coupler.joint, coupler.reference, probe, f"{path}.reference")


def _variant_ends(value: dict[str, Any], probe: Probe, path: str) -> None:
    for first, second in (("link_a", "link_b"), ("site_a", "site_b")):
        if first in value:
            _distinct(value[first], value[second], probe, path)


def _connect(connect: EqualityConnect, probe: Probe, path: str) -> None:
    _variant_ends(connect.connect_type.value, probe, f"{path}.connect_type")


def _weld(weld: EqualityWeld, probe: Probe, path: str) -> None:
    value = weld.weld_type.value
    _variant_ends(value, probe, f"{path}.weld_type")
    pose = value.get("relative_pose")
    if pose is not None and not any(pose[3:]):
        inside = f"{path}.weld_type.LinkAnchor.relative_pose"
        probe.reject(inside, str(pose), "a place and a quaternion that is not zero")


def _joint_tendon(tendon: JointTendon, probe: Probe, path: str) -> None:
    if not tendon.joints:
        probe.reject(f"{path}.joints", "no joints", "at least one")


def _spatial_tendon(tendon: SpatialTendon, probe: Probe, path: str) -> None:
    sites = sum(node.variant == "site" for node in tendon.path)
    if sites < 2:
        probe.reject(f"{path}.path", f"{sites} sites", "at least two")


def _mesh(mesh: MeshData, probe: Probe, path: str) -> None:
    count = mesh.vertex_count
    if mesh.triangles is None:
        if count % 3:
            allowed = "a multiple of three, since there are no triangles"
            probe.reject(f"{path}.vertices", f"{count} vertices", allowed)
    elif mesh.triangles.size and not 0 <= mesh.triangles.min() <= mesh.triangles.max() < count:
        given = f"indices {mesh.triangles.min()} to {mesh.triangles.max()}"
        probe.reject(f"{path}.triangles", given, f"indices of the {count} vertices")
    for name in ("normal", "texcoord", "tangents"):
        rows = getattr(mesh, name)
        if rows is not None and len(rows) != count:
            probe.reject(f"{path}.{name}", f"{len(rows)} rows", f"{count}, one for each vertex")


def _hfield(hfield: HFieldSource, probe: Probe, path: str) -> None:
    if min(hfield.size) <= 0.0:
        probe.reject(f"{path}.size", str(hfield.size), "two sizes > 0")
    if hfield.source_type.variant != "buffer":
        return
    heights = hfield.source_type.value["hfield"]
    if min(hfield.nrow, hfield.ncol) < 2:
        probe.reject(path, f"{hfield.nrow} rows, {hfield.ncol} columns", "at least 2 of both")
    elif heights.size != hfield.nrow * hfield.ncol or (
        heights.ndim == 2 and heights.shape != (hfield.nrow, hfield.ncol)
    ):
        inside = f"{path}.source_type.Buffer.hfield"
        allowed = f"{hfield.nrow} rows of {hfield.ncol} heights"
        probe.reject(inside, f"an array of shape {heights.shape}", allowed)


def _simulate(option: SimulateOption, probe: Probe, path: str) -> None:
    friction = option.override_friction
    if friction is not None and len(friction) not in (3, 5):
        probe.reject(f"{path}.override_friction", f"{len(friction)} numbers", "3 or 5 numbers")


def _compile(options: CompileOptions, probe: Probe, path: str) -> None:
    groups = options.inertia_groups
    if groups is not None and groups[0] > groups[1]:
        probe.reject(f"{path}.inertia_groups", str(groups), "first <= last")


def _parameter(parameter: closures.DifferentiableParameter, probe: Probe, path: str) -> None:
    lower, upper = parameter.lower, parameter.upper
    if lower is None or upper is None:
        return
    if lower.shape != upper.shape or (lower > upper).any():
        probe.reject(path, f"{lower.tolist()} to {upper.tolist()}", "lower <= upper")


RULES: Final[dict[type, Callable[[Any, Probe, str], None]]] = {
    Geometry: _geometry,
    Site: _site,
    PhysicsMaterial: _condim,
    ContactPair: _contact_pair,
    CollisionIgnores: _ignores,
    Inertia: _inertia,
    Joint: _joint,
    Body: _body,
    Frame: _frame,
    closures.FrameRef: _frame_ref,
    closures.LoopClosure: _closure,
    closures.DistanceSpring: _spring,
    closures.GroundContact: _ground_contact,
    closures.WorldJoint: _world_joint,
    closures.ProjectionPolicy: _projection,
    closures.JointCoupler: _coupler,
    EqualityConnect: _connect,
    EqualityWeld: _weld,
    **EQUALITY_RULES,
    JointTendon: _joint_tendon,
    SpatialTendon: _spatial_tendon,
    MeshData: _mesh,
    HFieldSource: _hfield,
    SimulateOption: _simulate,
    CompileOptions: _compile,
    closures.DifferentiableParameter: _parameter,
}
