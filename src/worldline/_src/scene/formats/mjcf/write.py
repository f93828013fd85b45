# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Writing a scene as MJCF, the XML format of MuJoCo.

Values are written resolved and taken literally: angles in radians, no default classes, and mass properties
as numbers where MuJoCo would find others. The order follows what refers to what, as in the reader; sections
are put into their usual order at the end.
"""

from __future__ import annotations

from pathlib import Path

from worldline._src.scene.formats.markup import document
from worldline._src.scene.formats.mjcf.write_actuators import write_actuators
from worldline._src.scene.formats.mjcf.write_bodies import write_bodies
from worldline._src.scene.formats.mjcf.write_contacts import write_contacts
from worldline._src.scene.formats.mjcf.write_equality import write_distance_springs, write_equalities
from worldline._src.scene.formats.mjcf.write_keyframes import write_keyframes
from worldline._src.scene.formats.mjcf.write_materials import write_materials, write_textures
from worldline._src.scene.formats.mjcf.write_meshes import sort_meshes, write_hfields, write_other_meshes
from worldline._src.scene.formats.mjcf.write_options import write_compiler, write_custom, write_options
from worldline._src.scene.formats.mjcf.write_sensors import write_sensors
from worldline._src.scene.formats.mjcf.write_tendons import write_tendons
from worldline._src.scene.formats.mjcf.write_visual import write_visual
from worldline._src.scene.formats.mjcf.writing import Writing
from worldline._src.scene.formats.shape_meshes import with_meshes
from worldline._src.scene.geometry import SHAPES
from worldline._src.scene.report import Report
from worldline._src.scene.world import World


def write(world: World, *, file_path: Path | None, report: Report, files: dict[str, bytes] | None) -> str:
    """The MJCF text of a valid scene.

    Args:
        world: The scene; relative asset paths in it start at the file.
        file_path: The file the text is for.
        report: Takes what the format cannot say, by path in the scene.
        files: Takes copies of assets that lie outside the folder of the file, where its reader may not go.
    """
    world = with_meshes(world, lambda shape: SHAPES[shape].mjcf is not None, report)
    writing = Writing(world, report, file_path, files)
    write_compiler(writing)
    write_options(writing)
    write_visual(writing)
    write_custom(writing)
    write_textures(writing)
    write_materials(writing)
    write_hfields(writing)
    write_bodies(writing)
    write_other_meshes(writing)
    sort_meshes(writing)
    write_tendons(writing)
    write_distance_springs(writing)
    write_contacts(writing)
    write_equalities(writing)
    write_actuators(writing)
    write_sensors(writing)
    write_keyframes(writing)
    _note_rest(writing)
    return document(writing.document())


def _note_rest(writing: Writing) -> None:
    """Notes the parts of a scene that the format knows nothing of."""
    world = writing.world
    reasons = {
        "joints": "MJCF has no joints beside the trees",
        "ground_points": "MJCF has no points on a ground plane",
        "multibodies": "bodies are not gathered into multibodies",
        "differentiable_parameters": "derivatives are not a matter of a file",
    }
    for field, reason in reasons.items():
        for index in range(len(getattr(world, field))):
            writing.lost(f"$.{field}[{index}]", reason)
