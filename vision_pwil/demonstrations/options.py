"""What a reader is told beside the path."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from vision_pwil.system.errors import InputError
from vision_pwil.system.settings import Settings, at_least, at_most

Fit = Literal["crop", "pad", "stretch"]


@dataclass(frozen=True)
class Options(Settings):
    """Which part of a dataset is read, and how its pictures are brought to one size."""

    camera: str | None = None
    """Which camera's pictures to read; needed where there are several."""
    filter: str | None = None
    """Which subset to read, by the name that the file gives it (robomimic's masks)."""
    size: Annotated[int, at_least(1), at_most(4096)] | None = 84
    """Height and width of a frame; None leaves pictures as they are."""
    fit: Fit = "crop"
    """What becomes of a picture that is not square: crop its middle, pad it with black, or stretch it."""

    def words(self) -> list[str]:
        """What a command line says for these, where they are not the defaults."""
        given = ((field.name, field.default, getattr(self, field.name)) for field in fields(self))
        return [word for name, usual, value in given if value != usual for word in (f"--{name}", str(value))]


class SeveralCameras(InputError):
    """There is more than one camera, and none was chosen."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"there are several cameras, {_listed(names)}: choose one with --camera.")
        self.names = tuple(names)


def pick_camera(names: list[str], options: Options) -> str | None:
    """The camera to read: the one asked for, else the only one, else None where there is none.

    A camera may be called by the last part of its name: "cam_high" for "observation.images.cam_high", "agentview" for
    "agentview_image".
    """
    if options.camera is None:
        if len(names) > 1:
            raise SeveralCameras(names)
        return names[0] if names else None
    called = [name for name in names if options.camera in (name, name.split(".")[-1], name.removesuffix("_image"))]
    if options.camera in names:
        return options.camera
    if len(called) != 1:
        raise InputError(f"there is no camera {options.camera!r}; there are {_listed(names) or 'none'}.")
    return called[0]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + [*names[-1:]])
