# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""State and controls by name and as vectors: copies, write-back, manifolds."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from facade_worlds import arm_and_box, floating
from worldline import simulation as sx


@pytest.fixture
def scene():
    world, arm = arm_and_box()
    floating(world)
    return world, arm


def test_the_space_of_a_world(scene):
    space = scene[0].state_space()
    assert space.is_finalized
    assert [(v.name, v.dimension) for v in space.variables] == [
        ("box.pose", 7),
        ("arm.q", 2),
        ("bird.q", 11),
        ("box.velocity", 6),
        ("arm.dq", 2),
        ("bird.dq", 9),
    ]


def test_bounds_come_from_joint_limits(scene):
    world, arm = scene
    arm.joints["shoulder"].velocity_limits = [3.0]
    space = world.state_space()
    assert space.get_variable("arm.q").lower_bound.tolist() == [-np.inf, -2.0]
    assert space.get_variable("arm.q").upper_bound.tolist() == [np.inf, 2.5]
    assert space.get_variable("arm.dq").upper_bound.tolist() == [3.0, np.inf]


def test_bounds_follow_a_change_of_limits(scene):
    world, arm = scene
    world.state_space()
    arm.joints["elbow"].set_position_limits(-1.0, 1.0)
    assert world.state_space().get_variable("arm.q").upper_bound[1] == 1.0


def test_a_state_is_a_copy(scene):
    world, arm = scene
    state = world.get_state(world.state_space())
    state["arm.q"] = [1.0, 1.0]
    assert arm.joints.position.tolist() == [0.4, -0.3]
    arm.joints.position = [0.0, 0.0]
    assert state["arm.q"].tolist() == [1.0, 1.0]


def test_setting_a_state_moves_the_world(scene):
    world, arm = scene
    state = world.get_state(world.state_space())
    state["arm.q"] = [1.0, -1.0]
    state["box.pose"] = [1, 2, 3, 0, 0, 0, 1]
    world.set_state(state)
    assert arm.joints.position.tolist() == [1.0, -1.0]
    assert world.rigid_bodies["box"].translation.tolist() == [1.0, 2.0, 3.0]


def test_reading_and_writing_back_changes_no_bit(scene):
    world, _ = scene
    world.step(n=50)
    before = world.state_vector
    world.set_state(world.get_state(world.state_space()))
    assert world.state_vector.tobytes() == before.tobytes()


def test_links_follow_a_state(scene):
    world, arm = scene
    before = arm.links["lower"].translation
    state = world.get_state(world.state_space())
    state["arm.q"] = [1.5, 0.0]
    world.set_state(state)
    assert np.abs(arm.links["lower"].translation - before).max() > 0.1


def test_a_hand_made_space_of_the_seeds():
    world, arm = arm_and_box()
    space = sx.state.StateSpace()
    space.add_variable("arm.q", dimension=2)
    space.add_variable("arm.dq", dimension=2)
    space.finalize()
    state = world.get_state(space)
    state["arm.q"] = [0.1, 0.2]
    world.set_state(state)
    assert arm.joints.position.tolist() == [0.1, 0.2]
    assert world.get_control(space).space.variable_names == ["arm.force"]


def test_one_joint_by_name(scene):
    world, arm = scene
    space = sx.StateSpace().add_variable("arm.elbow.q").finalize()
    state = world.get_state(space)
    assert state["arm.elbow.q"].tolist() == [-0.3]
    state["arm.elbow.q"] = [0.7]
    world.set_state(state)
    assert arm.joints.position.tolist() == [0.4, 0.7]


def test_positions_as_rotation_vectors_when_the_size_says_so(scene):
    world, _ = scene
    bird = world.multibodies["bird"]
    bird.joints.position = [1, 2, 3, 0.1, 0.2, 0.3, -0.2, 0.4, 0.6]
    space = sx.StateSpace().add_variable("bird.q", 9).finalize()
    state = world.get_state(space)
    np.testing.assert_allclose(state["bird.q"], bird.joints.position, atol=1e-15)
    state["bird.q"] = [0, 0, 0, 0.3, 0, 0, 0, 0.5, 0]
    world.set_state(state)
    np.testing.assert_allclose(bird.joints.position, [0, 0, 0, 0.3, 0, 0, 0, 0.5, 0], atol=1e-15)


@pytest.mark.parametrize(
    ("name", "dimension", "error", "text"),
    [
        ("arm.q", 3, ValueError, "has 2 numbers"),
        ("amr.q", 2, KeyError, "did you mean 'arm'"),
        ("arm.mass", 2, ValueError, "must end in one of .q, .dq, .pose, .velocity"),
        ("arm.force", 2, ValueError, "must end in one of"),
        ("box.q", 7, KeyError, "no owner 'box'"),
    ],
)
def test_names_and_sizes_that_do_not_fit(scene, name, dimension, error, text):
    space = sx.StateSpace().add_variable(name, dimension).finalize()
    with pytest.raises(error, match=text):
        scene[0].get_state(space)


def test_a_space_must_be_finalized(scene):
    with pytest.raises(RuntimeError, match="finalized"):
        scene[0].get_state(sx.StateSpace().add_variable("arm.q", 2))


def spoil_nan(state):
    state.vector[3] = np.nan


def spoil_quaternion(state):
    state["box.pose"] = [0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(("spoil", "text"), [(spoil_nan, "box.pose"), (spoil_quaternion, "non-zero")])
def test_a_refused_state_changes_nothing(scene, spoil, text):
    world, _ = scene
    before = world.state_vector
    state = world.get_state(world.state_space())
    state["arm.q"] = [1.0, 1.0]
    spoil(state)
    with pytest.raises(ValueError, match=text):
        world.set_state(state)
    assert world.state_vector.tobytes() == before.tobytes()


def test_quaternions_are_made_unit(scene):
    world, _ = scene
    state = world.get_state(world.state_space())
    state["box.pose"] = [0, 0, 0, 0, 0, 2, 2]
    world.set_state(state)
    np.testing.assert_allclose(world.rigid_bodies["box"].quaternion, [0, 0, 0.5**0.5, 0.5**0.5])


def test_a_static_body_takes_no_velocity():
    world = sx.World()
    world.add_rigid_body("ground", fixed=True)
    state = world.get_state(world.state_space())
    state["ground.velocity"] = [1, 0, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="static"):
        world.set_state(state)


def test_a_state_may_go_to_another_world_with_the_same_names():
    a, _ = arm_and_box()
    b, _ = arm_and_box()
    a.step(n=10)
    b.set_state(a.get_state(a.state_space()))
    assert b.state_vector.tobytes() == a.state_vector.tobytes()


def test_unknown_variables_of_a_state(scene):
    state = scene[0].get_state(scene[0].state_space())
    with pytest.raises(KeyError, match=r"did you mean 'arm\.q'"):
        state["arm.p"]
    assert "arm.q" in state and "arm.p" not in state


def test_a_wrong_size_of_a_variable_is_refused(scene):
    state = scene[0].get_state(scene[0].state_space())
    with pytest.raises(ValueError, match="dimension is 2, got 3"):
        state["arm.q"] = [1, 2, 3]


def test_the_flat_vector_is_the_state(scene):
    state = scene[0].get_state(scene[0].state_space())
    state.vector[7] = 0.25
    assert state["arm.q"][0] == 0.25
    assert np.asarray(state).shape == (len(state),)


def test_a_copied_state_is_independent(scene):
    state = scene[0].get_state(scene[0].state_space())
    other = state.copy()
    other["arm.q"] = [0.0, 0.0]
    assert state["arm.q"].tolist() == [0.4, -0.3]


def test_within_bounds(scene):
    state = scene[0].get_state(scene[0].state_space())
    assert state.is_within_bounds()
    state["arm.q"] = [0.0, 3.0]
    assert not state.is_within_bounds()


# ---- manifold


def random_pair(world, seed):
    rng = np.random.default_rng(seed)
    states = []
    for _ in range(2):
        state = world.get_state(world.state_space())
        world.set_state(sx.state.integrate(state, rng.normal(size=state.tangent_dimension)))
        states.append(world.get_state(world.state_space()))
    return states


@pytest.mark.parametrize("seed", range(5))
def test_integrate_undoes_difference(scene, seed):
    a, b = random_pair(scene[0], seed)
    again = sx.state.integrate(a, sx.state.difference(a, b))
    assert np.abs(sx.state.difference(again, b)).max() < 1e-13


@pytest.mark.parametrize("seed", range(3))
def test_the_same_with_rotation_vectors(scene, seed):
    world, _ = scene
    space = sx.StateSpace().add_variable("bird.q", 9).add_variable("bird.dq", 9).finalize()
    a = world.get_state(space)
    a.vector = 0.7 * np.random.default_rng(seed).normal(size=18)
    b = a.copy()
    b.vector = 0.7 * np.random.default_rng(seed + 100).normal(size=18)
    again = sx.state.integrate(a, sx.state.difference(a, b))
    assert np.abs(sx.state.difference(again, b)).max() < 1e-13


def test_difference_is_that_of_the_array_layer():
    world = sx.World()
    world.add_rigid_body("box")
    a, b = random_pair(world, 7)
    model = world._live().model
    expected = wm.difference(model, a["box.pose"], b["box.pose"])
    np.testing.assert_allclose(sx.state.difference(a, b)[:6], expected, atol=1e-14)


def test_difference_takes_the_short_way_round():
    world = sx.World()
    world.add_rigid_body("box")
    a = world.get_state(world.state_space())
    b = a.copy()
    b["box.pose"] = [0, 0, 0, 0, 0, 0, -1]
    assert np.abs(sx.state.difference(a, b)).max() == 0.0


def test_interpolation_meets_both_ends_and_the_middle(scene):
    a, b = random_pair(scene[0], 3)
    assert np.abs(sx.state.difference(sx.state.interpolate(a, b, 0.0), a)).max() < 1e-15
    assert np.abs(sx.state.difference(sx.state.interpolate(a, b, 1.0), b)).max() < 1e-13
    middle = sx.state.interpolate(a, b, 0.5)
    np.testing.assert_allclose(sx.state.difference(a, middle), sx.state.difference(middle, b), atol=1e-13)


def test_tangents_have_one_number_per_freedom(scene):
    state = scene[0].get_state(scene[0].state_space())
    assert state.tangent_dimension == 2 * (6 + 2 + 9)
    assert state.tangent_sizes["bird.q"] == 9
    with pytest.raises(ValueError, match="tangent dimension"):
        sx.state.integrate(state, np.zeros(3))


def test_states_of_different_spaces_have_no_difference(scene):
    world, _ = scene
    a = world.get_state(world.state_space())
    b = world.get_state(sx.StateSpace().add_variable("arm.q", 2).finalize())
    with pytest.raises(ValueError, match="different"):
        sx.state.difference(a, b)


# ---- controls


def test_controls_are_written_at_once(scene):
    world, arm = scene
    control = world.get_control(world.control_space())
    control["arm.force"] = [1.0, 2.0]
    control["box.wrench"] = [1, 2, 3, 4, 5, 6]
    world.set_control(control)
    assert arm.joints.force.tolist() == [1.0, 2.0]
    assert world.rigid_bodies["box"].torque.tolist() == [1, 2, 3]
    assert world.rigid_bodies["box"].force.tolist() == [4, 5, 6]


def test_targets_are_controls(scene):
    world, arm = scene
    space = sx.StateSpace().add_variable("arm.target_position", 2).add_variable("arm.elbow.target_velocity")
    control = world.get_control(space.finalize())
    control.vector = [0.1, 0.2, 0.3]
    world.set_control(control)
    assert arm.joints.target_position.tolist() == [0.1, 0.2]
    assert arm.joints["elbow"].target_velocity.tolist() == [0.3]


def test_controls_of_a_space_of_state_are_those_of_its_owners(scene):
    world, _ = scene
    control = world.get_control(world.state_space())
    assert control.space.variable_names == ["box.wrench", "arm.force", "bird.force"]


def test_a_state_is_no_control(scene):
    world, _ = scene
    with pytest.raises(TypeError, match="WorldControl"):
        world.set_control(world.get_state(world.state_space()))


def test_a_held_force_acts_after_it_was_set_as_control():
    world = sx.World(time_step=0.1, gravity=(0, 0, 0))
    box = world.add_rigid_body("box", mass=2.0)
    world.step()
    world.control_vector = [0, 0, 0, 4, 0, 0]
    world.step(n=10)
    np.testing.assert_allclose(box.linear_velocity, [2, 0, 0])


# ---- vectors


def test_the_state_vector_holds_configuration_then_velocity(scene):
    world, arm = scene
    vector = world.state_vector
    assert vector.shape == (world.state_space().dimension,)
    np.testing.assert_array_equal(vector[7:9], arm.joints.position)
    np.testing.assert_array_equal(vector[20:23], [0.3, 0.0, 0.1])


def test_orientation_is_part_of_the_state_vector():
    world = sx.World()
    box = world.add_rigid_body("box", orientation=(0, 0, 1, 1))
    vector = world.state_vector
    box.quaternion = (0, 0, 0, 1)
    world.state_vector = vector
    np.testing.assert_allclose(box.quaternion, [0, 0, 0.5**0.5, 0.5**0.5])


@pytest.mark.parametrize(
    "name", ["state_vector", "control_vector", "rigid_body_state_vector", "rigid_body_control_vector"]
)
def test_vectors_can_be_written_back_and_sizes_are_checked(scene, name):
    world, _ = scene
    vector = getattr(world, name)
    setattr(world, name, vector)
    assert getattr(world, name).tobytes() == vector.tobytes()
    with pytest.raises(ValueError, match=f"{name} dimension is {len(vector)}"):
        setattr(world, name, np.zeros(len(vector) + 1))


def test_counts(scene):
    world, _ = scene
    assert world.num_rigid_body_dofs == 6
    assert world.num_rigid_body_efforts == len(world.rigid_body_control_vector) == 6
    assert world.num_efforts == len(world.control_vector) == 6 + 2 + 9
    assert len(world.rigid_body_state_vector) == 13


def test_a_state_vector_continues_bit_for_bit():
    world, _ = arm_and_box()
    world.step(n=20)
    kept = world.state_vector
    world.step(n=20)
    expected = world.state_vector
    world.state_vector = kept
    world.step(n=20)
    assert world.state_vector.tobytes() == expected.tobytes()
