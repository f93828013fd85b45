# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Objects of the array and collision layers refuse attributes that they do not have."""

import pytest

from worldline.collision import CollisionShape
from worldline.model import ModelBuilder


def _builder():
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0)
    builder.add_articulation([builder.add_joint_revolute(-1, link)])
    return builder


MADE = {
    "ModelBuilder": (_builder, "gravty", "gravity"),
    "Model": (lambda: _builder().finalize(), "joint_coord_counts", "joint_coord_count"),
    "CollisionShape": (lambda: CollisionShape.sphere(0.1), "radus", "radius"),
}


@pytest.mark.parametrize("kind", MADE)
def test_a_misspelt_attribute_is_refused_with_the_nearest_name(kind):
    make, name, meant = MADE[kind]
    made = make()
    with pytest.raises(AttributeError, match=f"{kind} has no attribute '{name}'; did you mean '{meant}'"):
        setattr(made, name, 1.0)
    assert not hasattr(made, name)


def test_a_class_of_a_user_may_have_attributes_of_its_own():
    class Annotated(ModelBuilder):
        pass

    builder = Annotated()
    builder.author = "me"
    assert builder.author == "me"


def test_what_may_be_written_is_written():
    builder = _builder()
    builder.gravity = (0.0, 0.0, -1.6)
    builder.joint_q = [0.3]
    model = builder.finalize()
    assert model.gravity.tolist() == [0.0, 0.0, -1.6] and model.joint_q.tolist() == [0.3]
