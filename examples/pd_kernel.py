# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A PD controller inside of step(n): as a compiled kernel, beside the same as a function of Python."""

import time

import numpy as np

import worldline
from worldline import msd
from worldline import simulation as sx

LINKS, STIFFNESS, DAMPING = 4, 60.0, 3.0
LINK = '<body name="link_{k}" pos="{x} 0 0"><joint name="joint_{k}" axis="0 1 0" armature="0.05"/>'
LINK += '<geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.3"/>'


def text() -> str:
    """A chain of links with a motor at every joint."""
    links = "".join(LINK.format(k=k, x=0.2 if k else 0.0) for k in range(LINKS)) + "</body>" * LINKS
    motors = "".join(f'<motor name="motor_{k}" joint="joint_{k}"/>' for k in range(LINKS))
    world = f'<option timestep="0.001"/><worldbody>{links}</worldbody>'
    return f"<mujoco>{world}<actuator>{motors}</actuator></mujoco>"


def arm() -> sx.World:
    return sx.World.from_scene(msd.from_str(text(), format="mjcf"))


@worldline.kernel
def pd_kernel(step):
    """u = kp (q_wanted - q) - kd v; parameters: kp, kd, then what every joint is led to."""
    for k in range(step.dofs.shape[0]):
        error = step.parameters[2 + k] - step.q[step.coordinates[k]]
        rate = step.v[step.dofs[k]]
        step.control[step.actuators[k]] = step.parameters[0] * error - step.parameters[1] * rate


def main() -> None:
    wanted = np.array([0.4, -0.3, 0.2, -0.1])
    compiled, plain = arm(), arm()
    joints = list(compiled.multibodies[0].joints)
    compiled.add_controller(
        "pd",
        pd_kernel,
        joints=joints,
        actuators=[f"motor_{k}" for k in range(LINKS)],
        parameters=(STIFFNESS, DAMPING, *wanted),
    )

    def pd(step: sx.WorldStepContext) -> None:
        step.control[:] = STIFFNESS * (wanted - step.q) - DAMPING * step.v

    plain.add_controller("pd", pd)
    spent = []
    for world in (compiled, plain):
        world.step(n=10)
        start = time.perf_counter()
        world.step(n=5000)
        spent.append((time.perf_counter() - start) / 5000)
    angles = [world.multibodies[0].joints.position for world in (compiled, plain)]
    print(f"a step: {1e6 * spent[0]:.1f} us with the kernel, {1e6 * spent[1]:.1f} us with the function")
    print("angles:", ", ".join(f"{angle:.3f}" for angle in angles[0]), "rad")
    assert np.abs(angles[0] - angles[1]).max() < 1e-9
    assert np.abs(angles[0] - wanted).max() < 0.1  # gravity pulls a little


if __name__ == "__main__":
    main()
