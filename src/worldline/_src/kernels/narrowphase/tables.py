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

from worldline._src.scalar.columns import (
    Columns,
    Integers,
    Numbers,
    Table,
    constant,
    index,
    integers,
    numbers,
)

# shape types; a pair is always handed on with the lower type first
PLANE, SPHERE, CAPSULE, BOX, CYLINDER, CONE, ELLIPSOID, HULL, MESH, HFIELD = range(10)
TYPE_COUNT = 10

# families of pairs, one stage each; SKIP has no stage
ROUND, FLAT, BALL, CONVEX, SURFACE, SKIP = range(6)
FAMILY_COUNT = 6

# counters
CONTACTS, PAIRS, MODE, MOVED, FAT, NEAR = range(6)
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


class AddressColumns(Columns):
    """Addresses of the solvers that pairs share."""

    link: Integers = integers(8, doc="Addresses of shared solvers; first in its arena.")


class ShapeView(Columns):
    """Shapes in the world."""

    shape_type: Integers = index("nshape", doc="Type of shape.")
    shape_body: Integers = index("nshape", doc="Body it is fixed to.")
    shape_geom: Integers = index("nshape", doc="Row of geom for hulls, meshes and height fields, else -1.")
    shape_size: Numbers = constant("nshape", 3, doc="Sizes, m; half sizes where there is a choice.", own=True)
    shape_margin: Numbers = constant("nshape", doc="Contacts are found below the sum of two margins, m.")
    shape_X_W: Numbers


class ShapePoseView(Columns):
    """Shapes in their bodies, and poses of bodies."""

    shape_X_BS: Numbers = constant("nshape", 12, doc="Pose in the body: position, rotation matrix.", own=True)
    body_X_W: Numbers = numbers("nbody", 12, doc="Pose of a body: position, rotation matrix.")
    shape_type: Integers
    shape_body: Integers
    shape_geom: Integers
    shape_size: Numbers
    shape_margin: Numbers


class ShapeBoxView(Columns):
    """Poses and boxes of shapes."""

    shape_X_W: Numbers = numbers("nshape", 12, doc="Pose of a shape in the world.")
    box: Numbers = numbers("nshape", 6, doc="Box of a shape grown by its margin.")
    shape_margin: Numbers


class HullView(Columns):
    """Vertices of hulls and their neighbours."""

    near_start: Integers = index("nvertex1", doc="First neighbour of a vertex, and the end of the last.")
    near: Integers = index("nnear", doc="Vertices that share an edge of a hull or of a surface.")
    start: Integers = index(
        "ngeom", START_CELLS, doc="The farthest vertex of a hull for each cell of directions."
    )
    vertex: Numbers = constant("nvertex", 3, doc="Vertices in the shape's frame, m.")


class FaceView(Columns):
    """Faces of hulls."""

    face_start: Integers = index("nface1", doc="First corner of a face, and the end of the last.")
    face_corner: Integers = index("ncorner", doc="Vertices of faces, counter-clockwise from outside.")
    face_plane: Numbers = constant("nface", 4, doc="Outward unit normal and offset.")
    geom: Integers
    vertex: Numbers


class GeomView(Columns):
    """Hulls: vertices, neighbours, planes."""

    geom: Integers = index("ngeom", 8, doc="First and count of vertices, faces, triangles, nodes.")
    vertex: Numbers
    face_plane: Numbers
    near_start: Integers
    near: Integers
    start: Integers


class SurfaceView(Columns):
    """Meshes and height fields: triangles in a bounding-volume tree."""

    tri: Integers = index("ntri", 4, doc="Vertices of a triangle, in tree order, and its number as given.")
    tri_across: Integers = index(
        "ntri", 3, doc="Third corner of the triangle beyond each edge, -1 at a border."
    )
    node_index: Integers = index("nnode", 2, doc="First child node, or first triangle and how many.")
    node_box: Numbers = constant("nnode", 6, doc="Lowest and highest coordinates.")
    tri_edge: Numbers = constant("ntri", 9, doc="First corner and the two edges from it.")
    geom: Integers
    vertex: Numbers
    near_start: Integers
    near: Integers
    start: Integers


class FilterView(Columns):
    """What decides whether two shapes may touch."""

    shape_group: Integers = index("nshape", doc="Bits of the groups it is in.")
    shape_with: Integers = index("nshape", doc="Bits of the groups it may touch.")
    body_fixed: Integers = index("nbody", doc="1 for bodies that never move.")
    body_weld: Integers = index("nbody", doc="Number shared by bodies welded together.")
    body_parent: Integers = index("nbody", doc="body_weld of the body its joint hangs on, else -1.")
    body_tree: Integers = index(
        "nbody", doc="Number shared by bodies that may not touch each other, else -1."
    )
    ignored: Integers = index("nignored", doc="Pairs of shapes left out: first * nshape + second, sorted.")
    explicit: Integers = index("nexplicit", doc="Pairs of shapes always looked at, by the same key, sorted.")
    shape_body: Integers
    shape_type: Integers


class BucketView(Columns):
    """Candidate pairs by family."""

    counter: Integers = integers(8, doc="See the counters above.")
    pair: Integers = integers("npair", 2, doc="Candidate pairs of shapes.")
    bucket: Integers = integers("npair", doc="Pairs in the order of their families.")
    bucket_start: Integers = integers(8, doc="Where each family begins in bucket.")


class ContactView(Columns):
    """Contacts, or closest points."""

    contact_id: Integers = integers("ncontact", 6, doc="Shapes, bodies, feature, pair.")
    contact: Numbers = numbers("ncontact", 7, doc="Position, normal, depth.")
    closest: Numbers = numbers("npair", 10, doc="Distance, normal, point of the first, point of the second.")
    counter: Integers


class WorkView(Columns):
    """Work space of the narrow phase."""

    iwork: Integers = integers(IWORK, doc="Integers of the narrow phase.")
    work: Numbers = numbers(WORK, doc="Numbers of the narrow phase.")


class TreeView(Columns):
    """Bounding-volume trees of the broad phase."""

    tree_node: Integers = integers("ntree", 4, doc="Parent, left, right, shape or -1.")
    tree_order: Integers = integers("nshape", doc="Shapes in tree order.")
    tree_leaf: Integers = integers("nshape", doc="Node of a shape in its tree.")
    moved: Integers = integers("nshape", doc="Shapes that left their grown box.")
    tree_root: Integers = integers(8, doc="Roots of the moving and the fixed tree, and bookkeeping.")
    fat_box: Numbers = numbers("nshape", 6, doc="The larger box the tree knows.")
    tree_box: Numbers = numbers("ntree", 6, doc="Boxes of tree nodes.")


class PairView(Columns):
    """Candidate pairs, and those of grown boxes."""

    fat_pair: Integers = integers("npair", 2, doc="Pairs whose grown boxes overlap, kept from pass to pass.")
    new_pair: Integers = integers("npair", 2, doc="Pairs found in this pass, and room to merge.")
    counter: Integers
    pair: Integers


class CandidateView(Columns):
    """Pairs that may touch, of worlds in lanes, and bodies of shapes."""

    candidate: Integers = index(
        "ncandidate", 2, doc="Pairs that may touch, of lanes that look for near ones."
    )
    shape_body: Integers


class FixedContactView(Columns):
    """Contacts of the fixed layout."""

    fixed_contact: Numbers = numbers(
        "nfixed_contact", 8, doc="Fixed rows of contacts for lanes: position, normal, depth, feature."
    )


class CollisionColumns(
    AddressColumns,
    ShapeView,
    ShapePoseView,
    ShapeBoxView,
    HullView,
    FaceView,
    GeomView,
    SurfaceView,
    FilterView,
    BucketView,
    ContactView,
    WorkView,
    TreeView,
    PairView,
    CandidateView,
    FixedContactView,
):
    """Shapes, geometry, pairs and contacts of one world."""


TABLE = Table(CollisionColumns)
ENTRY = TABLE.entry
"""Where the header has a size or the offset of a column."""


shape_view = TABLE.cut(ShapeView)
shape_pose_view = TABLE.cut(ShapePoseView)
shape_box_view = TABLE.cut(ShapeBoxView)
hull_view = TABLE.cut(HullView)
face_view = TABLE.cut(FaceView)
geom_view = TABLE.cut(GeomView)
surface_view = TABLE.cut(SurfaceView)
filter_view = TABLE.cut(FilterView)
bucket_view = TABLE.cut(BucketView)
contact_view = TABLE.cut(ContactView)
work_view = TABLE.cut(WorkView)
tree_view = TABLE.cut(TreeView)
pair_view = TABLE.cut(PairView)
candidate_view = TABLE.cut(CandidateView)
fixed_contact_view = TABLE.cut(FixedContactView)
