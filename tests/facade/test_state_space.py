# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""StateSpace as a value: names, sizes, bounds, and what it refuses."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from worldline import simulation as sx


def test_adding_is_chainable_and_keeps_the_order():
    space = sx.StateSpace().add_variable("a", 2).add_variable("b", dimension=3)
    assert space.variable_names == ["a", "b"]
    assert space.dimension == 5
    assert space.num_variables == 2
    assert space.get_variable("b").start_index == 2


def test_add_variables_adds_single_numbers():
    space = sx.StateSpace().add_variables(["x", "y"])
    assert [v.dimension for v in space.variables] == [1, 1]
    np.testing.assert_array_equal(space.lower_bounds, [-np.inf, -np.inf])
    np.testing.assert_array_equal(space.upper_bounds, [np.inf, np.inf])


def test_add_variables_adds_all_or_none():
    space = sx.StateSpace().add_variable("y")
    with pytest.raises(ValueError, match="already exists"):
        space.add_variables(["x", "y"])
    assert space.variable_names == ["y"]
    assert space.dimension == 1


def test_add_variables_refuses_one_text():
    with pytest.raises(TypeError, match="several"):
        sx.StateSpace().add_variables("xy")


def test_lookups_of_unknown_names_give_none():
    space = sx.StateSpace().add_variable("a")
    assert space.has_variable("a") and not space.has_variable("b")
    assert space.get_variable("b") is None
    assert space.get_variable_index("b") is None
    assert space.get_variable_index("a") == 0


def test_a_name_twice_is_refused():
    with pytest.raises(ValueError, match="already exists"):
        sx.StateSpace().add_variable("a").add_variable("a")


@pytest.mark.parametrize("dimension", [0, -1])
def test_a_dimension_below_one_is_refused(dimension):
    with pytest.raises(ValueError, match="at least 1"):
        sx.StateSpace().add_variable("a", dimension)


@pytest.mark.parametrize("dimension", [True, 1.5, "2"])
def test_a_dimension_that_is_no_count_is_refused(dimension):
    with pytest.raises(TypeError, match="whole number"):
        sx.StateSpace().add_variable("a", dimension)


def test_lower_above_upper_is_refused():
    space = sx.StateSpace()
    with pytest.raises(ValueError, match="must not exceed"):
        space.add_variable("a", 2, lower=[0.0, 2.0], upper=[1.0, 1.0])
    assert space.num_variables == 0


def test_nan_bounds_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        sx.StateSpace().add_variable("a", lower=float("nan"))


def test_an_empty_name_is_refused():
    with pytest.raises(ValueError, match="cannot be empty"):
        sx.StateSpace().add_variable("")


def test_adding_after_finalize_is_refused_and_finalize_may_be_repeated():
    space = sx.StateSpace().add_variable("a").finalize().finalize()
    assert space.is_finalized
    with pytest.raises(RuntimeError, match="finalized"):
        space.add_variable("b")
    with pytest.raises(RuntimeError, match="finalized"):
        space.add_variables(["b"])
    assert space.variable_names == ["a"]


def test_bounds_are_spread_and_joined():
    space = sx.StateSpace().add_variable("a", 2, lower=-1, upper=[1, 2]).add_variable("b")
    np.testing.assert_array_equal(space.lower_bounds, [-1, -1, -np.inf])
    np.testing.assert_array_equal(space.upper_bounds, [1, 2, np.inf])


def test_bounds_handed_out_cannot_change_the_space():
    space = sx.StateSpace().add_variable("a", lower=0.0, upper=1.0)
    with pytest.raises(ValueError, match="read-only"):
        space.lower_bounds[0] = 9.0
    assert space.lower_bounds.tolist() == [0.0]
    with pytest.raises(ValueError, match="read-only"):
        space.get_variable("a").lower_bound[0] = 9.0


def test_the_namespace_of_the_seeds():
    assert sx.state.StateSpace is sx.StateSpace


def test_an_empty_space_has_no_numbers():
    space = sx.StateSpace().finalize()
    assert (space.dimension, space.lower_bounds.shape) == (0, (0,))


def test_spaces_of_a_world_are_kept_until_it_changes_and_then_dropped():
    world = sx.World()
    box = world.add_rigid_body("box")
    first, controls = world.state_space(), world.control_space()
    world.step()
    assert world.state_space() is first and world.control_space() is controls
    dropped = weakref.ref(first)
    del first, controls
    for k in range(3):
        box.mass = 2.0 + k
        world.state_space(), world.control_space()
    gc.collect()
    assert dropped() is None
    assert world.state_space() is not world.control_space()
    assert len(world._live().spaces) == 2
