"""A model for drawing: any compiled MuJoCo model with its meshes simplified.

A robot is a few dozen pixels wide in an 84x84 frame, yet its meshes have tens of thousands of triangles, down to the
lettering engraved on a forearm. A part that nearly fills its convex hull is drawn as that hull, which has no such
detail; quadric edge collapse does the rest, and where it gets stuck, the hull of the part's outermost points. Only the
compiled model is needed, not the files that it came from.
"""

from typing import NamedTuple

import fast_simplification
import numpy as np

from vision_pwil.system import opengl  # noqa: F401  (before mujoco)

# isort: split
import mujoco

# Share of its convex hull that a mesh must fill to be drawn as the hull. Of the Adroit hand, the forearm and the finger
# segments fill 0.76 to 0.97 of theirs, the wrist, the palm and the metacarpal 0.40 to 0.60.
_CONVEX = 0.7
_FEWEST = 12  # triangles of a mesh
_STUCK = 1.2  # times the triangles asked for: so many are too many


class Shape(NamedTuple):
    """A mesh by itself: vertices (n, 3), and triangles (m, 3) of vertex numbers."""

    vertices: np.ndarray
    faces: np.ndarray

    @property
    def corners(self) -> np.ndarray:
        """First, second and third corners of the triangles: (3, m, 3)."""
        return self.vertices[self.faces].transpose(1, 0, 2)

    @property
    def area(self) -> float:
        """Of the surface."""
        first, second, third = self.corners
        return float(np.linalg.norm(np.cross(second - first, third - first), axis=1).sum()) / 2

    @property
    def volume(self) -> float:
        """What it encloses, if it is closed."""
        first, second, third = self.corners
        return float(np.einsum("ij,ij", first, np.cross(second, third))) / 6


class Frames(NamedTuple):
    """Where each geom's shape lies in the geom's frame: MuJoCo centres every mesh anew, so simplified ones move."""

    shift: np.ndarray
    """(ngeom, 3): positions; 0 for all but simplified meshes."""
    turn: np.ndarray
    """(ngeom, 4): orientations, as quaternions."""

    def place(self, pos: np.ndarray, quat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and orientations of the geoms in the simplified model, from those in the model itself."""
        return pos + _rotate(quat, self.shift), _multiply(quat, self.turn)


def simplify(model: mujoco.MjModel, triangles: int) -> tuple[mujoco.MjModel, Frames]:
    """A copy of the model, its meshes cut to about so many triangles in the whole scene (0: as they are).

    A mesh with texture coordinates stays whole, for they would be lost, and so does one that MuJoCo would not compile
    again (too flat a one, say).
    """
    copy = model.__copy__()
    frames = Frames(np.zeros((model.ngeom, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (model.ngeom, 1)))
    drawn = _drawn(model) if triangles else np.array([], int)
    shapes = {mesh: _without_dents(_shape(model, mesh)) for mesh in np.unique(drawn)}
    # Large parts and detailed ones get more: the geometric mean of a part's surface and of its own triangles.
    needs = {mesh: np.sqrt(len(shape.faces) * shape.area) for mesh, shape in shapes.items()}
    total = sum(needs[mesh] for mesh in drawn)
    for mesh, shape in shapes.items():
        target = max(_FEWEST, round(triangles / total * needs[mesh]))
        if target < len(shape.faces):
            shape = _coarse(shape, target)
        small = _compiled(shape)
        if small is None or not _fits(model, mesh, small):
            continue
        _replace(copy, mesh, small)
        geoms = (model.geom_type == mujoco.mjtGeom.mjGEOM_MESH) & (model.geom_dataid == mesh)
        back = model.mesh_quat[mesh] * [1, -1, -1, -1]
        frames.shift[geoms] = _rotate(back, small.mesh_pos[0] - model.mesh_pos[mesh])
        frames.turn[geoms] = _multiply(back, small.mesh_quat[0])
        # Else kinematics would take the body's frame for the geom's.
        copy.geom_sameframe[geoms] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
    copy.geom_pos[:], copy.geom_quat[:] = frames.place(model.geom_pos, model.geom_quat)
    return copy, frames


def triangle_count(model: mujoco.MjModel) -> int:
    """Triangles of all the meshes in the scene; a mesh used by four fingers counts four times."""
    return int(model.mesh_facenum[_drawn(model)].sum())


def _drawn(model: mujoco.MjModel) -> np.ndarray:
    """The mesh of every geom that has one and is in a group that is drawn by default."""
    groups = mujoco.MjvOption().geomgroup
    drawn = (model.geom_type == mujoco.mjtGeom.mjGEOM_MESH) & (groups[np.clip(model.geom_group, 0, 5)] > 0)
    return model.geom_dataid[drawn]


def _shape(model: mujoco.MjModel, mesh: int) -> Shape:
    """A compiled mesh, back in the frame of its file (the compiler centres it)."""
    start, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    vertices = model.mesh_vert[start : start + count].astype(np.float64)
    start, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.mesh_quat[mesh])
    vertices = vertices @ rotation.reshape(3, 3).T + model.mesh_pos[mesh]
    return Shape(vertices, model.mesh_face[start : start + count])


def _without_dents(shape: Shape) -> Shape:
    """The convex hull of a mesh that nearly fills it; another mesh as it is."""
    hull = _hull(shape.vertices)
    return shape if hull is None or shape.volume < _CONVEX * hull.volume else hull


def _hull(points: np.ndarray) -> Shape | None:
    """The convex hull; flat points have none."""
    from scipy.spatial import ConvexHull, QhullError  # imports slowly

    try:
        hull = ConvexHull(points)
    except QhullError:
        return None
    corners, faces = np.unique(hull.simplices, return_inverse=True)
    convex = Shape(points[corners], faces.reshape(-1, 3))
    # Qhull does not wind its triangles; its equations say which way is out.
    first, second, third = convex.corners
    inward = np.einsum("ij,ij->i", np.cross(second - first, third - first), hull.equations[:, :3]) < 0
    convex.faces[inward] = convex.faces[inward][:, ::-1]
    return convex


def _coarse(shape: Shape, target: int) -> Shape:
    """A mesh of about so many triangles in place of a finer one."""
    collapsed = Shape(*fast_simplification.simplify(*shape, target_count=target))
    if len(collapsed.faces) <= _STUCK * target:
        return collapsed
    # A hull of n points has at most 2n - 4 triangles. The points lie farthest out in directions spread evenly (on a
    # Fibonacci spiral), seen with the mesh stretched to a cube.
    number = np.arange(target // 2 + 2) + 0.5
    height, turn = 1 - 2 * number / len(number), number * np.pi * (3 - np.sqrt(5))
    around = np.sqrt(1 - height**2)
    directions = np.stack([around * np.cos(turn), around * np.sin(turn), height])
    outermost = (shape.vertices / (np.ptp(shape.vertices, axis=0) + 1e-9) @ directions).argmax(axis=0)
    hull = _hull(shape.vertices[np.unique(outermost)])
    return collapsed if hull is None else hull


def _compiled(shape: Shape) -> mujoco.MjModel | None:
    """A model of this mesh alone, with the normals that MuJoCo gives it; None if MuJoCo refuses it."""
    spec = mujoco.MjSpec()
    spec.add_mesh(name="mesh", uservert=shape.vertices.ravel(), userface=shape.faces.ravel())
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
    try:
        return spec.compile()
    except ValueError:
        return None


def _fits(model: mujoco.MjModel, mesh: int, small: mujoco.MjModel) -> bool:
    """Whether a mesh can be replaced: there is room for the other, and no texture coordinates are lost."""
    room = all(getattr(model, name)[mesh] >= getattr(small, name)[0] for name in _COUNTS)
    return room and model.mesh_texcoordadr[mesh] < 0


_COUNTS = ("mesh_vertnum", "mesh_normalnum", "mesh_facenum")


def _replace(model: mujoco.MjModel, mesh: int, small: mujoco.MjModel) -> None:
    """Put the one mesh of `small` in the place of a larger one."""
    for arrays, address, count in (
        (("mesh_vert",), "mesh_vertadr", "mesh_vertnum"),
        (("mesh_normal",), "mesh_normaladr", "mesh_normalnum"),
        (("mesh_face", "mesh_facenormal"), "mesh_faceadr", "mesh_facenum"),
    ):
        start, number = getattr(model, address)[mesh], getattr(small, count)[0]
        for name in arrays:
            getattr(model, name)[start : start + number] = getattr(small, name)
        getattr(model, count)[mesh] = number
    model.mesh_graphadr[mesh] = -1  # the hull for collisions, which is uploaded too
    model.mesh_pos[mesh], model.mesh_quat[mesh] = small.mesh_pos[0], small.mesh_quat[0]


def _rotate(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors turned by unit quaternions."""
    axis = quat[..., 1:]
    across = 2.0 * np.cross(axis, vector)
    return vector + quat[..., :1] * across + np.cross(axis, across)


def _multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Products of quaternions."""
    w, v = left[..., :1], left[..., 1:]
    s, u = right[..., :1], right[..., 1:]
    scalar = w * s - (v * u).sum(-1, keepdims=True)
    return np.concatenate([scalar, w * u + s * v + np.cross(v, u)], axis=-1)
