# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every robot of example-robot-data as MJCF: MuJoCo and Worldline read it, with the mass properties of the URDF.

Where a URDF holds moments that no body can have, a note says how far the written ones are from them.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from peers import example_robots
from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.formats.mjcf.possible_inertia import FLOOR, possible_inertia
from worldline._src.scene.formats.writing import to_file
from worldline._src.scene.mass_properties import NOTHING, MassProperties, given_properties

try:
    import mujoco
except ImportError:
    mujoco = None


# left empty by the package: no tool reads it
ROBOTS = [path for path in example_robots(".urdf") if path.name != "ur3.urdf"]
CHANGED = re.compile(r"no body has the moments .* ([0-9.e+-]+) % away")


def without_meshes(world: msd.World) -> msd.World:
    """The robot without its looks, which take most of the time to write and say nothing about inertia."""
    for link in world.hierarchy.links():
        link.geoms = []
    world.assets.meshes.clear()
    world.assets.materials.clear()
    return world


@pytest.mark.skipif(not ROBOTS, reason="the package example-robot-data is not installed")
@pytest.mark.skipif(mujoco is None, reason="needs mujoco")
@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: f"{path.parent.parent.name}-{path.name}")
def test_written_robot_is_read_with_its_masses(path: Path, tmp_path: Path) -> None:
    world = without_meshes(msd.from_file(path))
    report = to_file(world, tmp_path / "robot.xml")
    notes: dict[str, str] = {}
    for entry in report.losses:
        if entry.path.endswith(".inertial"):
            notes[entry.path] = notes.get(entry.path, "") + entry.message
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    again = msd.from_file(tmp_path / "robot.xml")
    again.validate()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for link, where in _links(world):
        given = given_properties(link.inertial, NOTHING)
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link.name)
        turn = rotation_matrix(model.body_iquat[body][[1, 2, 3, 0]])
        written = turn @ np.diag(model.body_inertia[body]) @ turn.T
        note = notes.pop(f"{where}.inertial", "")
        size = np.linalg.norm(given.inertia)
        moved = float(np.linalg.norm(written - given.inertia))
        if not note:
            assert model.body_mass[body] == pytest.approx(given.mass, rel=1e-12, abs=0.0)
            # MuJoCo finds principal axes by its own iteration, to about 1e-11
            assert moved <= 1e-9 * size
            continue
        change = CHANGED.search(note)
        stated = 0.0 if change is None else float(change[1]) / 100.0
        assert moved <= (stated * 1.01 + 1e-9) * size + 3.0 * FLOOR, note
        assert model.body_mass[body] == pytest.approx(given.mass, rel=1e-9, abs=FLOOR)
        if change is not None:
            assert moved >= 0.99 * stated * size
    assert not notes


def _links(world: msd.World) -> list[tuple[msd.Link, str]]:
    found = []
    for index, body in enumerate(world.hierarchy.bodies):
        stack = [(body.link, f"$.hierarchy.bodies[{index}].link")]
        while stack:
            link, path = stack.pop()
            found.append((link, path))
            stack += [(child, f"{path}.children[{k}]") for k, child in enumerate(link.children)]
    return found


IMPOSSIBLE = {
    "negative": np.diag([1.0, 1.0, -0.1]),
    "beyond the triangle": np.diag([1.0, 2.0, 5.0]),
    "off the axes": np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.3], [0.0, 0.3, 0.5]]),
    "nothing but one": np.diag([3e-6, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_the_nearest_possible_inertia(name: str) -> None:
    """A body exists when the second moments of mass are positive semidefinite; no nearer ones were found."""
    given = MassProperties(2.0, np.zeros(3), IMPOSSIBLE[name])
    found = possible_inertia(given)
    axes = rotation_matrix(found.rotation)
    inertia = axes @ np.diag(found.moments) @ axes.T

    def second(tensor: np.ndarray) -> np.ndarray:
        return 0.5 * np.trace(tensor) * np.eye(3) - tensor

    a, b, c = found.moments
    assert c >= 0.0 and b + c >= a >= b >= c
    size = np.linalg.norm(given.inertia)
    assert found.change == pytest.approx(np.linalg.norm(inertia - given.inertia) / size, rel=1e-9)
    best = np.linalg.norm(second(inertia) - second(given.inertia))
    rng = np.random.default_rng(3)
    for _ in range(2000):
        root = np.linalg.cholesky(second(inertia) + 1e-9 * size * np.eye(3))
        root = root + 0.1 * np.sqrt(size) * rng.normal(size=(3, 3)) * rng.random() ** 3
        assert np.linalg.norm(root @ root.T - second(given.inertia)) >= best - 1e-8 * size


def test_a_lossy_write_is_refused_where_it_should_be_exact(tmp_path: Path) -> None:
    text = """<robot name="r"><link name="base"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="2" izz="5" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    world = msd.from_str(text, format="urdf")
    report = to_file(world, tmp_path / "lossy.xml")
    notes = [entry for entry in report.losses if entry.path.endswith(".inertial")]
    assert len(notes) == 1
    assert re.search(r"no body has the moments 5 2 1 kg m\^2.*nearest.*away", notes[0].message)
    with pytest.raises(SceneError, match="no body has the moments"):
        to_file(world, tmp_path / "strict.xml", strict=True)
    assert not (tmp_path / "strict.xml").exists()


CUBES = "o first\n{first}o second\n{second}"
FACES = (
    (0, 1, 3),
    (0, 3, 2),
    (4, 6, 7),
    (4, 7, 5),
    (0, 4, 5),
    (0, 5, 1),
    (2, 3, 7),
    (2, 7, 6),
    (0, 2, 6),
    (0, 6, 4),
)


def cube(x: float, first: int) -> str:
    """A cube of side 1 as OBJ, whose vertices are numbered from `first`."""
    corners = [(x + i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    faces = [*FACES, (1, 5, 7), (1, 7, 3)]
    lines = [f"v {a} {b} {c}" for a, b, c in corners]
    lines += [f"f {first + a} {first + b} {first + c}" for a, b, c in faces]
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(mujoco is None, reason="needs mujoco")
def test_files_that_mujoco_reads_in_part_are_written_as_triangles(tmp_path: Path) -> None:
    """Of an OBJ file with several objects MuJoCo takes the faces of the first only."""
    (tmp_path / "cubes.obj").write_text(CUBES.format(first=cube(0.0, 1), second=cube(5.0, 9)))
    text = (
        '<mujoco><asset><mesh name="m" file="cubes.obj" inertia="exact"/></asset><worldbody><body name="b">'
    )
    text += '<freejoint/><geom type="mesh" mesh="m" density="1"/></body></worldbody></mujoco>'
    world = msd.from_str(text, file_path=tmp_path / "scene.xml")
    to_file(world, tmp_path / "again.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
    assert model.nmeshface == 24
    assert model.body_mass[1] == pytest.approx(2.0, rel=1e-6)
