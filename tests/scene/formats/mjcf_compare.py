# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scenes against the models that MuJoCo compiles from the same files.

Everything is compared that needs no processing of meshes: the tree and its poses, joints, geoms, given
inertia, tendons, constraints, actuators, sensors, keyframes and options.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mjcf_tables import DISABLE, SENSOR_KINDS, sensor_kind, sensor_targets

from worldline import msd
from worldline._src.scene.layout import layout

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick here")

TOLERANCE = 1e-12
"""Both sides do the same few operations in double precision."""


class Comparison:
    """Differences between a scene and a compiled model."""

    def __init__(self, world: msd.World, model: Any) -> None:
        self.world, self.model = world, model
        self.found: list[str] = []
        self.links = list(world.hierarchy.links())
        self.joints: list[tuple[msd.Link, Any]] = []
        for body in world.hierarchy.bodies:
            for link in body.link.walk():
                if link is body.link and body.free is not None:
                    self.joints.append((link, body.free))
                self.joints += [(link, joint) for joint in link.joints]

    def near(self, what: str, ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
        a, b = np.asarray(ours, float), np.asarray(theirs, float)
        if a.shape != b.shape or not np.allclose(a, b, rtol=tolerance, atol=tolerance):
            self.found.append(f"{what}: {np.round(a, 9).tolist()} but {np.round(b, 9).tolist()}")

    def same(self, what: str, ours: Any, theirs: Any) -> None:
        if ours != theirs:
            self.found.append(f"{what}: {ours!r} but {theirs!r}")

    def rotation(self, what: str, xyzw: Any, wxyz: Any) -> None:
        ours = np.asarray(xyzw, float)[[3, 0, 1, 2]]
        theirs = np.asarray(wxyz, float)
        sign = 1.0 if ours @ theirs >= 0.0 else -1.0
        self.near(what, ours * sign, theirs)

    def name(self, kind: str, index: int) -> str | None:
        return mujoco.mj_id2name(self.model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), index)

    def spring(self, what: str, ours: msd.ImpedanceSpring, solref: Any, solimp: Any) -> None:
        first, second = solref
        if first > 0.0:
            expected = (1.0 / (first * second) ** 2, 2.0 / first)
        else:
            expected = (-first, -second)
        self.near(f"{what} spring", (ours.spring.k, ours.spring.d), expected, 1e-9)
        self.same(f"{what} direct", ours.direct, bool(first <= 0.0))
        i = ours.impedance
        self.near(f"{what} impedance", (i.d0, i.dmax, i.width, i.middle, i.power), solimp)

    def friction(self, what: str, ours: msd.ImpedanceDamping, solref: Any, solimp: Any) -> None:
        expected = 2.0 / solref[0] if solref[0] > 0.0 else -solref[1]
        self.near(f"{what} damping", ours.damping, expected, 1e-9)
        self.near(f"{what} impedance", (ours.impedance, ours.dmax), solimp[:2])

    def limits(self, what: str, ours: msd.Range | None, limited: Any, ends: Any) -> None:
        bounded = ours is not None and ours.is_bounded
        self.same(f"{what} limited", bounded, bool(limited))
        if bounded and limited:
            assert ours is not None
            self.near(what, (ours.lower, ours.upper), ends)

    def all(self) -> list[str]:
        self.bodies()
        self.compare_joints()
        self.geoms()
        self.sites()
        self.cameras_and_lights()
        self.tendons()
        self.equalities()
        self.contacts()
        self.actuators()
        self.sensors()
        self.options()
        self.keyframes()
        return self.found

    def bodies(self) -> None:
        m = self.model
        self.same("bodies", len(self.links) + 1, m.nbody)
        if len(self.links) + 1 != m.nbody:
            return
        numbers = {id(link): index + 1 for index, link in enumerate(self.links)}
        for body in self.world.hierarchy.bodies:
            self.same("mocap", body.mocap, bool(m.body_mocapid[numbers[id(body.link)]] >= 0))
            self.same("parent", 0, int(m.body_parentid[numbers[id(body.link)]]))
        plain = self.world.compile_options.total_mass is None and not self.world.compile_options.bound_mass
        for link in self.links:
            i = numbers[id(link)]
            what = f"body {link.name}"
            self.same(f"{what} name", link.name, self.name("BODY", i))
            for child in link.children:
                self.same(f"{what} child", i, int(m.body_parentid[numbers[id(child)]]))
            self.near(f"{what} pos", link.local_translation, m.body_pos[i])
            self.rotation(f"{what} quat", link.local_rotation, m.body_quat[i])
            self.near(f"{what} gravcomp", link.gravcomp, m.body_gravcomp[i])
            source = self.world.compile_options.inertia_source
            if link.inertial.mass is not None and plain and source is not msd.InertiaSource.Geometry:
                self.inertia(what, link.inertial, i)

    def inertia(self, what: str, ours: msd.Inertia, i: int) -> None:
        m = self.model
        self.near(f"{what} mass", ours.mass, m.body_mass[i])
        self.near(f"{what} ipos", ours.pos, m.body_ipos[i])
        matrix = np.zeros(9)
        mujoco.mju_quat2Mat(matrix, m.body_iquat[i])
        turn = matrix.reshape(3, 3)
        theirs = turn @ np.diag(m.body_inertia[i]) @ turn.T
        if ours.full_inertia is not None:
            xx, yy, zz, xy, xz, yz = ours.full_inertia
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            quaternion = np.asarray(ours.orientation)[[3, 0, 1, 2]]
            mujoco.mju_quat2Mat(matrix, quaternion)
            turn = matrix.reshape(3, 3)
            tensor = turn @ np.diag(ours.diag_inertia) @ turn.T
        # relative to the size of the tensor, since MuJoCo finds its principal axes by iteration
        scale = max(abs(theirs).max(), 1e-300)
        self.near(f"{what} inertia", tensor / scale, theirs / scale, 1e-9)

    def compare_joints(self) -> None:
        m = self.model
        self.same("joints", len(self.joints), m.njnt)
        types = {"Ball": 1, "Slide": 2, "Revolute": 3}
        for i, (link, joint) in enumerate(self.joints[: m.njnt]):
            what = f"joint {joint.name}"
            self.same(f"{what} name", joint.name, self.name("JOINT", i))
            self.same(f"{what} body", link.name, self.name("BODY", m.jnt_bodyid[i]))
            v, q = m.jnt_dofadr[i], m.jnt_qposadr[i]
            self.near(f"{what} armature", joint.armature, m.dof_armature[v])
            self.near(f"{what} frictionloss", joint.friction_loss, m.dof_frictionloss[v])
            self.friction(f"{what} friction", joint.friction_damping, m.dof_solref[v], m.dof_solimp[v])
            if isinstance(joint, msd.FreeJoint):
                self.same(f"{what} type", 0, int(m.jnt_type[i]))
                self.near(f"{what} damping", joint.damping, m.dof_damping[v])
                self.near(f"{what} stiffness", joint.stiffness, m.jnt_stiffness[i])
                continue
            kind = joint.type_.name
            self.same(f"{what} type", types[kind], int(m.jnt_type[i]))
            self.near(f"{what} pos", joint.pos, m.jnt_pos[i])
            self.limits(f"{what} range", joint.pos_limit, m.jnt_limited[i], m.jnt_range[i])
            self.near(f"{what} margin", joint.margin, m.jnt_margin[i])
            self.spring(f"{what} limit", joint.limit_force.value, m.jnt_solref[i], m.jnt_solimp[i])
            self.same(f"{what} gravcomp", joint.actuator_gravcomp, bool(m.jnt_actgravcomp[i]))
            self.spring_damper(what, joint, i, v, q)
            if kind != "Ball":
                self.near(f"{what} axis", joint.axis, m.jnt_axis[i])
                self.near(f"{what} ref", joint.ref_, m.qpos0[q])
                limited, ends = m.jnt_actfrclimited[i], m.jnt_actfrcrange[i]
                self.limits(f"{what} force", joint.actuator_force_limit, limited, ends)

    def spring_damper(self, what: str, joint: msd.Joint, i: int, v: int, q: int) -> None:
        m = self.model
        spring = joint.spring_damper
        if spring is None:
            self.near(f"{what} spring", (0.0, 0.0), (m.jnt_stiffness[i], m.dof_damping[v]))
        elif spring.coeff.variant == "stiffness_damping":
            expected = (m.jnt_stiffness[i], m.dof_damping[v])
            self.near(f"{what} spring", (spring.coeff.value.k, spring.coeff.value.d), expected)
        else:
            # both follow from one inertia
            w, z = spring.coeff.value.w, spring.coeff.value.z
            self.near(f"{what} ratio", 2.0 * z / w, m.dof_damping[v] / m.jnt_stiffness[i], 1e-9)
        if joint.type_ is not msd.JointType.Ball:
            self.near(f"{what} springref", spring.target_pos if spring else 0.0, m.qpos_spring[q])

    def geoms(self) -> None:
        m = self.model
        shapes = {"InfinitePlane": 0, "HField": 1, "Sphere": 2, "Capsule": 3, "Ellipsoid": 4}
        shapes |= {"Cylinder": 5, "Box": 6, "Mesh": 7}
        geoms = [(None, geom) for geom in self.world.hierarchy.geoms]
        geoms += [(link, geom) for link in self.links for geom in link.geoms]
        self.same("geoms", len(geoms), m.ngeom)
        for i, (link, geom) in enumerate(geoms[: m.ngeom]):
            what = f"geom {geom.name or i}"
            self.same(f"{what} name", geom.name, self.name("GEOM", i))
            self.same(f"{what} body", link.name if link else "world", self.name("BODY", m.geom_bodyid[i]))
            self.same(f"{what} type", shapes[geom.shape.name], int(m.geom_type[i]))
            if geom.mesh is None:
                self.near(f"{what} pos", geom.position, m.geom_pos[i])
                self.rotation(f"{what} quat", geom.orientation, m.geom_quat[i])
            if geom.mesh is None and geom.hfield is None:
                self.near(f"{what} size", geom.size, m.geom_size[i])
            material = geom.physics_material
            self.near(f"{what} friction", material.friction, m.geom_friction[i])
            self.near(f"{what} solmix", material.force_mix, m.geom_solmix[i])
            self.same(f"{what} condim", material.condim, int(m.geom_condim[i]))
            self.spring(f"{what} sol", material.contact_model.value, m.geom_solref[i], m.geom_solimp[i])
            self.near(f"{what} margin", (geom.margin - geom.gap, geom.gap), (m.geom_margin[i], m.geom_gap[i]))
            mask = geom.collision_mask
            self.same(f"{what} contype", mask.collide_group, int(m.geom_contype[i]))
            self.same(f"{what} conaffinity", mask.collide_with, int(m.geom_conaffinity[i]))
            self.same(f"{what} priority", geom.priority, int(m.geom_priority[i]))
            if m.geom_group[i] <= 7:
                self.same(f"{what} group", geom.visual.group, int(m.geom_group[i]))
            if geom.visual.color is not None:
                self.near(f"{what} rgba", geom.visual.color, m.geom_rgba[i], 1e-6)
            if geom.visual.material is not None:
                self.same(f"{what} material", geom.visual.material, self.name("MATERIAL", m.geom_matid[i]))
            if geom.fluid_coefficients is not None:
                self.near(f"{what} fluid", geom.fluid_coefficients, m.geom_fluid[i][1:6])

    def sites(self) -> None:
        m = self.model
        sites = [*self.world.hierarchy.sites, *(site for link in self.links for site in link.sites)]
        self.same("sites", len(sites), m.nsite)
        shapes = {"Sphere": 2, "Capsule": 3, "Ellipsoid": 4, "Cylinder": 5, "Box": 6}
        for i, site in enumerate(sites[: m.nsite]):
            what = f"site {site.name or i}"
            self.same(f"{what} name", site.name, self.name("SITE", i))
            self.same(f"{what} type", shapes[site.shape.name], int(m.site_type[i]))
            self.near(f"{what} pos", site.position, m.site_pos[i])
            self.rotation(f"{what} quat", site.orientation, m.site_quat[i])
            self.near(f"{what} size", site.size, m.site_size[i])
            self.near(f"{what} rgba", site.rgba, m.site_rgba[i], 1e-6)

    def cameras_and_lights(self) -> None:
        m = self.model
        cameras = [*self.world.hierarchy.cameras, *(c for link in self.links for c in link.cameras)]
        self.same("cameras", len(cameras), m.ncam)
        for i, camera in enumerate(cameras[: m.ncam]):
            what = f"camera {camera.name or i}"
            self.same(f"{what} name", camera.name, self.name("CAMERA", i))
            self.near(f"{what} pos", camera.position, m.cam_pos[i])
            self.rotation(f"{what} quat", camera.orientation, m.cam_quat[i])
            if camera.sensor_size is None:
                self.near(f"{what} fovy", camera.fovy, m.cam_fovy[i], 1e-6)
            target = m.cam_targetbodyid[i]
            expected = self.name("BODY", target) if target >= 0 else None
            self.same(f"{what} target", camera.track_target, expected)
        lights = [*self.world.hierarchy.lights, *(x for link in self.links for x in link.lights)]
        self.same("lights", len(lights), m.nlight)
        for i, light in enumerate(lights[: m.nlight]):
            what = f"light {light.name or i}"
            self.near(f"{what} pos", light.position, m.light_pos[i])
            direction = light.direction / np.linalg.norm(light.direction)
            self.near(f"{what} dir", direction, m.light_dir[i])
            self.near(f"{what} diffuse", light.color, m.light_diffuse[i], 1e-6)

    def tendons(self) -> None:
        m = self.model
        ours = {
            t.name: t for t in (*self.world.tendon_set.joint_tendons, *self.world.tendon_set.spatial_tendons)
        }
        count = len(self.world.tendon_set.joint_tendons) + len(self.world.tendon_set.spatial_tendons)
        self.same("tendons", count, m.ntendon)
        for i in range(m.ntendon):
            name = self.name("TENDON", i)
            tendon = ours.get(name)
            what = f"tendon {name}"
            if tendon is None:
                self.found.append(f"{what} is missing")
                continue
            self.limits(f"{what} range", tendon.limit, m.tendon_limited[i], m.tendon_range[i])
            force, ends = m.tendon_actfrclimited[i], m.tendon_actfrcrange[i]
            self.limits(f"{what} force", tendon.actuator_force_limit, force, ends)
            spring = tendon.spring or msd.StiffnessDamping(k=0.0, d=0.0)
            expected = (m.tendon_stiffness[i], m.tendon_damping[i])
            self.near(f"{what} spring", (spring.k, spring.d), expected)
            self.near(f"{what} friction", tendon.frictionloss, m.tendon_frictionloss[i])
            self.near(f"{what} armature", tendon.armature, m.tendon_armature[i])
            self.near(f"{what} margin", tendon.margin, m.tendon_margin[i])
            limit = m.tendon_solref_lim[i], m.tendon_solimp_lim[i]
            self.spring(f"{what} limit", tendon.limit_force, *limit)
            self.friction(
                f"{what} friction", tendon.friction_damping, m.tendon_solref_fri[i], m.tendon_solimp_fri[i]
            )
            length = tendon.spring_length
            if length.variant == "fixed":
                self.near(f"{what} length", [length.value] * 2, m.tendon_lengthspring[i])
            elif length.variant == "range":
                both = (length.value.lower, length.value.upper)
                self.near(f"{what} length", both, m.tendon_lengthspring[i])
            self.path(what, tendon, i)

    def path(self, what: str, tendon: Any, i: int) -> None:
        m = self.model
        start = m.tendon_adr[i]
        rows = range(start, start + m.tendon_num[i])
        kinds = mujoco.mjtWrap
        theirs = []
        for row in rows:
            kind, target, extra = int(m.wrap_type[row]), int(m.wrap_objid[row]), float(m.wrap_prm[row])
            if kind == kinds.mjWRAP_JOINT:
                theirs.append(("joint", self.name("JOINT", target), extra))
            elif kind == kinds.mjWRAP_SITE:
                theirs.append(("site", self.name("SITE", target), None))
            elif kind == kinds.mjWRAP_PULLEY:
                theirs.append(("pulley", extra, None))
            else:
                side = self.name("SITE", round(extra)) if extra >= 0 else None
                theirs.append(("geom", self.name("GEOM", target), side))
        if isinstance(tendon, msd.JointTendon):
            ours: list[Any] = [("joint", node.joint_name, node.weight) for node in tendon.joints]
        else:
            ours = []
            for node in tendon.path:
                if node.variant == "geom":
                    ours.append(("geom", node.value["geom"], node.value["side_site"]))
                else:
                    ours.append((node.variant, node.value, None))
        self.same(f"{what} path", ours, theirs)

    def equalities(self) -> None:
        m = self.model
        made = self.world.equality_constraint_set
        lists = {0: iter(made.connects), 1: iter(made.welds), 2: iter(made.joints), 3: iter(made.tendons)}
        total = len(made.connects) + len(made.welds) + len(made.joints) + len(made.tendons)
        self.same("equalities", total, m.neq)
        for i in range(m.neq):
            ours: Any = next(lists[int(m.eq_type[i])])
            what = f"equality {ours.name or i}"
            self.same(f"{what} name", ours.name, self.name("EQUALITY", i))
            self.same(f"{what} active", ours.active, bool(m.eq_active0[i]))
            self.spring(what, ours.spring, m.eq_solref[i], m.eq_solimp[i])
            data = m.eq_data[i]
            kind = int(m.eq_type[i])
            if kind >= 2:
                space = "JOINT" if kind == 2 else "TENDON"
                names = (ours.joint_a, ours.joint_b) if kind == 2 else (ours.tendon_a, ours.tendon_b)
                second = self.name(space, m.eq_obj2id[i]) if m.eq_obj2id[i] >= 0 else None
                self.same(f"{what} objects", names, (self.name(space, m.eq_obj1id[i]), second))
                self.near(f"{what} polynomial", ours.polycoeff, data[:5])
                continue
            form = ours.connect_type if kind == 0 else ours.weld_type
            value = form.value
            space = "SITE" if form.variant == "site_pair" else "BODY"
            first, last = ("site_a", "site_b") if space == "SITE" else ("link_a", "link_b")
            theirs = self.name(space, m.eq_obj1id[i]), self.name(space, m.eq_obj2id[i])
            self.same(f"{what} objects", (value[first], value[last] or "world"), theirs)
            if kind == 1:
                self.near(f"{what} torquescale", value["torque_scale"], data[10])
            if space == "BODY":
                self.near(f"{what} anchor", value["anchor"], data[:3])
            if kind == 1 and space == "BODY" and value["relative_pose"] is not None:
                pose = np.asarray(value["relative_pose"])
                self.rotation(f"{what} relpose", pose[3:], data[6:10])
                matrix = np.zeros(9)
                mujoco.mju_quat2Mat(matrix, data[6:10])
                point = pose[:3] + matrix.reshape(3, 3) @ value["anchor"]
                self.near(f"{what} relpose", point, data[3:6])

    def contacts(self) -> None:
        m = self.model
        self.same("pairs", len(self.world.contact_pairs), m.npair)
        theirs = {}
        for i in range(m.npair):
            names = frozenset((self.name("GEOM", m.pair_geom1[i]), self.name("GEOM", m.pair_geom2[i])))
            theirs[names] = i
        for pair in self.world.contact_pairs:
            i = theirs.get(frozenset((pair.geom_a, pair.geom_b)))
            what = f"pair {pair.geom_a} {pair.geom_b}"
            if i is None:
                self.found.append(f"{what} is not there")
                continue
            self.same(f"{what} condim", pair.condim, int(m.pair_dim[i]))
            self.near(f"{what} friction", pair.friction, m.pair_friction[i])
            self.spring(what, pair.contact_model.value, m.pair_solref[i], m.pair_solimp[i])
            self.near(f"{what} margin", (pair.margin - pair.gap, pair.gap), (m.pair_margin[i], m.pair_gap[i]))
            other = m.pair_solreffriction[i]
            self.same(f"{what} friction model", pair.friction_model is not None, bool(other.any()))
        ours = {frozenset(pair) for pair in self.world.collision_ignores.link_pairs}
        excluded = set()
        for signature in m.exclude_signature:
            ids = int(signature) >> 16, int(signature) & 0xFFFF
            excluded.add(frozenset(self.name("BODY", index) for index in ids))
        self.same("excludes", ours, excluded)

    def actuators(self) -> None:
        m = self.model
        self.same("actuators", len(self.world.actuators), m.nu)
        for i, actuator in enumerate(self.world.actuators[: m.nu]):
            what = f"actuator {actuator.name or i}"
            self.same(f"{what} name", actuator.name, self.name("ACTUATOR", i))
            self.limits(
                f"{what} ctrl", actuator.ctrlrange, m.actuator_ctrllimited[i], m.actuator_ctrlrange[i]
            )
            force = m.actuator_forcelimited[i], m.actuator_forcerange[i]
            self.limits(f"{what} force", actuator.forcerange, *force)
            self.near(f"{what} gear", actuator.gear, m.actuator_gear[i])
            self.same(f"{what} group", actuator.group, int(m.actuator_group[i]))
            self.law(what, actuator, i)
            self.target(what, actuator, i)

    def law(self, what: str, actuator: msd.Actuator, i: int) -> None:
        m = self.model
        gain, bias, dyn = 0, 0, 0
        gainprm, biasprm, dynprm = np.zeros(10), np.zeros(10), np.eye(10)[0]
        kind, value = actuator.actuator_type.variant, actuator.actuator_type.value
        ratio, damping = False, 0.0
        activation = None
        if kind == "motor":
            gainprm[0] = 1.0
        elif kind == "adhesion":
            gainprm[0] = value
        elif kind == "velocity":
            bias = 1
            gainprm[0], biasprm[2] = value, -value
        elif kind == "position":
            bias = 1
            gainprm[0], biasprm[1] = value.kp, -value.kp
            ratio = value.damping_type is msd.DampingType.Dampratio
            damping = value.damping_value
            biasprm[2] = -damping
            if value.timeconst:
                dyn, dynprm = 3, value.timeconst * np.eye(10)[0]
        else:
            gain = {"Fixed": 0, "Affine": 1, "Muscle": 2}[value.gain.name]
            bias = {"None_": 0, "Affine": 1, "Muscle": 2}[value.bias.name]
            dyn = {"None_": 0, "Integrator": 1, "Filter": 2, "FilterExact": 3, "Muscle": 4}[
                value.dyntype.name
            ]
            gainprm, biasprm, dynprm = value.gainprm, value.biasprm, value.dynprm
            activation = value.actrange
            ratio = value.damping_ratio is not None
            damping = value.damping_ratio or 0.0
        theirs = m.actuator_gaintype[i], m.actuator_biastype[i], m.actuator_dyntype[i]
        self.same(f"{what} law", (gain, bias, dyn), tuple(map(int, theirs)))
        self.near(f"{what} gain", gainprm, m.actuator_gainprm[i])
        if ratio:
            # MuJoCo has already made a damping of it
            self.near(f"{what} bias", biasprm[:2], m.actuator_biasprm[i][:2])
            critical = 2.0 * np.sqrt(max(0.0, gainprm[0]) * self.reflected_mass(i))
            self.near(f"{what} ratio", -damping * critical, m.actuator_biasprm[i][2], 1e-6)
        else:
            self.near(f"{what} bias", biasprm, m.actuator_biasprm[i])
        if dyn:
            self.near(f"{what} dynamics", dynprm, m.actuator_dynprm[i])
            self.limits(f"{what} act", activation, m.actuator_actlimited[i], m.actuator_actrange[i])

    def reflected_mass(self, i: int) -> float:
        """The mass that an actuator feels in the drawn pose."""
        m = self.model
        data = mujoco.MjData(m)
        mujoco.mj_forward(m, data)
        moment = np.zeros((m.nu, m.nv))
        rows = data.moment_rownnz, data.moment_rowadr, data.moment_colind.reshape(-1)
        mujoco.mju_sparse2dense(moment, data.actuator_moment.reshape(-1), *rows)
        solved = np.zeros((1, m.nv))
        mujoco.mj_solveM(m, data, solved, moment[i : i + 1].copy())
        return 1.0 / max(1e-15, float(moment[i] @ solved[0]))

    def target(self, what: str, actuator: msd.Actuator, i: int) -> None:
        m = self.model
        kind, value = actuator.target.variant, actuator.target.value
        transmission, (first, second) = int(m.actuator_trntype[i]), m.actuator_trnid[i]
        t = mujoco.mjtTrn
        expected: dict[str, tuple[Any, ...]] = {
            "joint": (t.mjTRN_JOINT, "JOINT"),
            "floating_base": (t.mjTRN_JOINT, "JOINT"),
            "joint_in_parent": (t.mjTRN_JOINTINPARENT, "JOINT"),
            "tendon": (t.mjTRN_TENDON, "TENDON"),
            "link": (t.mjTRN_BODY, "BODY"),
            "site": (t.mjTRN_SITE, "SITE"),
            "slider_crank": (t.mjTRN_SLIDERCRANK, "SITE"),
        }
        number, space = expected[kind]
        if kind == "joint" and transmission == t.mjTRN_JOINTINPARENT:
            # the same for joints with one axis
            transmission = int(t.mjTRN_JOINT)
        self.same(f"{what} transmission", int(number), transmission)
        if kind == "site":
            self.same(f"{what} site", value["site"], self.name(space, first))
            self.same(f"{what} refsite", value["ref_site"], self.name(space, second) if second >= 0 else None)
        elif kind == "slider_crank":
            names = value["crank_site"], value["slider_site"]
            self.same(f"{what} sites", names, (self.name(space, first), self.name(space, second)))
            self.near(f"{what} crank", value["crank_length"], m.actuator_cranklength[i])
        else:
            self.same(f"{what} target", value, self.name(space, first))

    def sensors(self) -> None:
        m = self.model
        by_list = []
        for name in type(self.world.sensors)._fields:
            if name != "order":
                by_list += getattr(self.world.sensors, name)
        if self.world.sensors.order:
            named = {sensor.name: sensor for sensor in by_list}
            by_list = [named[name] for name in self.world.sensors.order]
        self.same("sensors", len(by_list), m.nsensor)
        for i, sensor in enumerate(by_list[: m.nsensor]):
            what = f"sensor {sensor.name or i}"
            theirs = self.name("SENSOR", i)
            if theirs is not None:
                self.same(f"{what} name", sensor.name, theirs)
            kind = mujoco.mjtSensor(int(m.sensor_type[i])).name.removeprefix("mjSENS_")
            self.same(f"{what} kind", SENSOR_KINDS[kind], sensor_kind(sensor))
            self.near(f"{what} cutoff", sensor.cutoff, m.sensor_cutoff[i])
            self.near(f"{what} noise", sensor.noise, m.sensor_noise[i])
            if isinstance(sensor, msd.FrameSensor):
                whole = {"link": 2, "link_inertia": 1}.get(sensor.object_type.variant)
                if whole is not None:
                    self.same(f"{what} frame", whole, int(m.sensor_objtype[i]))
            for number, (target, space) in enumerate(sensor_targets(sensor)):
                column = m.sensor_objid if number == 0 else m.sensor_refid
                self.same(f"{what} object {number}", target, self.name(space, int(column[i])))

    def options(self) -> None:
        o, option = self.model.opt, self.world.simulate_option
        self.near("timestep", option.timestep, o.timestep)
        self.near("gravity", option.gravity, o.gravity)
        self.near("wind", option.wind, o.wind)
        self.near("magnetic", option.magnetic, o.magnetic)
        self.near("fluid", (option.density, option.viscosity), (o.density, o.viscosity))
        self.near("impratio", option.impedance_ratio, o.impratio)
        self.near("tolerance", option.constraint_solver_tolerance, o.tolerance)
        ours = option.constraint_solver_iterations, option.noslip_iterations, option.line_search_iterations
        self.same("iterations", ours, (o.iterations, o.noslip_iterations, o.ls_iterations))
        integrators = {0: "SemiImplicit", 1: "RungeKutta4", 2: "ImplicitVelocity", 3: "ImplicitFast"}
        assert option.integrator is not None
        self.same("integrator", option.integrator.name, integrators.get(int(o.integrator), "Implicit"))
        self.same("cone", option.friction_model, {0: 2, 1: 1}[int(o.cone)])
        self.same("solver", option.solver_type.name, {0: "PGS", 1: "CG", 2: "Newton"}[int(o.solver)])
        flags = mujoco.mjtDisableBit
        for name, field in DISABLE.items():
            bit = int(getattr(flags, f"mjDSBL_{name}"))
            self.same(f"flag {name}", getattr(option, field), bool(int(o.disableflags) & bit))
        energy = bool(int(o.enableflags) & int(mujoco.mjtEnableBit.mjENBL_ENERGY))
        self.same("energy", option.compute_energy, energy)

    def keyframes(self) -> None:
        m, world = self.model, self.world
        # a file may also ask for memory for keyframes it does not have
        self.same("keyframes", [], [i for i in range(len(world.keyframes), m.nkey) if self.name("KEY", i)])
        slots = {id(slot.joint): slot for slot in layout(world)}
        for i, frame in enumerate(world.keyframes[: m.nkey]):
            what = f"key {frame.name or i}"
            self.same(f"{what} name", frame.name, self.name("KEY", i))
            self.near(f"{what} time", frame.time or 0.0, m.key_time[i])
            if len(frame.ctrl):
                self.near(f"{what} ctrl", frame.ctrl, m.key_ctrl[i])
            if len(frame.act):
                self.near(f"{what} act", frame.act, m.key_act[i])
            if len(frame.mocap_pos):
                self.near(f"{what} mpos", frame.mocap_pos, m.key_mpos[i].reshape(-1, 3))
            if len(frame.mocap_quat):
                theirs = m.key_mquat[i].reshape(-1, 4)[:, [1, 2, 3, 0]]
                self.near(f"{what} mquat", frame.mocap_quat, theirs)
            for number, (_, joint) in enumerate(self.joints):
                slot = slots[id(joint)]
                self.key_joint(f"{what} {joint.name}", frame, slot, m, i, number)

    def key_joint(self, what: str, frame: msd.Keyframe, slot: Any, m: Any, i: int, number: int) -> None:
        q, v = m.jnt_qposadr[number], m.jnt_dofadr[number]
        theirs = m.key_qpos[i][q : q + slot.q_count]
        if len(frame.dof_pos):
            ours = frame.dof_pos[slot.q_start : slot.q_start + slot.q_count]
        else:
            ours = slot.reference()
        if slot.q_count in (4, 7):
            self.near(f"{what} pos", ours[:-4], theirs[:-4])
            self.rotation(f"{what} quat", ours[-4:], theirs[-4:] / np.linalg.norm(theirs[-4:]))
        else:
            self.near(f"{what} qpos", ours, theirs)
        if len(frame.dof_vel):
            speeds = frame.dof_vel[slot.v_start : slot.v_start + slot.v_count]
            self.near(f"{what} qvel", speeds, m.key_qvel[i][v : v + slot.v_count])


def differences(world: msd.World, model: Any) -> str:
    found = Comparison(world, model).all()
    return "\n".join(found[:20])


def compare(text: str, *, losses: bool = False) -> msd.World:
    """The scene of a text, after it was found equal to what MuJoCo makes of it."""
    model = mujoco.MjModel.from_xml_string(text)
    world = msd.from_str(text)
    assert differences(world, model) == ""
    if not losses:
        assert world.report.is_exact, str(world.report)
    return world


def compare_file(path: Path, **options: Any) -> msd.World:
    model = mujoco.MjModel.from_xml_path(str(path))
    world = msd.from_file(path, **options)
    assert differences(world, model) == ""
    return world
