# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: trees, islands of them, and their sleep."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import NEAREST_BODIES
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index, integers, numbers


class IslandView(Columns):
    """Islands: trees, contacts, columns."""

    body_tree: Integers = index("nbody", doc="Tree of a body, -1 for those that cannot move.")
    tie: Integers = index("ntie", 2, doc="Trees that rows may tie together.")
    tree_prescribed: Integers = integers("ntree", doc="1 when all of its motion is prescribed.")
    tree_closed: Integers = integers("ntree", doc="1 where rigid equalities are all rows of its island.")
    tree_above: Integers = integers("ntree", doc="Scratch of finding islands.")
    tree_island: Integers = integers("ntree", doc="Island of a tree; negative when its motion is prescribed.")
    island_tree: Integers = integers("ntree", doc="Trees sorted by island.")
    island_trees: Integers = integers("tree_ends", doc="Where an island starts there.")
    island_contacts: Integers = integers("tree_ends", doc="Where an island starts in contact_order.")
    island_asleep: Integers = integers("ntree", doc="1 for an island that sleeps: it is not solved.")
    contact_order: Integers = integers("ncontact", doc="Contacts sorted by island.")
    dof_column: Integers = integers("nv", doc="Column of a degree of freedom in the island at hand.")
    column_dof: Integers = integers("nspread", doc="Degree of freedom of a column.")
    tree_dof: Integers
    counter: Integers


class MemberView(Columns):
    """What belongs to the trees of an island."""

    tree_limit: Integers = index("tree_ends", doc="First limit of a tree; one past the last behind.")
    tree_friction: Integers = index("tree_ends", doc="The same for dry friction,")
    tree_tendon: Integers = index("tree_ends", doc="for tendon_order,")
    tree_equality: Integers = index("tree_ends", doc="for equality_order,")
    tree_motor: Integers = index("tree_ends", doc="for motor_order,")
    tree_speed: Integers = index("tree_ends", doc="and for speed_order.")
    tendon_order: Integers = index(
        "ntendon", doc="Tendons by the first tree of theirs that is not prescribed,"
    )
    equality_order: Integers = index("nequality", doc="equalities,")
    motor_order: Integers = index("nmotor", doc="motors,")
    speed_order: Integers = index("nspeed", doc="and speed limits.")
    island_tree: Integers
    contact_order: Integers
    dof_column: Integers
    column_dof: Integers
    counter: Integers


class TreeSpanView(Columns):
    """Degrees of freedom and links of trees."""

    tree_dof: Integers = index(
        "tree_ends", doc="First degree of freedom of a tree; one past the last behind."
    )
    tree_links: Integers = index("tree_ends", doc="First link of a tree; one past the last behind.")


class BodyTreeView(Columns):
    """Trees in nodes of six degrees of freedom, with blocks of matrices."""

    tree_node: Integers = index("tree_ends", doc="First node of a tree, of up to six degrees of freedom.")
    matrix_at: Integers = index("ntree", doc="Where matrices of a tree begin in tree_matrix.")
    equality_tree: Integers = index("nequality", 2, doc="Trees of an equality, -1 without,")
    tendon_tree: Integers = index("ntendon", 2, doc="and of a tendon.")
    tree_matrix: Numbers = numbers("nmatrix", doc="Mass matrices and their inverses; see body_blocks.py.")
    node_block: Numbers = numbers("nblock", 96, doc="Blocks of the Hessian of nodes and their inverses.")
    island_node: Integers = integers("nblock", doc="Node of each number in the island,")
    tree_pair: Integers = integers("ntree", doc="the first pair of nodes of a tree,")
    group: Integers = integers("ngroup", 10, doc="and rows that touch the same trees.")
    tree_dof: Integers
    dof_column: Integers
    column_dof: Integers
    tree_rows: Integers


class PairBlockView(Columns):
    """Blocks of matrices of two nodes."""

    pair_block: Numbers = numbers("nbetween", 48, doc="Blocks of the Hessian of two nodes,")
    row_block: Numbers = numbers(10, "nrowblock", doc="and rows of a group in whole packs.")
    pair_body: Integers = integers("nbetween", 2, doc="Nodes of a pair, numbered within the island.")


class BodyFactorView(Columns):
    """Sparse factors of the Hessian of nodes."""

    factor_block: Numbers = numbers("nfactor", 48, doc="Blocks of factors; see body_cholesky.py,")
    factor_row: Numbers = numbers(1, 48, doc="and scratch of a row of them.")
    body_near: Integers = integers("nblock", NEAREST_BODIES, doc="Neighbours in the order of factors,")
    body_node: Integers = integers("nblock", 8, doc="what else factors know of a node,")
    body_degree: Integers = integers(NEAREST_BODIES + 1, doc="and nodes by number of neighbours.")
    row_block: Numbers


class TreeMassView(Columns):
    """Mass matrices of trees."""

    tree_mass_at: Integers = index("ntree", doc="Where the mass matrix of a tree begins in tree_mass.")
    tree_mass: Numbers = numbers("nmass", doc="Mass matrices of trees, one after the other.")
    tree_dof: Integers


class TreeRoomView(Columns):
    """Most rows of trees."""

    tree_link: Integers = index("ntree", doc="Link of a free body with no rows but contacts, else 0.")
    tree_dense: Integers = index("ntree", doc="1 where a row may touch three trees; see body_rows.py.")
    tree_rows: Integers = integers("ntree", doc="Most rows of a tree without those of contacts.")
    tree_node: Integers


class SleepView(Columns):
    """Sleeping trees."""

    tree_group: Integers = integers("ntree", doc="With whom a tree fell asleep; -1 when awake.")
    dof_kept: Numbers = numbers("nv", 2, doc="Force and commanded speed that a sleeper fell asleep with.")
    tree_quiet: Numbers = numbers("ntree", doc="How long a tree has been quiet [s].")
    tree_dof: Integers


class QuietView(Columns):
    """Speeds below which a degree of freedom is quiet."""

    dof_quiet: Numbers = constant("nv", doc="Speed below which a degree of freedom is quiet.")


class IslandColumns(
    IslandView,
    MemberView,
    TreeSpanView,
    BodyTreeView,
    PairBlockView,
    BodyFactorView,
    TreeMassView,
    TreeRoomView,
    SleepView,
    QuietView,
):
    """Trees, islands of them, and their sleep."""
