# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of collision queries, of reading files, of renderers and of the viewer acts or is refused."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from effects import Effect, Refused, arguments, check, complete, rows_of, settable

from worldline import WorldlineError, msd
from worldline import collision as wc
from worldline import simulation as sx
from worldline._src.scene.limits import Limits


def given(make, base=None, **field):
    """A keyword of `make` changes its result."""
    return Effect(lambda: dict(base or {}), lambda g: g.update(field), lambda g: make(**g))


# ---- groups, filters and detectors


def crowd(**fields):
    """Three spheres in a row that overlap by 2 cm, and one that is 3 cm away; what is given is of the first."""
    group = wc.CollisionGroup()
    group.add(**({"shapes": wc.CollisionShape.sphere(0.1), "name": "first"} | fields))
    for k, x in enumerate((0.18, 0.36, 0.59)):
        group.add(wc.CollisionShape.sphere(0.1), pose=(x, 0, 0, 0, 0, 0, 1), name=f"other_{k}")
    return group


DETECTOR = wc.CollisionDetector.create()


def contacts(group=None, other=None, **option):
    found = DETECTOR.collide(group or crowd(), other, option=wc.CollisionOption(**option) if option else None)
    names = [f"{one.object_a.name}-{one.object_b.name} {one.depth:.6f}" for one in found]
    return repr(names)


def nearest(group=None, other=None, **option):
    found = DETECTOR.distance(group or far(), other, option=wc.DistanceOption(**option) if option else None)
    return repr([found.distance, found.point_a, found.point_b])


def far():
    group = wc.CollisionGroup()
    for k, x in enumerate((0.0, 0.5, 1.2)):
        group.add(wc.CollisionShape.sphere(0.1), pose=(x, 0, 0, 0, 0, 0, 1), name=str(k))
    return group


def shot(start=(-1, 0, 0), end=(3, 0, 0), group=None, **option):
    found = DETECTOR.raycast(
        group or crowd(), start, end, option=wc.RaycastOption(**option) if option else None
    )
    return [*found.objects, *found.fractions]


GROUP_ADD = {
    "shapes": given(lambda **g: contacts(crowd(**g)), shapes=wc.CollisionShape.sphere(0.05)),
    "pose": given(lambda **g: contacts(crowd(**g)), pose=(0.01, 0, 0, 0, 0, 0, 1)),
    "name": given(lambda **g: contacts(crowd(**g)), name="renamed"),
    "static": given(lambda **g: contacts(two(**g)), static=True),
    "margin": given(lambda **g: contacts(two(apart=0.21, **g), margin=0.0), margin=0.05),
    "collide_group": given(lambda **g: contacts(crowd(**g)), {"collide_with": 2}, collide_group=0),
    "collide_with": given(lambda **g: contacts(crowd(**g)), {"collide_group": 0}, collide_with=0),
}


def two(apart=0.18, **fields):
    """A sphere and one that stands still; what is given is of the first."""
    group = wc.CollisionGroup()
    group.add(wc.CollisionShape.sphere(0.1), name="first", **fields)
    group.add(wc.CollisionShape.sphere(0.1), pose=(apart, 0, 0, 0, 0, 0, 1), name="second", static=True)
    return group


COLLISION = {
    "max_contacts": given(contacts, max_contacts=1),
    "margin": given(contacts, margin=0.05),
    "stop_at_first": given(contacts, stop_at_first=True),
}
DISTANCE = {"upper_bound": given(nearest, upper_bound=0.1)}
RAYCAST = {"all_hits": given(shot, all_hits=True)}


def filtered(change):
    group = crowd()
    change(group.filter, group.objects)
    return contacts(group)


def ruled(change, base=lambda rules, objects: None):
    return Effect(lambda: [base], lambda m: m.append(change), lambda m: filtered(m[-1]))


def both(first, second):
    return lambda rules, objects: (first(rules, objects), second(rules, objects))


def ignore(rules, objects):
    rules.set_ignored(objects[0], objects[1])


FILTER = {
    "set_ignored.a": ruled(lambda r, o: r.set_ignored(o[2], o[1]), ignore),
    "set_ignored.b": ruled(lambda r, o: r.set_ignored(o[1], o[2]), ignore),
    "set_ignored.ignored": ruled(both(ignore, lambda r, o: r.set_ignored(o[0], o[1], False)), ignore),
    "set_explicit.a": ruled(both(ignore, lambda r, o: r.set_explicit(o[0], o[1])), ignore),
    "set_explicit.b": ruled(both(ignore, lambda r, o: r.set_explicit(o[0], o[1])), ignore),
    "set_explicit.explicit": ruled(
        both(ignore, lambda r, o: (r.set_explicit(o[0], o[1]), r.set_explicit(o[0], o[1], False))),
        both(ignore, lambda r, o: r.set_explicit(o[0], o[1])),
    ),
    "set_parent.child": ruled(lambda r, o: r.set_parent(o[1], o[0])),
    "set_parent.parent": ruled(lambda r, o: r.set_parent(o[1], o[2])),
    "disable_self_collision.objects": ruled(lambda r, o: r.disable_self_collision(o[:2])),
    "weld_together.objects": ruled(lambda r, o: r.weld_together(o[:2])),
    "is_ignored.a": given(lambda pair=(0, 1): asked(*pair), pair=(1, 2)),
    "is_ignored.b": given(lambda pair=(0, 1): asked(*pair), pair=(0, 2)),
}


def asked(a, b):
    group = crowd()
    ignore(group.filter, group.objects)
    return group.filter.is_ignored(group.objects[a], group.objects[b])


def moved_group(x):
    group = crowd()
    group.set_pose(0, (x, 0, 0, 0, 0, 0, 1))
    return group


DETECT = {
    "collide.group": given(contacts, group=moved_group(0.05)),
    "collide.other": given(contacts, other=far()),
    "collide.option": given(contacts, margin=0.05),
    "distance.group": given(nearest, group=moved_group(-0.4)),
    "distance.other": given(nearest, other=crowd()),
    "distance.option": given(nearest, upper_bound=0.1),
    "raycast.group": given(shot, group=moved_group(-0.2)),
    "raycast.start": given(shot, start=(-2, 0, 0)),
    "raycast.end": given(shot, end=(4, 0, 0)),
    "raycast.option": given(shot, all_hits=True),
    "overlap.group": given(lambda group=None: met(group), group=moved_group(5.0)),
    "overlap.shape": given(lambda shape=None: met(shape=shape), shape=wc.CollisionShape.sphere(0.5)),
    "overlap.pose": given(lambda pose=None: met(pose=pose), pose=(0.3, 0, 0, 0, 0, 0, 1)),
    "closest_point.group": given(lambda group=None: closest(group), group=moved_group(-0.05)),
    "closest_point.point": given(lambda point=(0, 1, 0): closest(point=point), point=(0, 2, 0)),
    "distances.group": given(lambda group=None: apart(group), group=moved_group(-0.3)),
    "distances.pairs": given(lambda pairs=((0, 1),): apart(pairs=pairs), pairs=((0, 2),)),
}


def met(group=None, shape=None, pose=(0, 0, 0, 0, 0, 0, 1)):
    found = DETECTOR.overlap(group or crowd(), shape or wc.CollisionShape.sphere(0.01), pose)
    return repr([one.name for one in found])


def closest(group=None, point=(0, 1, 0)):
    return DETECTOR.closest_point(group or crowd(), point).distance


def apart(group=None, pairs=((0, 1),)):
    return DETECTOR.distances(group or far(), pairs).distance


# ---- queries of a World


def scene():
    world = sx.World()
    world.add_ground_plane()
    for k, x in enumerate((0.0, 0.18, 0.41)):
        body = world.add_rigid_body(f"b{k}", position=(x, 0, 0.5))
        body.add_collision_shape(wc.CollisionShape.sphere(0.1))
    return world


def of_world(query):
    """Observe a query of a World; its arguments are changed."""

    def make(**g):
        return query(scene(), **g)

    return make


def touching(world, options=None, **include):
    return len(world.collide(options, **include))


def ignored(world, first="b0", second="b1", ignored=True):
    bodies = world.rigid_bodies
    world.set_collision_pair_ignored(bodies["b0"], bodies["b1"])
    world.set_collision_pair_ignored(bodies[first], bodies[second], ignored)
    return [
        world.is_collision_pair_ignored(bodies[a], bodies[b])
        for a, b in (("b0", "b1"), ("b0", "b2"), ("b1", "b2"))
    ]


def asked_world(world, first="b0", second="b1"):
    world.set_collision_pair_ignored(world.rigid_bodies["b0"], world.rigid_bodies["b1"])
    return world.is_collision_pair_ignored(world.rigid_bodies[first], world.rigid_bodies[second])


def between(world, a="b0", b="b1"):
    return world.distance(world.rigid_bodies[a], world.rigid_bodies[b]).distance


def ray(world, start=(-1, 0, 0.5), end=(3, 0, 0.5)):
    return world.raycast(start, end).fractions


def within(world, shape=None, x=0.0):
    pose = np.eye(4)
    pose[:3, 3] = x, 0.0, 0.5
    return repr([body.name for body in world.overlap(shape or wc.CollisionShape.sphere(0.01), pose) if body])


def stale(world, update=sx.UpdatePolicy.IF_STALE, options=None, include=None):
    """Contacts after a move, which NEVER does not look at."""
    world.collision.query()
    world.rigid_bodies["b0"].translation = (0, 0, 3.0)
    return len(world.collision.query(options, update=update, include=include))


NONE = sx.CollisionQueryOptions(include_rigid_body_pairs=False)
WORLD = {
    "collide.options": given(of_world(touching), options=wc.CollisionOption(margin=0.2)),
    "collide.include": given(of_world(touching), include=NONE),
    "distance.a": given(of_world(between), a="b2"),
    "distance.b": given(of_world(between), b="b2"),
    "raycast.start": given(of_world(ray), start=(-2, 0, 0.5)),
    "raycast.end": given(of_world(ray), end=(4, 0, 0.5)),
    "overlap.shape": given(of_world(within), shape=wc.CollisionShape.sphere(0.2)),
    "overlap.pose": given(of_world(within), x=0.41),
    "closest_point.point": given(
        of_world(lambda w, point=(0, 0, 2): w.closest_point(point).distance), point=(0, 0, 3)
    ),
    "set_collision_pair_ignored.first": given(of_world(ignored), {"second": "b2"}, first="b1"),
    "set_collision_pair_ignored.second": given(of_world(ignored), second="b2"),
    "set_collision_pair_ignored.ignored": given(of_world(ignored), ignored=False),
    "is_collision_pair_ignored.first": given(of_world(asked_world), first="b2"),
    "is_collision_pair_ignored.second": given(of_world(asked_world), second="b2"),
    "query.options": given(of_world(stale), options=wc.CollisionOption(margin=0.2)),
    "query.update": given(of_world(stale), update=sx.UpdatePolicy.NEVER),
    "query.include": given(of_world(stale), {"options": wc.CollisionOption(margin=0.2)}, include=NONE),
}

# ---- files

MJCF = "<mujoco><worldbody><body name='b'><freejoint/><geom size='.1' user='1'/></body></worldbody></mujoco>"
MESHED = """<mujoco><asset><mesh name="m" file="{}"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="m"/>
  </body></worldbody></mujoco>"""
OBJ = "v 0 0 0\nv .3 0 0\nv 0 .2 0\nv 0 0 .4\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


class Files:
    """A folder with a scene, a mesh beside it, and a mesh in another folder."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp())
        for name in ("here", "there"):
            (self.root / name).mkdir()
        (self.root / "there" / "m.obj").write_text(OBJ)
        (self.root / "here" / "scene.xml").write_text(MJCF)
        (self.root / "here" / "meshed.xml").write_text(MESHED.format("m.obj"))
        (self.root / "here" / "outside.xml").write_text(MESHED.format("../there/m.obj"))


FILES = Files()


def outcome(read, *places, **named):
    """What comes of reading: how many bodies, or the error."""
    try:
        made = read(*places, **named)
    except WorldlineError as error:
        return type(error).__name__ + str(error).split(":")[0]
    if isinstance(made, msd.World):
        return repr([len(made.hierarchy.bodies), made.source_path, str(made.report), str(made.assets.meshes)])
    return repr(made)


def from_file(name="scene.xml", **named):
    return outcome(msd.from_file, FILES.root / "here" / name, **named)


def from_str(string=MJCF, *, asset=None, **named):
    return outcome(msd.from_str, string, **named)


def unfinished():
    """A scene that refers to nothing."""
    made = msd.from_str(MJCF)
    made.actuators.append(msd.Actuator(name="a", target=msd.ActuatorTarget.joint("nothing")))
    return made


SMALL = Limits(elements=1)
PACKED = msd.from_str(MJCF).to_msgpack()
THERE = (FILES.root / "there",)
FROM_FILE = {
    "path": given(from_file, name="other.xml"),
    "strict": given(from_file, strict=True),
    "validate": given(lambda **g: outcome(msd.from_str, UNFINISHED, format="msd", **g), validate=False),
    "asset_dirs": given(from_file, {"name": "meshed.xml"}, asset_dirs=THERE),
    "allow_outside": given(from_file, {"name": "outside.xml"}, allow_outside=True),
    "limits": given(from_file, limits=SMALL),
}
UNFINISHED = unfinished().to_str()
FROM_STR = {
    "string": given(from_str, string=MJCF.replace("<freejoint/>", "")[:-9]),
    "format": given(from_str, format="urdf"),
    "file_path": given(from_str, file_path=FILES.root / "here" / "x.xml"),
    "strict": given(from_str, strict=True),
    "validate": given(from_str, {"string": UNFINISHED, "format": "msd"}, validate=False),
    "asset_dirs": given(from_str, {"string": MESHED.format("m.obj")}, asset_dirs=THERE),
    "allow_outside": given(
        from_str, {"string": MESHED.format(FILES.root / "there" / "m.obj")}, allow_outside=True
    ),
    "limits": given(from_str, limits=SMALL),
}


def from_msgpack(data=PACKED, **named):
    return outcome(msd.from_msgpack, data, **named)


OUTSIDE = msd.from_file(FILES.root / "here" / "outside.xml", allow_outside=True).to_msgpack()
FROM_MSGPACK = {
    "data": given(from_msgpack, data=b"nothing"),
    "file_path": given(from_msgpack, file_path=FILES.root / "x.msgpack"),
    "strict": Refused(lambda: msd.from_msgpack(PACKED, strict="some"), "strict"),
    "validate": given(from_msgpack, {"data": unfinished().to_msgpack()}, validate=False),
    "asset_dirs": Refused(lambda: msd.from_msgpack(PACKED, asset_dirs="text"), "asset_dirs"),
    "allow_outside": given(
        from_msgpack, {"data": OUTSIDE, "file_path": FILES.root / "here" / "x"}, allow_outside=True
    ),
    "limits": given(from_msgpack, limits=SMALL),
}

ROBOT = """<robot name='a'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>
  <gazebo/></robot>"""
SDF = "<sdf version='1.9'><model name='a'><link name='a'><inertial><mass>1</mass></inertial></link></model></sdf>"


def loaded(name="robot.urdf", text=ROBOT, **options):
    """What is in a World after reading a file: bodies, degrees of freedom; or the error."""
    path = FILES.root / "here" / name
    path.write_text(text)
    world = sx.World()
    try:
        sx.add_world(world, path, sx.ReadOptions(**options))
        world.step()
    except (WorldlineError, NotImplementedError) as error:
        return type(error).__name__
    return repr([world.num_rigid_bodies, world.state_vector.size, [m.num_dofs for m in world.multibodies]])


READ_OPTIONS = {
    "format": given(loaded, format=sx.ModelFormat.SDF),
    "package_directories": given(
        loaded, {"name": "meshed.xml", "text": MESHED.format("m.obj")}, package_directories=THERE
    ),
    "root_joint": given(loaded, root_joint=sx.RootJointType.FLOATING),
    "sdf_default_root_joint_type": given(
        loaded, {"name": "m.sdf", "text": SDF}, sdf_default_root_joint_type=sx.RootJointType.FIXED
    ),
    "strict": given(loaded, strict=True),
    "allow_outside": given(
        loaded, {"name": "outside.xml", "text": MESHED.format("../there/m.obj")}, allow_outside=True
    ),
}

# ---- pictures and the viewer


def picture(camera=None, out=None, **named):
    world = scene()
    new = {key: named.pop(key) for key in ("width", "height", "groups", "shadows") if key in named}
    look = sx.LookAt((2.0, 0.5, 1.5)) if camera is None else camera
    with sx.Renderer(world, **({"width": 24, "height": 16} | new)) as renderer:
        if out == "own":
            out = renderer.render(look)
            return renderer.render(look, out=out).rgb is out.rgb
        made = renderer.render(look, **named)
        if out == "none":
            return made.rgb is None
    parts = (made.rgb, made.depth, made.segmentation)
    return repr([None if part is None else np.asarray(part).tolist() for part in parts])


RENDERER = {
    "world": Effect(dict, lambda g: g.update(state="before"), lambda g: moved_picture(**g)),
    "width": given(picture, width=20),
    "height": given(picture, height=20),
    "groups": given(picture, groups=(4,)),
    "shadows": given(picture, shadows=False),
}


def moved_picture(state=None):
    """Pictures of two Worlds: as it stands, and with a body elsewhere."""
    world = scene()
    if state is not None:
        world.rigid_bodies[0].translation = (0, 0, 1.0)
    with sx.Renderer(world, 24, 16) as renderer:
        return renderer.render(sx.LookAt((2.0, 0.5, 1.5))).rgb


RENDERER_RENDER = {
    "camera": given(picture, camera=sx.LookAt((0.5, 2.0, 1.5))),
    "rgb": given(picture, rgb=False, depth=True),
    "depth": given(picture, depth=True),
    "segmentation": given(picture, segmentation=True),
    "state": Effect(dict, lambda g: g.update(old=True), lambda g: at_time(**g)),
    "out": given(picture, {"out": "none"}, out="own"),
}


def at_time(old=False):
    """A picture of the present, or of a state that was kept before a body moved."""
    world = scene()
    kept = world.get_state(world.state_space())
    world.rigid_bodies[0].translation = (0, 0, 1.0)
    with sx.Renderer(world, 24, 16) as renderer:
        return renderer.render(sx.LookAt((2.0, 0.5, 1.5)), state=kept if old else None).rgb


def test_query_tables_are_complete():
    complete(COLLISION, arguments(wc.CollisionOption))
    complete(DISTANCE, arguments(wc.DistanceOption))
    complete(RAYCAST, arguments(wc.RaycastOption))
    complete(GROUP_ADD, arguments(wc.CollisionGroup.add))
    rules = [name for name in vars(wc.CollisionFilter) if not name.startswith("_")]
    methods = [name for name in rules if callable(getattr(wc.CollisionFilter, name))]
    complete(FILTER, {f"{m}.{p}" for m in methods for p in arguments(getattr(wc.CollisionFilter, m))})
    asks = ("collide", "distance", "raycast", "overlap", "closest_point", "distances")
    complete(DETECT, {f"{m}.{p}" for m in asks for p in arguments(getattr(wc.CollisionDetector, m))})
    queries = ("collide", "distance", "raycast", "overlap", "closest_point")
    pairs = ("set_collision_pair_ignored", "is_collision_pair_ignored")
    wanted = {f"{m}.{p}" for m in (*queries, *pairs) for p in arguments(getattr(sx.World, m))}
    wanted |= {f"query.{p}" for p in arguments(type(sx.World().collision).query)}
    complete(WORLD, wanted)
    complete(FROM_FILE, arguments(msd.from_file))
    complete(FROM_STR, arguments(msd.from_str))
    complete(FROM_MSGPACK, arguments(msd.from_msgpack))
    # the options that readers get are those of the functions
    assert set(msd.ReadOptions._fields) == arguments(msd.from_file, "path")
    complete(READ_OPTIONS, settable(sx.ReadOptions) | arguments(sx.ReadOptions))
    complete(RENDERER, arguments(sx.Renderer))
    complete(RENDERER_RENDER, arguments(sx.Renderer.render))


@rows_of(globals())
def test_a_parameter_of_queries_files_and_renderers_acts_or_is_refused(entry):
    check(entry)
