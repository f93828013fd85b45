# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mathematics of rotations and rigid motions: NumPy arrays in and out, any leading dimensions.

Quaternions are xyzw, poses position and quaternion, twists angular first. Nothing here needs the compiler.
"""

from worldline._src.math.lie_groups import (
    make_transform,
    pose_to_transform,
    se3_adjoint,
    se3_bracket,
    se3_exp,
    se3_interpolate,
    se3_inverse,
    se3_left_jacobian,
    se3_left_jacobian_inverse,
    se3_log,
    se3_right_jacobian,
    se3_right_jacobian_inverse,
    skew,
    so3_exp,
    so3_left_jacobian,
    so3_left_jacobian_inverse,
    so3_log,
    so3_right_jacobian,
    so3_right_jacobian_inverse,
    transform_to_pose,
    unskew,
)
from worldline._src.math.rotations import (
    EULER_ORDERS,
    axis_angle_to_quaternion,
    euler_to_matrix,
    euler_to_quaternion,
    matrix_to_euler,
    matrix_to_quaternion,
    nearest_rotation,
    quaternion_conjugate,
    quaternion_distance,
    quaternion_multiply,
    quaternion_normalize,
    quaternion_rotate,
    quaternion_to_axis_angle,
    quaternion_to_euler,
    quaternion_to_matrix,
    quaternion_to_rotation_vector,
    random_quaternion,
    rotation_vector_to_quaternion,
    slerp,
    wrap_angle,
)

__all__ = [
    "EULER_ORDERS", "axis_angle_to_quaternion", "euler_to_matrix", "euler_to_quaternion", "make_transform",
    "matrix_to_euler", "matrix_to_quaternion", "nearest_rotation", "pose_to_transform",
    "quaternion_conjugate", "quaternion_distance", "quaternion_multiply", "quaternion_normalize",
    "quaternion_rotate", "quaternion_to_axis_angle", "quaternion_to_euler", "quaternion_to_matrix",
    "quaternion_to_rotation_vector", "random_quaternion", "rotation_vector_to_quaternion", "se3_adjoint",
    "se3_bracket", "se3_exp", "se3_interpolate", "se3_inverse", "se3_left_jacobian",
    "se3_left_jacobian_inverse", "se3_log", "se3_right_jacobian", "se3_right_jacobian_inverse", "skew",
    "slerp", "so3_exp", "so3_left_jacobian", "so3_left_jacobian_inverse", "so3_log", "so3_right_jacobian",
    "so3_right_jacobian_inverse", "transform_to_pose", "unskew", "wrap_angle",
]  # fmt: skip
