# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision tables: the arrays of shapes, geometry, pairs and contacts of one world, and the views of them.

The interface between whoever owns bodies and the collision kernels is four arenas and no Python:

    m     int64    header (sizes, then offsets), constant integers: shape types, bodies, topology
    c     float64  constants: shape sizes and local poses, vertices, face planes, bounding-volume nodes
    args  int64    integers that change: counters, candidate pairs, buckets by family, contact identities
    d     float64  numbers that change: body and shape poses, boxes, contacts, distances, work space

One pass reads `body_X_W` (position and rotation matrix, 12 numbers a body) and runs, in this order,

    place      body poses -> `shape_X_W` and `box` (axis-aligned, grown by the margin)
    broad      boxes -> `pair` (candidates, sorted, first < second), `counter[PAIRS]`
    sort       `pair` -> `bucket`: candidates by family of shape types
    narrow_*   one stage a family -> `contact` and `contact_id`, `counter[CONTACTS]`

A contact row is position (3, world, halfway between the surfaces), normal (3, unit, from the first shape to
the second) and depth (positive when they overlap). Its identity row is first shape, second shape, first body,
second body, feature, pair; (pair of shapes, feature) stays the same while the same features touch. In
distance mode every pair fills its own row of `closest` instead: distance (negative when they overlap),
normal, the point of the first and the point of the second shape. More contacts than
rows are counted but not written.
"""

from __future__ import annotations

from worldline._src.scalar.columns import Column, Table

# shape types; a pair is always handed on with the lower type first
PLANE, SPHERE, CAPSULE, BOX, CYLINDER, CONE, ELLIPSOID, HULL, MESH, HFIELD = range(10)
TYPE_COUNT = 10

# families of pairs, one stage each; SKIP has no stage
ROUND, FLAT, BALL, CONVEX, SURFACE, SKIP = range(6)
FAMILY_COUNT = 6

# counters
CONTACTS, PAIRS, MODE, MOVED, FAT = range(5)
CONTACT_MODE, DISTANCE_MODE = 0, 1

# columns of `geom`
VERTEX_FIRST, VERTEX_COUNT, FACE_FIRST, FACE_COUNT, TRI_FIRST, TRI_COUNT, NODE_FIRST, NODE_COUNT = range(8)

START_SIDE = 4
START_CELLS = 6 * START_SIDE * START_SIDE
"""Cells of directions on the faces of a cube: along a side of a face, and in all."""

WORK = 6144
IWORK = 2048
"""Work space of the narrow phase, in numbers; offsets into it are constants of the modules that use it."""

BOTTOMLESS = 1.0e30
"""Minus this is the depth of a row of the fixed layout that holds no contact."""


SIZES = (
    "nshape",
    "nbody",
    "ngeom",
    "nvertex",
    "nvertex1",
    "nface",
    "nface1",
    "ncorner",
    "nnear",
    "ntri",
    "nnode",
    "npair",
    "ncontact",
    "nignored",
    "nexplicit",
    "ntree",
    "nfixed_contact",
)
COLUMNS = (
    Column("shape_type", "m", ("nshape",), "Type of shape."),
    Column("shape_body", "m", ("nshape",), "Body it is fixed to."),
    Column("shape_geom", "m", ("nshape",), "Row of geom for hulls, meshes and height fields, else -1."),
    Column("shape_group", "m", ("nshape",), "Bits of the groups it is in."),
    Column("shape_with", "m", ("nshape",), "Bits of the groups it may touch."),
    Column("body_fixed", "m", ("nbody",), "1 for bodies that never move."),
    Column("body_weld", "m", ("nbody",), "Number shared by bodies welded together."),
    Column("body_parent", "m", ("nbody",), "body_weld of the body its joint hangs on, else -1."),
    Column("body_tree", "m", ("nbody",), "Number shared by bodies that may not touch each other, else -1."),
    Column("ignored", "m", ("nignored",), "Pairs of shapes left out: first * nshape + second, sorted."),
    Column("explicit", "m", ("nexplicit",), "Pairs of shapes always looked at, by the same key, sorted."),
    Column("geom", "m", ("ngeom", 8), "First and count of vertices, faces, triangles, nodes."),
    Column("face_start", "m", ("nface1",), "First corner of a face, and the end of the last."),
    Column("face_corner", "m", ("ncorner",), "Vertices of faces, counter-clockwise from outside."),
    Column("near_start", "m", ("nvertex1",), "First neighbour of a vertex, and the end of the last."),
    Column("near", "m", ("nnear",), "Vertices that share an edge of a hull or of a surface."),
    Column(
        "start", "m", ("ngeom", START_CELLS), "The farthest vertex of a hull for each cell of directions."
    ),
    Column("tri", "m", ("ntri", 4), "Vertices of a triangle, in tree order, and its number as given."),
    Column("tri_across", "m", ("ntri", 3), "Third corner of the triangle beyond each edge, -1 at a border."),
    Column("node_index", "m", ("nnode", 2), "First child node, or first triangle and how many."),
    Column("shape_size", "c", ("nshape", 3), "Sizes, m; half sizes where there is a choice.", own=True),
    Column("shape_X_BS", "c", ("nshape", 12), "Pose in the body: position, rotation matrix.", own=True),
    Column("shape_margin", "c", ("nshape",), "Contacts are found below the sum of two margins, m."),
    Column("vertex", "c", ("nvertex", 3), "Vertices in the shape's frame, m."),
    Column("face_plane", "c", ("nface", 4), "Outward unit normal and offset."),
    Column("node_box", "c", ("nnode", 6), "Lowest and highest coordinates."),
    Column("tri_edge", "c", ("ntri", 9), "First corner and the two edges from it."),
    Column("link", "args", (8,), "Addresses of shared solvers; first in its arena."),
    Column("counter", "args", (8,), "See the counters above."),
    Column("pair", "args", ("npair", 2), "Candidate pairs of shapes."),
    Column("bucket", "args", ("npair",), "Pairs in the order of their families."),
    Column("bucket_start", "args", (8,), "Where each family begins in bucket."),
    Column("contact_id", "args", ("ncontact", 6), "Shapes, bodies, feature, pair."),
    Column("fat_pair", "args", ("npair", 2), "Pairs whose grown boxes overlap, kept from pass to pass."),
    Column("new_pair", "args", ("npair", 2), "Pairs found in this pass, and room to merge."),
    Column("tree_node", "args", ("ntree", 4), "Parent, left, right, shape or -1."),
    Column("tree_order", "args", ("nshape",), "Shapes in tree order."),
    Column("tree_leaf", "args", ("nshape",), "Node of a shape in its tree."),
    Column("moved", "args", ("nshape",), "Shapes that left their grown box."),
    Column("tree_root", "args", (8,), "Roots of the moving and the fixed tree, and bookkeeping."),
    Column("iwork", "args", (IWORK,), "Integers of the narrow phase."),
    Column("body_X_W", "d", ("nbody", 12), "Pose of a body: position, rotation matrix."),
    Column("shape_X_W", "d", ("nshape", 12), "Pose of a shape in the world."),
    Column("box", "d", ("nshape", 6), "Box of a shape grown by its margin."),
    Column("fat_box", "d", ("nshape", 6), "The larger box the tree knows."),
    Column("tree_box", "d", ("ntree", 6), "Boxes of tree nodes."),
    Column("contact", "d", ("ncontact", 7), "Position, normal, depth."),
    Column("closest", "d", ("npair", 10), "Distance, normal, point of the first, point of the second."),
    Column(
        "fixed_contact",
        "d",
        ("nfixed_contact", 8),
        "Fixed rows of contacts for lanes: position, normal, depth, feature.",
    ),
    Column("work", "d", (WORK,), "Numbers of the narrow phase."),
)
TABLE = Table(SIZES, COLUMNS)
ENTRY = TABLE.entry
"""Where the header has a size or the offset of a column."""

ShapeView, shape_view = TABLE.view(
    "ShapeView",
    "shape_type",
    "shape_body",
    "shape_geom",
    "shape_size",
    "shape_margin",
    "shape_X_W",
)
ShapePoseView, shape_pose_view = TABLE.view(
    "ShapePoseView",
    "shape_type",
    "shape_body",
    "shape_geom",
    "shape_size",
    "shape_X_BS",
    "shape_margin",
    "body_X_W",
)
ShapeBoxView, shape_box_view = TABLE.view("ShapeBoxView", "shape_X_W", "box", "shape_margin")
HullView, hull_view = TABLE.view("HullView", "vertex", "near_start", "near", "start")
FaceView, face_view = TABLE.view("FaceView", "geom", "vertex", "face_plane", "face_start", "face_corner")
GeomView, geom_view = TABLE.view("GeomView", "geom", "vertex", "face_plane", "near_start", "near", "start")
SurfaceView, surface_view = TABLE.view(
    "SurfaceView",
    "geom",
    "tri",
    "node_index",
    "node_box",
    "vertex",
    "tri_edge",
    "tri_across",
    "near_start",
    "near",
    "start",
)
FilterView, filter_view = TABLE.view(
    "FilterView",
    "shape_body",
    "shape_type",
    "shape_group",
    "shape_with",
    "body_fixed",
    "body_weld",
    "body_parent",
    "body_tree",
    "ignored",
    "explicit",
)
BucketView, bucket_view = TABLE.view("BucketView", "counter", "pair", "bucket", "bucket_start")
ContactView, contact_view = TABLE.view("ContactView", "counter", "contact", "contact_id", "closest")
WorkView, work_view = TABLE.view("WorkView", "work", "iwork")
TreeView, tree_view = TABLE.view(
    "TreeView", "tree_node", "tree_box", "tree_order", "tree_leaf", "tree_root", "fat_box", "moved"
)
PairView, pair_view = TABLE.view("PairView", "counter", "pair", "fat_pair", "new_pair")
FixedContactView, fixed_contact_view = TABLE.view("FixedContactView", "fixed_contact")
