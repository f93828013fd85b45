# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: trees, islands of them, and their sleep."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import NEAREST_BODIES
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index, integers, numbers


class IslandColumns(Columns):
    """Trees, islands of them, and their sleep."""

    dof_quiet: Numbers = constant("nv", doc="Speed below which a degree of freedom is quiet.")
    tree_dof: Integers = index(
        "tree_ends", doc="First degree of freedom of a tree; one past the last behind."
    )
    tree_links: Integers = index("tree_ends", doc="First link of a tree; one past the last behind.")
    tree_mass_at: Integers = index("ntree", doc="Where the mass matrix of a tree begins in tree_mass.")
    tree_link: Integers = index("ntree", doc="Link of a free body with no rows but contacts, else 0.")
    tree_node: Integers = index("tree_ends", doc="First node of a tree, of up to six degrees of freedom;")
    tree_dense: Integers = index("ntree", doc="1 where a row may touch three trees; see body_rows.py.")
    matrix_at: Integers = index("ntree", doc="Where matrices of a tree begin in tree_matrix.")
    equality_tree: Integers = index("nequality", 2, doc="Trees of an equality, -1 without,")
    tendon_tree: Integers = index("ntendon", 2, doc="and of a tendon.")
    body_tree: Integers = index("nbody", doc="Tree of a body, -1 for those that cannot move.")
    tie: Integers = index("ntie", 2, doc="Trees that rows may tie together.")
    tree_prescribed: Integers = integers("ntree", doc="1 when all of its motion is prescribed.")
    tree_closed: Integers = integers("ntree", doc="1 where rigid equalities are all rows of its island.")
    tree_rows: Integers = integers("ntree", doc="Most rows of a tree without those of contacts.")
    tree_above: Integers = integers("ntree", doc="Scratch of finding islands.")
    tree_island: Integers = integers("ntree", doc="Island of a tree; negative when its motion is prescribed.")
    island_tree: Integers = integers("ntree", doc="Trees sorted by island.")
    island_trees: Integers = integers("tree_ends", doc="Where an island starts there.")
    island_contacts: Integers = integers("tree_ends", doc="Where an island starts in contact_order.")
    contact_order: Integers = integers("ncontact", doc="Contacts sorted by island.")
    dof_column: Integers = integers("nv", doc="Column of a degree of freedom in the island at hand.")
    column_dof: Integers = integers("nspread", doc="Degree of freedom of a column.")
    tree_group: Integers = integers("ntree", doc="With whom a tree fell asleep; -1 when awake.")
    tree_mass: Numbers = numbers("nmass", doc="Mass matrices of trees, one after the other.")
    tree_matrix: Numbers = numbers("nmatrix", doc="Mass matrices and their inverses; see body_blocks.py.")
    node_block: Numbers = numbers("nblock", 96, doc="Blocks of the Hessian of nodes and their inverses,")
    pair_block: Numbers = numbers("nbetween", 48, doc="of two nodes,")
    factor_block: Numbers = numbers("nfactor", 48, doc="of its factors; see body_cholesky.py,")
    factor_row: Numbers = numbers(1, 48, doc="scratch of factors,")
    row_block: Numbers = numbers(10, "nrowblock", doc="and rows of a group in whole packs.")
    pair_body: Integers = integers("nbetween", 2, doc="Nodes of a pair, numbered within the island,")
    island_node: Integers = integers("nblock", doc="the node of each number,")
    tree_pair: Integers = integers("ntree", doc="the first pair of nodes of a tree,")
    group: Integers = integers("ngroup", 10, doc="rows that touch the same trees,")
    body_near: Integers = integers("nblock", NEAREST_BODIES, doc="neighbours in the order of factors,")
    body_node: Integers = integers("nblock", 8, doc="what else factors know of a node,")
    body_degree: Integers = integers(NEAREST_BODIES + 1, doc="and nodes by number of neighbours.")
    dof_kept: Numbers = numbers("nv", 2, doc="Force and commanded speed that a sleeper fell asleep with.")
    tree_quiet: Numbers = numbers("ntree", doc="How long a tree has been quiet [s].")


class IslandView(NamedTuple):
    """Islands: trees, contacts, columns."""

    tree_dof: Integers
    body_tree: Integers
    tie: Integers
    tree_prescribed: Integers
    tree_closed: Integers
    tree_above: Integers
    tree_island: Integers
    island_tree: Integers
    island_trees: Integers
    island_contacts: Integers
    contact_order: Integers
    dof_column: Integers
    column_dof: Integers
    counter: Integers


class MemberView(NamedTuple):
    """What belongs to the trees of an island."""

    island_tree: Integers
    contact_order: Integers
    tree_limit: Integers
    tree_friction: Integers
    tree_tendon: Integers
    tree_equality: Integers
    tree_motor: Integers
    tree_speed: Integers
    tendon_order: Integers
    equality_order: Integers
    motor_order: Integers
    speed_order: Integers
    dof_column: Integers
    column_dof: Integers
    counter: Integers


class TreeSpanView(NamedTuple):
    """Degrees of freedom and links of trees."""

    tree_dof: Integers
    tree_links: Integers


class BodyTreeView(NamedTuple):
    """Trees in nodes of six degrees of freedom, with blocks of matrices."""

    tree_dof: Integers
    tree_node: Integers
    dof_column: Integers
    column_dof: Integers
    tree_matrix: Numbers
    matrix_at: Integers
    node_block: Numbers
    island_node: Integers
    tree_pair: Integers
    group: Integers
    equality_tree: Integers
    tendon_tree: Integers
    tree_rows: Integers


class PairBlockView(NamedTuple):
    """Blocks of matrices of two nodes."""

    pair_block: Numbers
    row_block: Numbers
    pair_body: Integers


class BodyFactorView(NamedTuple):
    """Sparse factors of the Hessian of nodes."""

    body_near: Integers
    body_node: Integers
    body_degree: Integers
    factor_block: Numbers
    factor_row: Numbers
    row_block: Numbers


class TreeMassView(NamedTuple):
    """Mass matrices of trees."""

    tree_dof: Integers
    tree_mass_at: Integers
    tree_mass: Numbers


class TreeRoomView(NamedTuple):
    """Most rows of trees."""

    tree_rows: Integers
    tree_link: Integers
    tree_node: Integers
    tree_dense: Integers


class SleepView(NamedTuple):
    """Sleeping trees."""

    tree_group: Integers
    tree_quiet: Numbers
    tree_dof: Integers
    dof_kept: Numbers


class QuietView(NamedTuple):
    """Speeds below which a degree of freedom is quiet."""

    dof_quiet: Numbers
