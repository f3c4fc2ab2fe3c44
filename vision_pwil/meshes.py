"""The door's scene for drawing: AdroitHandDoor's model with what is seen of it, its meshes simplified."""

from functools import lru_cache
from pathlib import Path

import fast_simplification
import gymnasium_robotics
import numpy as np

from vision_pwil import opengl  # noqa: F401  (before mujoco)

# isort: split
import mujoco

_SCENE = Path(gymnasium_robotics.__file__).parent / "envs" / "assets" / "adroit_hand" / "adroit_door.xml"


def door_model(triangles: int) -> mujoco.MjModel:
    """The model to draw, the meshes of its hand cut to about so many triangles together (0: left whole)."""
    return _compiled(triangles).__copy__()


@lru_cache(maxsize=4)
def _compiled(triangles: int) -> mujoco.MjModel:
    whole = mujoco.MjModel.from_xml_path(str(_SCENE))
    if not triangles:
        return whole
    spec = mujoco.MjSpec.from_file(str(_SCENE))
    # The picture's depth range and lamp follow the model's statistics: keep those of the whole model.
    spec.stat.extent, spec.stat.center = whole.stat.extent, whole.stat.center
    keep = triangles / _drawn_triangles(whole)
    for mesh in spec.meshes:
        vertices, faces = _mesh(whole, mesh.name)
        vertices, faces = fast_simplification.simplify(
            vertices, faces, target_count=max(12, round(keep * len(faces))), agg=7
        )
        mesh.file = ""
        mesh.scale = np.ones(3)
        mesh.uservert, mesh.userface = vertices.ravel(), faces.ravel()
    return spec.compile()


def _drawn_triangles(model: mujoco.MjModel) -> int:
    """Triangles of all the meshes in the scene; a mesh used by four fingers counts four times."""
    meshes = model.geom_dataid[model.geom_type == mujoco.mjtGeom.mjGEOM_MESH]
    return int(model.mesh_facenum[meshes].sum())


def _mesh(model: mujoco.MjModel, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a compiled mesh, back in the frame of its file (the compiler centres it)."""
    mesh = model.mesh(name)
    start, count = int(mesh.vertadr[0]), int(mesh.vertnum[0])
    vertices = model.mesh_vert[start : start + count].astype(np.float64)
    start, count = int(mesh.faceadr[0]), int(mesh.facenum[0])
    faces = model.mesh_face[start : start + count]
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.mesh_quat[mesh.id])
    return vertices @ rotation.reshape(3, 3).T + model.mesh_pos[mesh.id], faces
