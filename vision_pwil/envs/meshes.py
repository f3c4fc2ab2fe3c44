"""The door's scene for drawing: AdroitHandDoor's model, the meshes of its hand simplified.

The hand is a few pixels wide in an 84x84 frame, yet its meshes have 28,159 triangles, down to the lettering engraved on
the forearm. A part that nearly fills its convex hull is drawn as that hull, which has no such detail; quadric edge
collapse does the rest.
"""

from functools import lru_cache

import fast_simplification
import numpy as np
from scipy.spatial import ConvexHull

from vision_pwil.envs.adroit import SCENE  # first: it chooses the backend

# isort: split
import mujoco

# Share of its convex hull that a mesh must fill to be drawn as the hull: the forearm and the finger segments fill 0.76
# to 0.97 of theirs, the wrist, the palm and the metacarpal 0.40 to 0.60.
_CONVEX = 0.7
_FEWEST = 12  # triangles of a mesh


def door_model(triangles: int) -> mujoco.MjModel:
    """The model to draw, the hand cut to about so many triangles (0: whole, as it comes)."""
    return _compiled(triangles).__copy__()


@lru_cache(maxsize=4)
def _compiled(triangles: int) -> mujoco.MjModel:
    whole = mujoco.MjModel.from_xml_path(str(SCENE))
    if not triangles:
        return whole
    spec = mujoco.MjSpec.from_file(str(SCENE))
    # The depth range follows the model's extent: keep that of the whole model.
    spec.stat.extent, spec.stat.center = whole.stat.extent, whole.stat.center
    shapes = {mesh.name: _without_dents(*_mesh(whole, mesh.name)) for mesh in spec.meshes}
    # Large parts and detailed ones get more: the geometric mean of a part's surface and of its own triangles.
    needs = {name: np.sqrt(len(faces) * _area(vertices, faces)) for name, (vertices, faces) in shapes.items()}
    share = triangles / sum(needs[name] for name in _drawn(whole))
    for mesh in spec.meshes:
        vertices, faces = shapes[mesh.name]
        target = max(_FEWEST, round(share * needs[mesh.name]))
        if target < len(faces):
            vertices, faces = fast_simplification.simplify(vertices, faces, target_count=target)
        mesh.file = ""
        mesh.scale = np.ones(3)
        mesh.uservert, mesh.userface = vertices.ravel(), faces.ravel()
    return spec.compile()


def triangle_count(model: mujoco.MjModel) -> int:
    """Triangles of all the meshes in the scene; a mesh used by four fingers counts four times."""
    return int(sum(model.mesh(name).facenum[0] for name in _drawn(model)))


def _drawn(model: mujoco.MjModel) -> list[str]:
    """The mesh of every geom that has one."""
    return [model.mesh(index).name for index in model.geom_dataid[model.geom_type == mujoco.mjtGeom.mjGEOM_MESH]]


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


def _area(vertices: np.ndarray, faces: np.ndarray) -> float:
    first, second, third = vertices[faces].transpose(1, 0, 2)
    return float(np.linalg.norm(np.cross(second - first, third - first), axis=1).sum()) / 2


def _without_dents(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The convex hull of a mesh that nearly fills it; another mesh as it is."""
    first, second, third = vertices[faces].transpose(1, 0, 2)
    volume = np.einsum("ij,ij", first, np.cross(second, third)) / 6
    hull = ConvexHull(vertices)
    if volume < _CONVEX * hull.volume:
        return vertices, faces
    corners, hull_faces = np.unique(hull.simplices, return_inverse=True)
    vertices, hull_faces = vertices[corners], hull_faces.reshape(-1, 3)
    # Qhull does not wind its triangles; its equations say which way is out.
    first, second, third = vertices[hull_faces].transpose(1, 0, 2)
    inward = np.einsum("ij,ij->i", np.cross(second - first, third - first), hull.equations[:, :3]) < 0
    hull_faces[inward] = hull_faces[inward][:, ::-1]
    return vertices, hull_faces
