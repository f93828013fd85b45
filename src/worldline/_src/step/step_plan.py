# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Step plan: the properties of a model that the conditions of the step table refer to."""

from __future__ import annotations

from worldline._src.named_tuple import NamedTuple


class StepPlan(NamedTuple):
    """What the step of a model has to do; conditions of the table are over these names."""

    drives: bool = False
    """Commands and drives of joints."""
    passive: bool = False
    """Springs and dampers of joints."""
    prescribed: bool = False
    """Degrees of freedom with prescribed motion."""
    wrenches: bool = False
    """Forces on bodies."""
    gravity_compensation: bool = False
    """Bodies whose weight is compensated."""
    ground: bool = False
    """Points of links that may touch a ground plane."""
    free_spin: bool = False
    """Free bodies on their own, whose spin semi-implicit steps integrate exactly."""
    runge_kutta: bool = False
    """Four evaluations a step."""
    variational: bool = False
    """Discrete Euler-Lagrange equations."""
    fixed: bool = False
    """The layout of lanes, else that of one world with islands."""
    recorded: bool = False
    """Forces of rows are recorded in the fixed layout, for those who read a World."""
    anchors: bool = False
    """Frames on links that equalities, tendons, springs and actuators hold."""
    body_springs: bool = False
    """Springs between bodies."""
    joint_motors: bool = False
    """Motors, springs and dampers of joints between bodies."""
    fluid: bool = False
    """Air or water around bodies."""
    tendons: bool = False
    transmissions: bool = False
    """Actuators of anything but coordinates of joints."""
    adhesion: bool = False
    """Actuators that pull along contacts, which are found before forces then."""
    actuators: bool = False
    actuated_gravity_compensation: bool = False
    """Gravity compensation that counts as an actuator force."""
    activations: bool = False
    """Actuators with a state."""
    rows: bool = False
    """Anything that may have a constraint row."""
    row_impulses: bool = False
    """Rows act on variational steps; those of hard closures only give the forces at the start of one."""
    shapes: bool = False
    """Shapes that may touch."""
    near_pairs: bool = False
    """Worlds in lanes look for pairs of shapes that are near in any of them, else at all that may touch;"""
    single_pairs: bool = False
    """Pairs of shapes whose contacts worlds in lanes find one world at a time;"""
    round_pairs: bool = False
    """Pairs of spheres and capsules,"""
    flat_pairs: bool = False
    """of planes and solids,"""
    ball_pairs: bool = False
    """of spheres and solids,"""
    convex_pairs: bool = False
    """of other convex shapes,"""
    surface_pairs: bool = False
    """and with meshes and height fields."""
    contact_log: bool = False
    """Contact events are kept."""
    equalities: bool = False
    """Closures, joints between bodies, couplers and equalities of a scene."""
    closed_loops: bool = False
    """Of these, hard ones, which the end of a step projects."""
    mean_acceleration: bool = False
    """Mechanisms of these take the mean of their accelerations at both ends of a semi-implicit step."""
    friction: bool = False
    """Dry friction of joints."""
    motors: bool = False
    """Servos and mimic motors with a largest force,"""
    lopsided_motors: bool = False
    """of which some have another one in each direction."""
    limits: bool = False
    """Position limits,"""
    hard_limits: bool = False
    """of which some are hard."""
    speed_limits: bool = False
    warm_start: bool = True
    """Solvers start from the solution of the last step."""
    implicit: bool = False
    """Damping is taken at the end of the step,"""
    implicit_velocity: bool = False
    """and forces of tendons and actuators that depend on velocities."""
    split: bool = False
    """Contacts and limits are solved for positions and for velocities (split impulse)."""
    sleep: bool = False
    """Islands at rest fall asleep."""
    impulses: bool = False
    """Sequential impulses may solve an island."""
    boxed: bool = False
    """Pivoting may solve an island."""
    swept: bool = False
    """Sweeps over rows may solve an island."""
    body_rows: bool = False
    """Sweeps over rows of two free bodies may solve an island."""
    restitution: bool = False
    """Contacts bounce."""
    hard_contacts: bool = False
    newton_rows: bool = False
    """Newton's method solves rows of the fixed layout: plain ones,"""
    newton_cones: bool = False
    """rows with elliptic cones,"""
    newton_coulomb: bool = False
    """or cones that obey Coulomb's law."""
    no_slip: bool = False
    """Sweeps against slip after the solve."""
    controllers: bool = False
    """Functions of the user that write commands,"""
    force_elements: bool = False
    """that add forces,"""
    acceleration_stages: bool = False
    """that change accelerations before constraints are solved,"""
    end_stages: bool = False
    """that change the state after integration,"""
    observers: bool = False
    """and that look at the end of a step."""
    controller_kernels: bool = False
    """The same as compiled kernels: controllers,"""
    force_kernels: bool = False
    """force elements,"""
    acceleration_kernels: bool = False
    """stages at accelerations,"""
    end_kernels: bool = False
    """stages at the end,"""
    counted: bool = False
    """and the number of the step that kernels see."""
    user_poses: bool = False
    """Elements of the user that see poses and velocities of bodies."""
    detector: bool = False
    """Contacts come from a registered collision detector."""
    sensor_kernels: bool = False
    """Sensors that kernels of the user make."""
    read_dynamics: bool = False
    """Sensors of accelerations or forces are read, after an evaluation of the present state;"""
    read_frames: bool = False
    """sensors with a frame,"""
    read_poses: bool = False
    """of its pose,"""
    read_velocities: bool = False
    """of its velocity,"""
    read_accelerations: bool = False
    """and of its acceleration;"""
    read_state: bool = False
    """of coordinates, velocities and time,"""
    read_subtrees: bool = False
    """of subtrees,"""
    read_energies: bool = False
    """of energy,"""
    read_efforts: bool = False
    """of actuators and tendons,"""
    read_limits: bool = False
    """of limits,"""
    read_forces: bool = False
    """of forces within bodies,"""
    read_touch: bool = False
    """of touch,"""
    read_contacts: bool = False
    """of lists of contacts,"""
    read_rays: bool = False
    """of rays,"""
    read_distances: bool = False
    """and of distances between shapes,"""
    near_round: bool = False
    """spheres and capsules,"""
    near_flat: bool = False
    """planes and solids,"""
    near_ball: bool = False
    """spheres and solids,"""
    near_convex: bool = False
    """other convex shapes,"""
    near_surface: bool = False
    """meshes and height fields;"""
    read_clipped: bool = False
    """sensors with a cut-off."""
