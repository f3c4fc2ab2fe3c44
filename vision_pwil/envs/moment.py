"""All that a picture of a MuJoCo model depends on at one moment, as a vector.

That is the joints and the bodies moved by hand (mocap), and the fields of the model that environments change when they
reset: a door's place, a goal's site, a colour. An environment that paints its textures anew or trades one mesh for
another is not seen to do so.
"""

import numpy as np

from vision_pwil.system import opengl  # noqa: F401  (before mujoco)

# isort: split
import mujoco

_DATA = ("qpos", "mocap_pos", "mocap_quat")
_MODEL = (
    *("body_pos", "body_quat", "geom_pos", "geom_quat", "geom_size", "geom_rgba", "geom_matid"),
    *("site_pos", "site_quat", "site_size", "site_rgba", "mat_rgba", "light_pos", "light_dir", "cam_pos", "cam_quat"),
)


class Moment:
    """Reads such vectors from a model and its data, and writes them to another model of the same kind."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        arrays = {name: getattr(data, name) for name in _DATA} | {name: getattr(model, name) for name in _MODEL}
        self._views = [array.reshape(-1) for array in arrays.values()]
        ends = np.cumsum([view.size for view in self._views])
        self.size = int(ends[-1])
        """Numbers in a vector."""
        places = zip(arrays.items(), ends, strict=True)
        self.parts = {name: slice(int(end) - array.size, int(end)) for (name, array), end in places}
        """Where each array lies in a vector."""
        self.fields = slice(int(ends[len(_DATA) - 1]), self.size)
        """Where the fields of the model lie: all but the joints and bodies moved by hand."""

    def read(self) -> np.ndarray:
        """The present moment, float64."""
        return np.concatenate(self._views, dtype=np.float64)

    def write(self, vector: np.ndarray, fields: bool = True) -> None:
        """Put the data in this moment, and the model too unless its fields are known to be so already."""
        names = (*_DATA, *_MODEL) if fields else _DATA
        for view, name in zip(self._views, names, strict=False):
            view[:] = vector[self.parts[name]]
